"""Control groups: the kernel's own limits on a whole tree of processes, where this user may make groups.

    groups = find()              # None, or a reason, where there are none
    group = groups.make(limits)  # for one program, which is put in by `adopt` before it may begin
    group.close()                # kills what is left and removes the group

Both versions of the kernel's interface are known. Version 2 has one tree, and a group that has processes of its own
cannot give controllers to its children (Documentation/admin-guide/cgroup-v2.rst, "No Internal Process Constraint").
So groups are made below our own group if we are alone in it and may move to a child (what `systemd-run --user
--scope -p Delegate=yes viva ...` is for), else, as root, below the nearest ancestor that gives its children the
controllers. Version 1 has a tree for each controller, in which every group may have children.

The kernel counts what polling cannot see: shared memory that nobody maps, files in memory, page tables,
buffers of pipes and sockets, semaphores, and the CPU time of children that nobody waited for.

Groups need rights that an ordinary user lacks. Without them a tree of processes is watched from outside, through /proc:
its members, memory and time. A poll every few hundredths of a second can be outrun for that long: the limits of each
single process (address space, or the runtime's own heap limit) hold meanwhile.
"""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cache
from itertools import count
from pathlib import Path

import msgspec

_PAGE = os.sysconf("SC_PAGE_SIZE")
_TICK = os.sysconf("SC_CLK_TCK")


class Footprint(msgspec.Struct, frozen=True):
    """Resources of a tree of processes at one moment: processes and threads, resident bytes, CPU seconds.

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
    """List the processes that a process has started or adopted."""
    pids: list[int] = []
    for task in _tasks(pid):
        with suppress(OSError):
            pids += map(int, Path(f"/proc/{pid}/task/{task}/children").read_bytes().split())
    return pids


def tree(root: int) -> list[int]:
    """Return the process and all its descendants; those that end meanwhile are left out."""
    pids = [root]
    for pid in pids:  # and those that are added meanwhile
        pids += children(pid)
    return pids


def _bytes(pid: int, file: str, name: bytes) -> int:
    """Return, in bytes, the kilobytes on the line `name` of /proc/PID/FILE; 0 without such a line."""
    lines = Path(f"/proc/{pid}/{file}").read_bytes().splitlines()
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def footprint(roots: Sequence[int], *, memory_limit: int) -> Footprint:
    """Return the resources of the trees under `roots`, with page tables, which can be large with few resident pages.

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
            for task in [str(pid)] if fields[17] == b"1" else _tasks(pid):
                words = Path(f"/proc/{pid}/task/{task}/schedstat").read_bytes().split()
                waited[int(task)] = int(words[1]) / 1e9
    if sum(resident.values()) > memory_limit and len(resident) > 1:
        for pid, size in resident.items():  # shared pages divided among their users: expensive, but fair
            with suppress(OSError, ValueError, IndexError):
                fair = _bytes(pid, "smaps_rollup", b"Pss:")
                resident[pid] = fair + _bytes(pid, "status", b"VmPTE:") if fair else size
    return Footprint(count, sum(resident.values()), cpu, waited, runnable, tuple(sorted(resident, reverse=True)))


class Clock:
    """The time that a program answers for: by the clock, less what it waited for processors that others kept busy.

    Sleeping counts, waiting for its own children counts, whatever they are doing. So a loaded machine turns nothing
    into a timeout, and neither sleep nor work hidden from the accounting of CPU time is free.
    """

    def __init__(self) -> None:
        self._waited: dict[int, float] = {}
        self._lost = 0.0

    def own(self, elapsed: float, taken: Footprint) -> float:
        """Return the seconds that count of `elapsed`; of tasks waiting at once, only the longest wait is taken off."""
        gains = [seconds - self._waited.get(task, 0.0) for task, seconds in taken.waited.items()]
        self._waited = taken.waited
        self._lost = min(elapsed, self._lost + max(0.0, *gains, 0.0))
        return max(taken.cpu, elapsed - self._lost)


def inodes(processes: Iterable[int], folders: Sequence[str]) -> int:
    """Return the most files in one of a program's folders (separate mounts), through its live processes; 0 if none."""
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


CONTROLLERS = ("memory", "pids", "cpuacct")
"""Controllers of version 1; version 2 counts CPU time without one."""
HOW = "root has them where /sys/fs/cgroup can be written; others by systemd-run --user --scope -p Delegate=yes viva ..."
_PREFIX = "viva-"
_OWN = "viva-itself"
_ATTEMPTS = 20
_NUMBERS = count()
_LIMITS = {
    1: {"memory.limit_in_bytes": "{}", "memory.memsw.limit_in_bytes": "{}"},
    2: {"memory.max": "{}", "memory.swap.max": "0", "memory.oom.group": "1"},
}
"""By version, the values of a group's files; all but the first are optional in the kernel."""
_COUNTED = {
    1: ("cpuacct", "cpuacct.usage", "", 1e9, "memory.oom_control"),
    2: ("memory", "cpu.stat", "usage_usec ", 1e6, "memory.events"),
}
"""By version, the controller, file and name of the CPU time, its units in a second, and the file of what was killed."""


class Usage(msgspec.Struct, frozen=True):
    """Resources used by a group: CPU seconds of all that ever ran in it, and whether the kernel killed for memory."""

    cpu: float
    out_of_memory: bool


class Group:
    """The group of one program: a folder in version 2; in version 1 one for each controller."""

    def __init__(self, version: int, folders: Mapping[str, Path], *, memory: int, tasks: int) -> None:
        """`memory` in bytes, without swap beyond it; `tasks` processes and threads, 0 for no limit.

        Raises OSError where it cannot be made."""
        self._version, self._by_controller = version, folders
        self._folders = dict.fromkeys(folders.values())
        self._places = [folder / "cgroup.procs" for folder in self._folders]
        try:
            for folder in self._folders:
                folder.mkdir()
            self._limit(memory, tasks)
        except OSError:
            self.close()
            raise

    def _limit(self, memory: int, tasks: int) -> None:
        for number, (name, value) in enumerate(_LIMITS[self._version].items()):
            with suppress(*(OSError,)[:number]):  # a kernel without swap has no such files
                (self._by_controller["memory"] / name).write_text(value.format(memory))
        if tasks:
            (self._by_controller["pids"] / "pids.max").write_text(str(tasks))

    def adopt(self, root: int) -> None:
        """Put a process in with all its descendants, those forked meanwhile too; one that has ended is no error."""
        for _ in range(_ATTEMPTS):
            outside = set(tree(root)) - self.members()
            for process in outside:
                for place in self._places:
                    with suppress(OSError):
                        place.write_text(str(process))
            if not outside:
                return

    def members(self) -> set[int]:
        """Return the processes inside."""
        pids: set[int] = set()
        for place in self._places:
            with suppress(OSError, ValueError):
                pids.update(map(int, place.read_text().split()))
        return pids

    def usage(self) -> Usage:
        """Return the resources used so far."""
        controller, file, name, second, events = _COUNTED[self._version]
        killed = _number(self._by_controller["memory"] / events, "oom_kill ")
        return Usage(_number(self._by_controller[controller] / file, name) / second, killed > 0)

    def close(self) -> None:
        """Kill what is left, wait for it, remove the group. What cannot be removed is removed by a later `find`."""
        deadline = time.monotonic() + 2
        while (members := self.members()) and time.monotonic() < deadline:
            for member in members:
                with suppress(OSError):
                    os.kill(member, signal.SIGKILL)
            time.sleep(0.001)
        for folder in self._folders:
            while True:
                try:
                    folder.rmdir()
                except OSError as error:  # dead processes are still counted for a moment
                    if isinstance(error, FileNotFoundError) or time.monotonic() > deadline:
                        break
                    time.sleep(0.001)
                else:
                    break


class Groups:
    """The folders in which groups can be made, by controller."""

    def __init__(self, version: int, parents: Mapping[str, Path]) -> None:
        self.version, self._parents = version, dict(parents)

    def make(self, *, memory: int, tasks: int) -> Group | None:
        """Return a group for one program, None where the kernel refuses one; see Group for the limits."""
        name = f"{_PREFIX}{os.getpid()}-{next(_NUMBERS)}"
        folders = {controller: parent / name for controller, parent in self._parents.items()}
        try:
            return Group(self.version, folders, memory=memory, tasks=tasks)
        except OSError:
            return None

    def remove_abandoned(self) -> None:
        """Remove the empty groups of Vivas that were killed."""
        for parent in dict.fromkeys(self._parents.values()):
            for folder in parent.glob(f"{_PREFIX}[0-9]*-[0-9]*"):
                owner = folder.name.removeprefix(_PREFIX).partition("-")[0]
                if not Path("/proc", owner).exists():
                    with suppress(OSError):
                        folder.rmdir()


def group_for(*, memory: int, tasks: int) -> Group | None:
    """Return a group for one program where groups can be made; see Group for the limits."""
    groups = find()
    return None if isinstance(groups, str) else groups.make(memory=memory, tasks=tasks)


@cache
def find() -> Groups | str:
    """Return where this process may make groups, tried once with a real one; or in a few words why it may not."""
    groups = locate(Path("/"))
    if isinstance(groups, str):
        return groups
    groups.remove_abandoned()
    trial = groups.make(memory=1 << 28, tasks=16)
    if trial is None:
        return f"control groups (version {groups.version}) are there, but the kernel refuses to make one"
    try:
        return groups if _holds(trial) else f"a process cannot be put into a control group (version {groups.version})"
    finally:
        trial.close()


def _holds(group: Group) -> bool:
    """Return whether a process that is put in becomes a member."""
    with subprocess.Popen(["/bin/sleep", "20"]) as sleeping:
        group.adopt(sleeping.pid)
        held = sleeping.pid in group.members()
        sleeping.kill()
    return held


def locate(root: Path) -> Groups | str:
    """Return the folders for groups, from the mount table and our own groups under `root` ("/", but for tests)."""
    mounts = _mounts(root)
    own = _own(root)
    if all(controller in mounts and controller in own for controller in CONTROLLERS):
        parents = {name: _below(root, mounts[name], own[name]) for name in CONTROLLERS}
        closed = [str(parent) for parent in parents.values() if not os.access(parent, os.W_OK)]
        return f"{closed[0]} cannot be written" if closed else Groups(1, parents)
    if "" not in mounts or "" not in own:
        return "this system has no control groups"
    ours = _below(root, mounts[""], own[""])
    top = _below(root, mounts[""], mounts[""][0])
    for parent in (ours, *ours.parents):
        if not os.access(parent, os.W_OK) and parent == ours:
            return f"{parent} cannot be written"
        if _gives_controllers(parent, may_move=parent == ours):
            return Groups(2, dict.fromkeys(("memory", "pids"), parent))
        if parent == top:
            break
    return f"{ours} holds processes of others, and no group above it that can be written gives memory and pids on"


def _gives_controllers(parent: Path, *, may_move: bool) -> bool:
    """Tell whether this group's children have the controllers; for our own, after giving them if we are alone in it."""
    if not os.access(parent, os.W_OK):
        return False
    given = parent / "cgroup.subtree_control"
    if {"memory", "pids"} <= set(_read(given).split()):
        return True
    if not may_move or not {"memory", "pids"} <= set(_read(parent / "cgroup.controllers").split()):
        return False
    members = set(_read(parent / "cgroup.procs").split())
    if not members <= set(map(str, tree(os.getpid()))):
        return False
    try:
        (parent / _OWN).mkdir(exist_ok=True)
        for member in members:
            (parent / _OWN / "cgroup.procs").write_text(member)
        given.write_text("+memory +pids")
    except OSError:
        return False
    return True


def _mounts(root: Path) -> dict[str, tuple[str, str]]:
    """Return by controller ("" for version 2) the mounted group and its mount point (proc_pid_mountinfo(5))."""
    mounts: dict[str, tuple[str, str]] = {}
    for line in _read(root / "proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        fields, kind = before.split(), after.split()
        if len(fields) < 5 or not kind:
            continue
        if kind[0] == "cgroup2":
            mounts.setdefault("", (fields[3], fields[4]))
        elif kind[0] == "cgroup":
            for controller in kind[-1].split(","):
                mounts.setdefault(controller, (fields[3], fields[4]))
    return mounts


def _own(root: Path) -> dict[str, str]:
    """Return by controller ("" for version 2) our own group (cgroups(7), /proc/pid/cgroup)."""
    paths = {}
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        paths.update(dict.fromkeys(controllers.split(","), path))
    return paths


def _below(root: Path, mount: tuple[str, str], group: str) -> Path:
    """Return where a group lies under a mount that shows only the groups below `mount[0]`."""
    mounted, where = mount
    inside = group.removeprefix(mounted) if mounted != "/" else group
    return root / where.lstrip("/") / inside.lstrip("/")


def _read(path: Path) -> str:
    with suppress(OSError):
        return path.read_text()
    return ""


def _number(path: Path, name: str) -> int:
    """Return the number of a line `name number`; 0 where there is none."""
    lines = _read(path).splitlines()
    return next((int(line.removeprefix(name)) for line in lines if line.startswith(name)), 0)
