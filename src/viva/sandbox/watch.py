"""Looking at a running tree of processes from outside, through /proc: its members, memory and CPU time.

cgroups would do this better, but need rights that an ordinary user lacks. A poll every few hundredths of a second can be
outrun for that long: the limits of each single process (address space, or the runtime's own heap limit) hold meanwhile.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import msgspec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_BUSY = (b"R", b"D")
_TICK = os.sysconf("SC_CLK_TCK")


class Footprint(msgspec.Struct, frozen=True):
    """What a tree of processes takes at a moment: processes and threads, resident bytes, CPU seconds.

    `runnable`: one of them computes, waits for a processor or for the disk. `last` is the youngest process found.
    """

    tasks: int
    memory: int
    cpu: float
    runnable: bool
    last: int


def _children(pid: int) -> list[int]:
    found: list[int] = []
    with suppress(OSError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    return found


def tree(root: int) -> list[int]:
    """The process and all its descendants; those that died meanwhile are left out."""
    found, queue = [], [root]
    while queue:
        pid = queue.pop()
        found.append(pid)
        queue += _children(pid)
    return found


def _busy_thread(pid: int) -> bool:
    with suppress(OSError, IndexError):
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
            with suppress(OSError):
                if Path(f"/proc/{pid}/task/{task}/stat").read_bytes().rpartition(b")")[2].split()[0] in _BUSY:
                    return True
    return False


def _proportional(pid: int) -> int | None:
    """Resident bytes with shared pages divided among their users: dear to compute, fair to forked processes."""
    with suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_bytes().splitlines():
            if line.startswith(b"Pss:"):
                return int(line.split()[1]) * 1024
    return None


def footprint(root: int, *, memory_limit: int) -> Footprint:
    """What the tree under `root` takes. Shared pages count once for each process unless that would exceed the limit."""
    tasks, cpu, runnable, resident, last = 0, 0.0, False, {}, root
    for pid in tree(root):
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            cpu += sum(map(int, fields[11:15])) / _TICK
            tasks += int(fields[17])
            resident[pid] = int(fields[21]) * _PAGE
            last = max(last, pid)
            runnable = runnable or fields[0] in _BUSY or (int(fields[17]) > 1 and _busy_thread(pid))
    memory = sum(resident.values())
    if memory > memory_limit and len(resident) > 1:
        memory = sum(size if (fair := _proportional(pid)) is None else fair for pid, size in resident.items())
    return Footprint(tasks, memory, cpu, runnable, last)


def inodes(root: int, folders: tuple[str, ...]) -> int:
    """The most files in one of the program's own folders, seen through the root of a process inside; 0 if unseen."""
    most = 0
    for folder in folders:
        with suppress(OSError):
            state = os.statvfs(f"/proc/{root}/root{folder}")
            most = max(most, state.f_files - state.f_ffree)
    return most
