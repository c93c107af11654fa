"""Looking at a running tree of processes from outside, through /proc: its members, memory and time.

cgroups would do this better, but need rights that an ordinary user lacks. A poll every few hundredths of a second can
be outrun for that long: the limits of each single process (address space, or the runtime's own heap limit) hold
meanwhile.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


class Footprint(msgspec.Struct, frozen=True):
    """What a tree of processes takes at a moment: processes and threads, resident bytes, CPU seconds.

    `waited` says of each task (a thread, by its id) how many seconds in its life it was ready to run and others kept
    the processors; `runnable` whether one computes or waits like that now. `processes`: those found, youngest first.
    """

    tasks: int
    memory: int
    cpu: float
    waited: dict[int, float]
    runnable: bool
    processes: tuple[int, ...]


def _tasks(pid: int) -> list[str]:
    with suppress(OSError):
        return os.listdir(f"/proc/{pid}/task")  # noqa: PTH208
    return []


def children(pid: int) -> list[int]:
    """List the processes that one has started or adopted."""
    found: list[int] = []
    for task in _tasks(pid):
        with suppress(OSError):
            found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    return found


def tree(root: int) -> list[int]:
    """Return the process and all its descendants; those that died meanwhile are left out."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += children(pid)
    return found


def _bytes(pid: int, file: str, name: bytes) -> int:
    """Return the number of bytes that a line of a file of a process's has in kilobytes; 0 without such a line."""
    lines = Path(f"/proc/{pid}/{file}").read_bytes().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def footprint(roots: Sequence[int], *, memory_limit: int) -> Footprint:
    """Return what the trees under `roots` take, page tables too: a way to take much with hardly any resident page.

    Shared pages count once for each process unless that would exceed the limit.
    """
    count, cpu, runnable = 0, 0.0, False
    resident: dict[int, int] = {}
    waited: dict[int, float] = {}
    for pid in (member for root in roots for member in tree(root)):
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            cpu += sum(map(int, fields[11:15])) / _TICK
            count += int(fields[17])
            resident[pid] = int(fields[21]) * _PAGE + _bytes(pid, "status", b"VmPTE:")
            runnable = runnable or fields[0] == b"R"
            tasks = [str(pid)] if fields[17] == b"1" else _tasks(pid)
            for task in tasks:
                words = Path(f"/proc/{pid}/task/{task}/schedstat").read_bytes().split()
                waited[int(task)] = int(words[1]) / 1e9
    if sum(resident.values()) > memory_limit and len(resident) > 1:
        for pid, size in resident.items():  # shared pages divided among their users: dear to compute, but fair
            with suppress(OSError, ValueError, IndexError):
                fair = _bytes(pid, "smaps_rollup", b"Pss:")
                resident[pid] = fair + _bytes(pid, "status", b"VmPTE:") if fair else size
    memory = sum(resident.values())
    return Footprint(count, memory, cpu, waited, runnable, tuple(sorted(resident, reverse=True)))


class Clock:
    """The time that a program answers for: by the clock, less what it waited for processors that others kept busy.

    Sleeping counts, waiting for its own children counts, whatever they are doing. So a loaded machine turns nothing
    into a timeout, and neither sleep nor work hidden from the accounting of CPU time is free.
    """

    def __init__(self) -> None:
        self._waited: dict[int, float] = {}
        self._lost = 0.0

    def own(self, elapsed: float, taken: Footprint) -> float:
        """Seconds that count after `elapsed` by the clock. Of several tasks that wait at once, the longest wait
        counts."""
        gains = [seconds - self._waited.get(task, 0.0) for task, seconds in taken.waited.items()]
        self._waited = taken.waited
        self._lost = min(elapsed, self._lost + max(0.0, *gains, 0.0))
        return max(taken.cpu, elapsed - self._lost)


def inodes(processes: Iterable[int], folders: Sequence[str]) -> int:
    """The most files in one of the programs' own folders, which are mounts of their own, seen through the roots of
    processes that are inside and still there; 0 if none is."""
    most, seen = 0, set[int]()
    for process in processes:
        with suppress(OSError):
            root = Path(f"/proc/{process}/root")
            places = [root / folder for folder in folders]
            devices = {place.stat().st_dev for place in places}
            if root.stat().st_dev not in devices and not devices <= seen:
                seen |= devices
                states = [os.statvfs(place) for place in places]
                most = max(most, *(state.f_files - state.f_ffree for state in states))
    return most
