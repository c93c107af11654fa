"""A model whose weights are opened on a cluster: one replica a GPU, or one a node where there is none.

Requests are gathered for a moment and sent by the handful, twice as many to each replica as it takes up at once, so
that its batches are as full as those of a model on this machine. One model is open at a time: two would not fit.
"""

from __future__ import annotations

import asyncio
import pickle
import sys
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias
from weakref import WeakKeyDictionary

from viva.contracts import ContextWindow, Model
from viva.distributed.cluster import connect
from viva.distributed.pool import Needs, Pool
from viva.distributed.worker import LostWorkerError, outcome
from viva.errors import ModelError, VivaError
from viva.types import Choose, Execute, Execution, Generate, Request, Response

EncoderRecipe = Callable[[int], Callable[[Sequence[tuple[str, str]]], list[float]]]
"""Opens the encoder of the worker at a machine's n-th place; it reports name, identity and batch."""


def replicas(on: str) -> Needs:
    """Return a card each, where the cluster has any; otherwise all processors of a node."""
    cards = any(node.gpus >= 1 for node in connect(on).nodes())
    return Needs(gpus=1, depth=2) if cards else Needs(whole=True, depth=2)


class RemoteEncoder:
    """Replicas are opened to learn what they are, and again when there is something to compare: in between, the cluster
    is others'. Raises VivaError where none can be opened."""

    def __init__(self, on: str, recipe: EncoderRecipe) -> None:
        self._on = on
        self._recipe = recipe
        self._opening = threading.Lock()
        self._pool: Pool | None = None
        pool = self._open()
        try:
            report: tuple[str, dict[str, str], int] = pool.begin()
            self.name, self._identity, self.batch = report
            self.jobs = 2 * pool.capacity
            """Batches to have on their way: each replica has the next one while it works on one."""
        finally:
            pool.close()

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a similarity depends on."""
        return self._identity

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each text to its reference; blocking, and for several threads at once."""
        with self._opening:
            if self._pool is None:
                self._pool = self._open()
        values: list[float] = outcome(self._pool.submit(list(pairs)).result())
        return values

    async def close(self) -> None:
        """Release the weights everywhere."""
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.close)

    def _open(self) -> Pool:
        return Pool(
            connect(self._on),
            lambda place: pickle.dumps(partial(self._recipe, place)),
            replicas(self._on),
            Same("encoder", lambda report: report[1]),
        )


class Same:
    """All replicas must be of one kind: what differs in identity gives other numbers."""

    def __init__(self, what: str, identity: Callable[[Any], Mapping[str, str]], known: Mapping[str, str] | None = None):
        self._what = what
        self._identity = identity
        self._known = known
        self._host = "this machine" if known is not None else ""

    def met(self, host: str, report: Any) -> None:
        """Raise VivaError for one that is another."""
        identity = self._identity(report)
        if self._known is None:
            self._known, self._host = identity, host
        for key in {**self._known, **identity}:
            if self._known.get(key) != identity.get(key):
                raise VivaError(
                    f"the {self._what} on {host} is not that of {self._host}: its {key} is {identity.get(key)!r} there "
                    f"and {self._known.get(key)!r} here; put the same files everywhere"
                )

    def lacking(self, _report: Any, _need: str) -> str:
        """Nobody that is the same lacks anything."""
        return ""


HANDFUL = 256
"""Requests that a replica gets at once, at most."""
WINDOW = 2 * HANDFUL
"""Requests in flight for each replica: one handful at work, one that waits."""
LEAST = 16
"""Requests below which sharing them out among replicas gains nothing."""
SETTLE = 0.01
"""Seconds that the first request of a handful waits for others."""
RATE_LIMIT_GROUP = "hf ray"

Asked: TypeAlias = Generate | Choose
Recipe = Callable[[int], Callable[[Sequence[Asked]], list[Any]]]


class RemoteModel:
    """A model on a cluster. What names it stays here, what answers is there."""

    rate_limit_group = RATE_LIMIT_GROUP

    def __init__(self, on: str, description: Model, recipe: Recipe) -> None:
        self.name = description.name
        self._on = on
        self._description = description
        self._recipe = recipe
        self._pool: Pool | None = None
        self._waiting: deque[tuple[Asked, asyncio.Future[Response]]] = deque()
        self._sending: set[asyncio.Task[None]] = set()
        self._soon: asyncio.TimerHandle | None = None

    @property
    def identity(self) -> Mapping[str, str]:
        """What else a reply depends on: see LocalModel."""
        return self._description.identity

    @property
    def context_window(self) -> ContextWindow | None:
        """Its context, measured with its own tokenizer."""
        return self._description.context_window

    @property
    def capacity(self) -> int:
        """Replicas that there is room for."""
        return self._pool.capacity if self._pool else 1

    async def idle(self) -> None:
        """Wait until nobody waits for a reply."""
        while self._waiting or self._sending:
            if self._sending:
                await asyncio.wait(self._sending)
            else:
                await asyncio.sleep(SETTLE)  # what waits is about to be sent

    def check_supported(self, request: Request) -> None:
        """Raise VivaError where requests of this kind can never be answered."""
        self._description.check_supported(request)

    async def answer(self, request: Generate) -> Response:
        """Return the model's own words."""
        return await self._asked(request)

    async def choose(self, request: Choose) -> Response:
        """Return how probable each continuation is."""
        return await self._asked(request)

    async def close(self) -> None:
        """Release the weights everywhere; what still waits is dropped."""
        for _, future in self._waiting:
            future.cancel()
        self._waiting.clear()
        pool, self._pool = self._pool, None
        if pool is not None:
            await asyncio.to_thread(pool.close)
        turn = _turn()
        if turn.model is self:
            turn.model = None

    def give_back(self) -> None:
        """Fail what nobody works on yet: the run is to end."""
        for _, future in self._waiting:
            if not future.done():
                future.set_exception(ModelError("interrupted", "the run ended before its turn came"))
        self._waiting.clear()
        if self._pool is not None:
            self._pool.drain()

    async def _asked(self, request: Asked) -> Response:
        await _turn().take(self)
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Response] = loop.create_future()
        self._waiting.append((request, future))
        if self._soon is None:
            self._soon = loop.call_later(SETTLE, self._send)
        return await future

    def open(self) -> None:
        """Have replicas hired."""
        if self._pool is None:
            self._pool = Pool(
                connect(self._on),
                lambda place: pickle.dumps(partial(self._recipe, place)),
                replicas(self._on),
                Same(f"model {self.name}", lambda report: report, self._description.identity),
            )

    def _send(self) -> None:
        """What waits, by the handful; fewer each where there is not enough for all replicas."""
        self._soon = None
        size = min(HANDFUL, max(LEAST, -(-len(self._waiting) // self.capacity)))
        while self._waiting:
            handful = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            task = asyncio.get_running_loop().create_task(self._deliver(handful))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, handful: list[tuple[Asked, asyncio.Future[Response]]]) -> None:
        handful = [entry for entry in handful if not entry[1].done()]  # for some nobody waits any more
        replies: list[Any]
        try:
            if self._pool is None:
                raise ModelError("interrupted", "the run ended before its turn came")
            content = await asyncio.wrap_future(self._pool.submit([request for request, _ in handful]))
            replies = outcome(content)
        except VivaError as problem:
            replies = [ModelError("weights", str(problem), fatal=True)] * len(handful)
        except ModelError as problem:
            replies = [problem] * len(handful)
        except Exception as problem:  # a defect: told to those that it concerns
            replies = [ModelError("defect", f"{type(problem).__name__}: {problem}"[:300])] * len(handful)
        for (_, future), reply in zip(handful, replies, strict=True):
            if future.done():
                continue
            if isinstance(reply, Response):
                future.set_result(reply)
            else:
                future.set_exception(reply if isinstance(reply, ModelError) else ModelError(**reply))


class _Turn:
    """Whose replicas are open."""

    def __init__(self) -> None:
        self.model: RemoteModel | None = None
        self._changing = asyncio.Lock()

    async def take(self, model: RemoteModel) -> None:
        """Wait until nobody waits for a reply of the model before, release it, and open this one."""
        if self.model is model:
            return
        async with self._changing:
            before = self.model
            if before is model:
                return
            if before is not None:
                await before.idle()
                await before.close()
            model.open()
            self.model = model


_turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turn] = WeakKeyDictionary()


def _turn() -> _Turn:
    """That of this event loop: each stage of a run has its own."""
    return _turns.setdefault(asyncio.get_running_loop(), _Turn())


class Window:
    """Requests in flight: WINDOW for each replica of the model that is open. A Ceiling, as the engine knows it."""

    @property
    def limit(self) -> int:
        """How many now."""
        model = _turn().model
        return WINDOW * (model.capacity if model else 1)

    rate = None

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """A reply came; nothing changes."""

    def refused(self, now: float, busy: int) -> None:
        """Replicas are never overloaded: they have what they have."""

    def interrupted(self, now: float) -> None:
        """Nothing is measured."""

    def doing(self) -> str:
        """Whence the bound."""
        return "as many as the replicas work on"


def cancel_pending() -> None:
    """Fail what nobody works on yet."""
    model = _turn().model
    if model is not None:
        model.give_back()


SandboxRecipe = Callable[[int], Callable[[Execute], Execution]]
"""Opens the sandbox of the worker at a machine's n-th place; it reports the languages that it can run, as a mapping's
keys."""


class RemoteSandbox:
    """Programs to wherever there is a processor and the language's toolchain.

    A program whose worker is lost is run by another one; what cannot be run anywhere, or lost several workers, is
    "toolchain": not scored, and tried again on resume. `canonical` gives a language its name in the reports, "" for one
    that nobody runs. Raises VivaError where no machine can run anything, with its reason.
    """

    def __init__(
        self, on: str, recipe: SandboxRecipe, canonical: Callable[[str], str], describe: Callable[[str], str]
    ) -> None:
        self._canonical = canonical
        self._describe = describe
        self._pool = Pool(
            connect(on), lambda place: pickle.dumps(partial(recipe, place)), Needs(), _Toolchains(describe)
        )

    @property
    def jobs(self) -> int:
        """How many programs to have on their way: as many as run at once, and some that a worker need not wait for."""
        return self._pool.capacity + self._pool.capacity // 4 + 1

    def begin(self) -> None:
        """Wait for the first worker. Raises VivaError where there will be none."""
        self._pool.begin()

    def unavailable(self, language: str) -> str:
        """Return why no program of this language can be run anywhere; what is only found out by trying is not known
        here.
        """
        return "" if self._canonical(language) else self._describe(language)

    async def run(self, request: Execute) -> Execution:
        """Run one program to its end or its limits."""
        language = self._canonical(request.language)
        if not language:
            return Execution("toolchain", self._describe(request.language))
        try:
            content = await asyncio.wrap_future(self._pool.submit(request, language))
            execution: Execution = outcome(content)
        except LostWorkerError as problem:
            return Execution("toolchain", f"several workers were lost over this program; the last {problem}")
        except VivaError as problem:
            return Execution("toolchain", str(problem))
        return execution

    async def close(self) -> None:
        """End everything that is still running."""
        await asyncio.to_thread(self._pool.close)

    def end(self) -> None:
        """The same, blocking."""
        self._pool.close()


class _Toolchains:
    """What workers report: by language the packages that it lacks there, and a hash of what it is made of."""

    def __init__(self, describe: Callable[[str], str]) -> None:
        self._describe = describe
        self._least: dict[str, int] = {}
        """Packages that a language lacks where it lacks least: who lacks more would fail programs that others pass."""
        self._made_of: dict[str, tuple[str, str]] = {}
        self._told: set[str] = set()

    def met(self, host: str, report: Any) -> None:
        """A worker on `host` reported. Says so where machines differ: a verdict could depend on where it was found."""
        for language, (lacks, made_of) in report.items():
            self._least[language] = min(len(lacks), self._least.get(language, len(lacks)))
            first, other = self._made_of.setdefault(language, (made_of, host))
            if first != made_of and language not in self._told:
                self._told.add(language)
                print(
                    f"viva: {language} is not the same on {other} and on {host}: what a program does may depend on "
                    "where it runs; `viva doctor` there shows the versions",
                    file=sys.stderr,
                )

    def lacking(self, report: Any, need: str) -> str:
        """Return why programs of this language are not run there."""
        if need not in report:
            return self._describe(need)
        lacks, _ = report[need]
        return f"{', '.join(lacks)} missing" if len(lacks) > self._least.get(need, 0) else ""
