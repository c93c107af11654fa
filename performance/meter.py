"""What a stretch of work takes: wall and CPU seconds, and how busy the machine was with other things meanwhile."""

import os
import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import machine

CONTROL_STEPS = 3_000_000


@dataclass
class Taken:
    """Filled in when the stretch is over. `cpu_s` counts this process and all that it started."""

    load: float
    wall_s: float = 0.0
    cpu_s: float = 0.0
    others_busy: float = 0.0  # cores at work for somebody else
    isolation: str = ""  # of a program: whether its test had a process of its own
    exactly: float | None = None  # CPU seconds that were measured in a better place

    def add(self, cpu_s: float) -> None:
        """CPU seconds of processes that nobody here waits for (the warm interpreter's forks report their own)."""
        self.cpu_s += cpu_s


@contextmanager
def metered() -> Iterator[Taken]:
    """Measure what happens inside the `with`. Processes that live on count with what they took meanwhile."""
    taken = Taken(os.getloadavg()[0])
    busy, cpu, start = machine.busy_seconds(), cpu_seconds(), time.perf_counter()
    yield taken
    taken.wall_s = time.perf_counter() - start
    taken.cpu_s += cpu_seconds() - cpu
    busy = machine.busy_seconds() - busy
    taken.others_busy = max(0.0, busy - taken.cpu_s) / taken.wall_s
    taken.cpu_s = taken.cpu_s if taken.exactly is None else taken.exactly


def cpu_seconds() -> float:
    """CPU seconds of this process so far, of its children that have ended, and of its descendants that live."""
    mine, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    living = sum(map(_own_seconds, descendants()))
    return mine.ru_utime + mine.ru_stime + ended.ru_utime + ended.ru_stime + living


def descendants() -> list[int]:
    """The living descendants of this process."""
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        pid = queue.pop()
        for children in Path(f"/proc/{pid}/task").glob("*/children"):
            with suppress(OSError):
                queue += (born := [int(child) for child in children.read_text().split()])
                found += born
    return found


def control() -> Taken:
    """The same arithmetic every time: what its rounds differ by is the machine's doing."""
    with metered() as taken:
        total = 0
        for step in range(CONTROL_STEPS):
            total ^= step
    return taken


def _own_seconds(pid: int) -> float:
    total = 0
    for task in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with suppress(OSError):
            total += int(task.read_text().split()[0])
    return total / 1e9
