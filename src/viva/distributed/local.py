"""Processes of this machine."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.connection import wait as connections_ready
from types import TracebackType
from typing import Generic, NamedTuple, Self, TypeVar

from viva.distributed.mapping import Ended, Source, by_one, in_order

P = TypeVar("P")
R = TypeVar("R")

START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from viva.distributed.worker import serve; serve({}, {})"
)


def cores() -> int:
    """Return those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def unnamed(_: object) -> str:
    """Return a piece that has no name but its number."""
    return ""


class ProcessHandle(NamedTuple):
    """A process, and the line to it."""

    process: subprocess.Popen[bytes]
    connection: Connection

    @classmethod
    def hire(cls) -> ProcessHandle:
        """Start one."""
        ours, theirs = socket.socketpair()
        # Ctrl-C reaches the whole group; a process that is just starting would answer it with a traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            process = subprocess.Popen(  # noqa: S603 - ourselves
                [sys.executable, "-P", "-c", START.format(theirs.fileno(), os.getpid()), json.dumps(sys.path)],
                stdin=subprocess.DEVNULL,
                stdout=2,  # what a library prints is no result of ours
                pass_fds=[theirs.fileno()],
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        return cls(process, Connection(ours.detach()))

    def kill(self) -> None:
        """End it, whatever it does."""
        self.connection.close()
        self.process.kill()

    def lost(self) -> str:
        """Return how it ended."""
        self.connection.close()
        try:
            code = self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        return f"was ended by signal {-code}" if code < 0 else f"ended with status {code}"


class Team(Generic[P]):
    """The hands of one map."""

    def __init__(self, jobs: int, recipe: bytes, idle: list[ProcessHandle]) -> None:
        self.jobs = jobs
        self._recipe = recipe
        self._others = idle
        """Those of the crew, who know other recipes."""
        self._idle: deque[ProcessHandle] = deque()
        self._busy: dict[Connection, tuple[ProcessHandle, int]] = {}
        self._lost: list[Ended] = []

    @property
    def free(self) -> bool:
        """Whether somebody has nothing to do, or can still be hired."""
        return len(self._busy) < self.jobs

    def give(self, number: int, piece: P) -> None:
        """A piece for one that is free."""
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
        """Return what is done or lost by now."""
        found, self._lost = self._lost, []
        if not self._busy:
            return found
        for connection in connections_ready(list(self._busy), None if wait and not found else 0):
            assert isinstance(connection, Connection)
            handle, number = self._busy.pop(connection)
            try:
                found.append(Ended(number, connection.recv_bytes()))
                self._idle.append(handle)
            except (EOFError, OSError):
                found.append(Ended(number, lost=handle.lost()))
        return found

    def leave(self) -> None:
        """Back to the crew; who still works on something that nobody waits for is ended."""
        self._others.extend(self._idle)
        self._idle.clear()
        for handle, _ in self._busy.values():
            handle.kill()
        for handle, _ in self._busy.values():
            handle.process.wait()
        self._busy.clear()


class LocalWorkerPool:
    """This process (`jobs` 1, or a single piece), or one child process per job. A context manager: it ends them."""

    def __init__(self, jobs: int = 0) -> None:
        self._jobs = jobs or cores()
        self._idle: list[ProcessHandle] = []

    @property
    def jobs(self) -> int:
        """How many pieces are worked on at once."""
        return self._jobs

    def map(
        self, recipe: Callable[[], Callable[[P], R]], pieces: Iterable[P], *, name: Callable[[P], str] = unnamed
    ) -> Iterator[R]:
        """Return what becomes of the pieces, in their order: see contracts.Crew."""
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
