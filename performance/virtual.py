"""Time that jumps: an asyncio loop whose clock is its next timer, and servers that are simulated on it.

A simulated run is the real engine (`carry_out`) asking a model that waits as a server would. Hours take seconds.
"""

import asyncio
import contextlib
import random
import selectors
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any, TypeVar, cast

from viva.engine.asking import Run, Tally, Task
from viva.engine.budget import Budget
from viva.engine.groups import GroupPlan, Source, carry_out
from viva.engine.journal import Entry, Journal
from viva.engine.sendingslots import Ceiling, Pace, Policy
from viva.errors import ModelError
from viva.types import Choose, Generate, Message, Quota, Request, Response, Sampling, Usage

T = TypeVar("T")


class _Idle(selectors.SelectSelector):
    """Waits for nobody: what would be waited is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None:
            raise RuntimeError("everybody waits for somebody else")
        self.now += max(0.0, timeout)
        return []


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop that never sleeps. What it runs may wait for timers and for itself, for nothing outside."""

    def __init__(self) -> None:
        self._idle = _Idle()
        super().__init__(self._idle)

    def time(self) -> float:
        """Seconds since it began."""
        return self._idle.now


def run_virtually(work: Coroutine[Any, Any, T]) -> T:
    """The result, at once."""
    loop = VirtualLoop()
    try:
        return loop.run_until_complete(asyncio.wait_for(work, 1e7))
    finally:
        with contextlib.suppress(Exception):
            loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


class Memory:
    """A journal that is not on a disk."""

    def __init__(self) -> None:
        self.path = Path("memory")
        self.full = False
        self.entries: list[Entry] = []

    def append(self, entry: Entry) -> None:
        """Keep it."""
        self.entries.append(entry)

    def read(self, key: bytes) -> None:
        """Nothing is asked twice here."""

    def keep_reserve(self, in_flight: int) -> None:
        """There is room."""


class Server:
    """A model that takes time. `latency` draws seconds; subclasses refuse, queue or slow down."""

    name = "openai/simulated"
    rate_limit_group = "openai simulated"
    context_window = None

    def __init__(self, seed: int, latency: Callable[[random.Random], float]) -> None:
        self.random = random.Random(seed)
        self.latency = latency
        self.identity: dict[str, str] = {}
        self.in_flight = self.asked = self.answered = self.refused = 0

    @property
    def now(self) -> float:
        """Seconds since the beginning."""
        return asyncio.get_running_loop().time()

    async def answer(self, request: Generate) -> Response:
        """One attempt."""
        self.asked += 1
        self.in_flight += 1
        try:
            await self.work(request)
        finally:
            self.in_flight -= 1
        self.answered += 1
        return Response(text="A", usage=self.usage(request), quotas=self.quotas())

    async def choose(self, request: Choose) -> Response:
        raise NotImplementedError

    def check_supported(self, request: Request) -> None:
        """Anything goes."""

    async def close(self) -> None:
        """Nothing to close."""

    async def work(self, request: Generate) -> None:
        """What happens between request and reply."""
        await asyncio.sleep(self.latency(self.random))

    def usage(self, request: Generate) -> Usage:
        """What a reply says it used."""
        return Usage(50, 5)

    def quotas(self) -> tuple[Quota, ...]:
        """What its headers say."""
        return ()

    def refuse(self, retry_after: float | None = None, status: int = 429) -> ModelError:
        """A refusal to raise."""
        self.refused += 1
        return ModelError("status", f"HTTP {status}", retry=True, retry_after=retry_after, overload=True)


class Ask:
    """How a simulated run went: seconds, what each question ended in, the server afterwards."""

    def __init__(self, server: Server, seconds: float, run: Run, entries: list[Entry]) -> None:
        self.server, self.seconds, self.run, self.entries = server, seconds, run, entries

    @property
    def lost(self) -> int:
        """Questions that were asked and not answered."""
        return sum(1 for entry in self.entries if entry.error)


def ask(
    server: Server,
    ceiling: Ceiling,
    questions: int,
    pace: Pace | None = None,
    policy: Policy | None = None,
    beside: Callable[[Run, GroupPlan], Coroutine[Any, Any, None]] | None = None,
    prompt: Callable[[int], str] = lambda _number: "What is it?",
) -> Ask:
    """Ask a simulated server so many questions, by the engine. `beside` runs at the same time."""
    journal = Memory()
    run_seed = server.random.randrange(1 << 30)
    random.seed(run_seed)

    async def work() -> tuple[Run, float]:
        run = Run(cast("Journal", journal), Budget(), policy or Policy(), Tally(total=questions))
        plan = GroupPlan([Source(run, _tasks(server, questions, prompt))], ceiling, pace or Pace())
        began = asyncio.get_running_loop().time()
        other = asyncio.ensure_future(beside(run, plan)) if beside else None
        await carry_out(run, {server.rate_limit_group: plan})
        if other:
            other.cancel()
        return run, asyncio.get_running_loop().time() - began

    run, seconds = run_virtually(work())
    return Ask(server, seconds, run, journal.entries)


def _tasks(server: Server, questions: int, prompt: Callable[[int], str]) -> Iterator[Task]:
    sampling = Sampling(max_tokens=16)
    for number in range(questions):
        asked = (Message("user", prompt(number)),)
        request = Generate(question=str(number), sample=0, prompt=asked, sampling=sampling)
        yield Task(number.to_bytes(16, "big"), "simulated", request, server)
