"""A pool of processes on this machine."""

from __future__ import annotations

import itertools
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as connections_ready
from types import TracebackType
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

from viva.distributed.worker import LOSSES, LostWorkerError, outcome
from viva.errors import option

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)

AHEAD = 4
"""Pieces per worker that may be in work, or wait for an earlier result."""


class Ended(NamedTuple):
    """The end of a worker's piece: its outcome, or how the worker was lost."""

    number: int
    content: bytes = b""
    lost: str = ""


class WorkerHandles(Protocol[P_contra]):
    """Workers that have their recipe."""

    @property
    def jobs(self) -> int:
        """Most workers."""
        ...

    @property
    def free(self) -> bool:
        """Whether a worker is idle or can be started."""
        ...

    def give(self, number: int, piece: P_contra) -> None:
        """Give a piece to a free worker."""
        ...

    def ended(self, wait: bool) -> list[Ended]:
        """Return the ends of pieces so far; with `wait`, at least one."""
        ...


class Source(Generic[P]):
    """An iterator of pieces that holds back an error of reading them until all earlier pieces are done."""

    def __init__(self, pieces: Iterable[P]) -> None:
        self._pieces = iter(pieces)
        self.ended = False
        self.problem: Exception | None = None

    def take(self) -> list[P]:
        """Return the next piece in a list, or [] at the end."""
        if not self.ended:
            try:
                return [next(self._pieces)]
            except StopIteration:
                self.ended = True
            except Exception as problem:
                self.ended, self.problem = True, problem
        return []


def by_one(recipe: Callable[[], Callable[[P], Any]], pieces: Iterable[P]) -> Iterator[Any]:
    """Yield the results of pieces, computed in this process."""
    work: Callable[[P], Any] | None = None
    for piece in pieces:
        work = work or recipe()
        yield work(piece)


def in_order(
    handles: WorkerHandles[P], source: Source[P], first: Iterable[P], name: Callable[[P], str]
) -> Iterator[Any]:
    """Yield the results of the pieces of `first` and `source`, in their order.

    Raises LostWorkerError for a piece that lost several workers, and in its turn the error of a piece.
    """
    ready = deque(enumerate(first))
    again: list[tuple[int, P]] = []
    going: dict[int, P] = {}
    done: dict[int, bytes] = {}
    losses: Counter[int] = Counter()
    numbers = itertools.count(len(ready))
    given = 0
    most = AHEAD * handles.jobs
    while True:
        while handles.free and (again or (ready and ready[0][0] - given < most)):
            number, piece = again.pop() if again else ready.popleft()
            going[number] = piece
            handles.give(number, piece)
        while given in done:
            yield outcome(done.pop(given))
            given += 1
        if len(ready) < handles.jobs:
            ready.extend((next(numbers), piece) for piece in source.take())
        if not going and not again and not ready:
            break
        more = handles.free and bool(again or ready) and (bool(again) or ready[0][0] - given < most)
        reading = not source.ended and len(ready) < handles.jobs
        for number, content, lost in handles.ended(wait=not (more or reading)):
            piece = going.pop(number)
            if not lost:
                done[number] = content
                continue
            losses[number] += 1
            if losses[number] == LOSSES:
                raise LostWorkerError(
                    f"{LOSSES} workers were lost over {name(piece) or f'piece {number + 1:,}'}: the last one {lost}. "
                    f"Was it out of memory? Then try fewer {option('jobs')}"
                )
            again.append((number, piece))
            again.sort(key=lambda entry: -entry[0])
    if source.problem:
        raise source.problem


R = TypeVar("R")

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from viva.distributed.worker import serve; serve({}, {})"
)


def cores() -> int:
    """Return the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ProcessHandle(NamedTuple):
    """A worker process and the connection to it."""

    process: subprocess.Popen[bytes]
    connection: Connection

    @classmethod
    def hire(cls) -> ProcessHandle:
        """Start a worker process."""
        ours, theirs = socket.socketpair()
        # Ctrl-C reaches the whole group; a starting process would print a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-P", "-c", START.format(theirs.fileno(), os.getpid()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # libraries may print to stdout
                pass_fds=[theirs.fileno()],
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return cls(process, Connection(ours.detach()))

    def kill(self) -> None:
        """Kill the process."""
        self.connection.close()
        self.process.kill()

    def lost(self) -> str:
        """Return how the process ended, in words."""
        self.connection.close()
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"


class Team(Generic[P]):
    """The workers of one call of `map`."""

    def __init__(self, jobs: int, recipe: bytes, idle: list[ProcessHandle]) -> None:
        self.jobs = jobs
        self._recipe = recipe
        self._others = idle
        """Idle workers of the pool, which have other recipes."""
        self._idle: deque[ProcessHandle] = deque()
        self._busy: dict[Connection, tuple[ProcessHandle, int]] = {}
        self._lost: list[Ended] = []

    @property
    def free(self) -> bool:
        """Whether a worker is idle or can still be started."""
        return len(self._busy) < self.jobs

    def give(self, number: int, piece: P) -> None:
        """Give a piece to a free worker."""
        content = b"p" + pickle.dumps(piece, pickle.HIGHEST_PROTOCOL)
        known = bool(self._idle)
        handle = self._idle.popleft() if known else self._others.pop() if self._others else ProcessHandle.hire()
        try:
            if not known:
                handle.connection.send_bytes(b"r" + self._recipe)
            handle.connection.send_bytes(content)
        except ConnectionError:
            self._lost.append(Ended(number, lost=handle.lost()))
        else:
            self._busy[handle.connection] = (handle, number)

    def ended(self, wait: bool) -> list[Ended]:
        """Return the ends of pieces so far; with `wait`, at least one if any is in work."""
        endings, self._lost = self._lost, []
        if not self._busy:
            return endings
        for connection in connections_ready(list(self._busy), None if wait and not endings else 0):
            assert isinstance(connection, Connection)
            handle, number = self._busy.pop(connection)
            try:
                endings.append(Ended(number, connection.recv_bytes()))
                self._idle.append(handle)
            except (EOFError, OSError):
                endings.append(Ended(number, lost=handle.lost()))
        return endings

    def leave(self) -> None:
        """Return idle workers to the pool and kill those still at work, whose results are not needed."""
        self._others.extend(self._idle)
        self._idle.clear()
        for handle, _ in self._busy.values():
            handle.kill()
        for handle, _ in self._busy.values():
            handle.process.wait()
        self._busy.clear()


class LocalWorkerPool:
    """A pool of `jobs` processes; one job, or a single piece, runs in this one. A context manager that ends them."""

    def __init__(self, jobs: int = 0) -> None:
        self._jobs = jobs or cores()
        self._idle: list[ProcessHandle] = []

    @property
    def jobs(self) -> int:
        """Number of pieces worked on at once."""
        return self._jobs

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = lambda _: ""
    ) -> Iterator[R]:
        """Yield the results of the pieces, in their order: see `WorkerPool.map`."""
        if self._jobs == 1:
            yield from by_one(recipe, pieces)
            return
        source = Source(pieces)
        first = [*source.take(), *source.take()]
        if len(first) < 2:
            yield from by_one(recipe, first)
            if source.problem:
                raise source.problem
            return
        team: Team[P] = Team(self._jobs, pickle.dumps(recipe), self._idle)
        try:
            yield from in_order(team, source, first, name)
        finally:
            team.leave()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        for handle in self._idle:
            handle.kill()
        for handle in self._idle:
            handle.process.wait()
        self._idle.clear()
