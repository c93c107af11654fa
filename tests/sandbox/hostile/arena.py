"""Run hostile programs in one sandbox and report every violation of each."""

import asyncio
import resource
import threading
import time
from collections.abc import Coroutine, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

from sandbox.hostile.programs import Program, unprotected
from sandbox.hostile.world import Marks, World
from viva.sandbox import Sandbox
from viva.sandbox.launch import wall_seconds
from viva.types import Execution

JOBS = 2
MARGIN = 4.0
"""CPU seconds that starting and stopping may add to a limit."""
BUSY = 30.0
"""Seconds by the clock that starting and stopping may take on a busy machine."""
GROWTH = 64 * 1024
"""KiB by which Viva's own peak memory may grow while a program runs."""

T = TypeVar("T")


class Fate(Struct, frozen=True):
    """How a program fared, and what was wrong with that (nothing, if all is well)."""

    execution: Execution
    wall: float
    problems: tuple[str, ...]


class Arena:
    """A sandbox on an event loop of its own, in a thread of its own, so that programs run while tests wait."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.sandbox, self.gate = self.wait(self._open())
        self._fates: dict[str, Future[Fate]] = {}

    async def _open(self) -> tuple[Sandbox, asyncio.Semaphore]:
        return Sandbox(jobs=JOBS), asyncio.Semaphore(JOBS)

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def wait(self, work: Coroutine[Any, Any, T], seconds: float = 60) -> T:
        return self.start(work).result(seconds)

    def close(self) -> None:
        """Close the sandbox, then the loop."""
        try:
            self.wait(self.sandbox.close())
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(240)

    def begin(self, program: Program) -> None:
        """Have a program run soon, beside others."""
        if str(program) not in self._fates:
            self._fates[str(program)] = self.start(self.examine(program))

    def fates(self, programs: Sequence[Program]) -> Iterator[tuple[Program, Fate]]:
        """How each fared, run side by side."""
        for program in programs:
            self.begin(program)
        for program in programs:
            yield program, self.fate(program)

    def fate(self, program: Program) -> Fate:
        """How it fared; run now unless it was begun."""
        self.begin(program)
        return self._fates[str(program)].result(300)

    async def unprotected(self, program: Program) -> Execution:
        """How it fares where nothing protects the verdict: the published rule, and time enough.

        One that writes to all it can reach may hit its own interpreter, and passes at the second attempt.
        """
        request = unprotected(program.request(self.world.places(Marks())))
        async with self.gate:
            for _attempt in range(3):
                execution = await self.sandbox.run(msgspec.structs.replace(request, seconds=max(request.seconds, 10.0)))
                if execution.verdict == "passed":
                    break
            return execution

    async def examine(self, program: Program) -> Fate:
        """Run one program and look at everything that it could have done."""
        marks = Marks()
        request = program.request(self.world.places(marks))
        async with self.gate:
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            knocks = len(self.world.knocks)
            started = time.monotonic()
            try:
                execution = await asyncio.wait_for(self.sandbox.run(request), wall_seconds(program.seconds) + BUSY)
            except TimeoutError:
                return Fate(Execution("failed"), time.monotonic() - started, ("hangs the sandbox",))
            wall = time.monotonic() - started
            left = await self._remains(marks)
        problems = [f"leaves the process {process}" for process in left]
        problems += [f"leaves or changes {trace}" for trace in self.world.traces(marks)]
        problems += [f"reached a server: {knock}" for knock in self.world.knocks[knocks:]]
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - peak
        if grown > GROWTH:
            problems.append(f"makes Viva itself grow by {grown // 1024} MiB")
        problems += _complaints(program, execution, wall, self.world)
        return Fate(execution, wall, tuple(problems))

    async def _remains(self, marks: Marks) -> list[str]:
        """Processes of the program that are still there; the kernel is given a while to bury them."""
        for _ in range(100):
            left = await asyncio.to_thread(marks.processes)
            if not left:
                return []
            await asyncio.sleep(0.1)
        return left


def _complaints(program: Program, execution: Execution, wall: float, world: World) -> list[str]:
    """What is wrong with the verdict, the detail and the cost."""
    problems = []
    shown = f"{execution.verdict} in {wall:.1f} s: {execution.detail[-1500:]!r}"
    if execution.verdict not in program.expected:
        problems.append(f"should be {' or '.join(program.expected)}, was {shown}")
    if program.says and execution.verdict == "failed" and program.says not in execution.detail:
        problems.append(f"never said {program.says!r}, so it fails for a reason of its own: {shown}")
    if world.leaked(execution.detail):
        problems.append(f"printed a secret: {shown}")
    if wall > wall_seconds(program.seconds) + BUSY:
        problems.append(f"took {wall:.1f} s with a limit of {program.seconds}")
    allowed = program.seconds + MARGIN
    if execution.cpu > allowed:
        problems.append(f"used {execution.cpu:.1f} CPU seconds where {allowed:.1f} can be had")
    if len(execution.detail) > 100_000:
        problems.append(f"its detail has {len(execution.detail)} characters")
    return problems
