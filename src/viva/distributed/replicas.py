"""Models, encoders and sandboxes on a cluster. A model has one replica a GPU, or one a node without GPUs.

A model's requests are gathered for a moment and sent in groups, two groups in flight for each replica, so that its
batches are as full as on this machine. One model is open at a time, since two would not fit.
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

from viva.contracts import ContextWindow, Model, Unmoved
from viva.distributed.cluster import connect
from viva.distributed.pool import Needs, Pool
from viva.distributed.worker import LostWorkerError, outcome
from viva.errors import ModelError, VivaError
from viva.types import Choose, Execute, Execution, Generate, Request, Response

EncoderRecipe = Callable[[int], Callable[[Sequence[tuple[str, str]]], list[float]]]
"""A function from a worker's place on a machine to its opened encoder, which reports name, identity and batch."""


def replicas(on: str) -> Needs:
    """Return the needs of a replica: one GPU if the cluster has any, otherwise all processors of a node."""
    cards = any(node.gpus >= 1 for node in connect(on).nodes())
    return Needs(gpus=1, depth=2) if cards else Needs(whole=True, depth=2)


class RemoteEncoder:
    """An encoder on a cluster. Replicas are opened once for their identity, and again when there are texts to compare:
    in between the cluster is free. Raises VivaError where none can be opened."""

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
            """Batches in flight: each replica has a next one while it works on one."""
        finally:
            pool.close()

    @property
    def identity(self) -> Mapping[str, str]:
        """Everything besides the texts that a similarity depends on."""
        return self._identity

    def similarities(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """Return the similarity of each text to its reference. Blocking; safe in several threads."""
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
    """A check that all replicas have the same identity, on which numbers depend."""

    def __init__(self, what: str, identity: Callable[[Any], Mapping[str, str]], known: Mapping[str, str] | None = None):
        self._what = what
        self._identity = identity
        self._known = known
        self._host = "this machine" if known is not None else ""

    def met(self, host: str, report: Any) -> None:
        """Raise VivaError for a replica with another identity."""
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
        """Return "": equal replicas have equal capabilities."""
        return ""


HANDFUL = 256
"""Most requests that a replica gets at once."""
WINDOW = 2 * HANDFUL
"""Requests in flight for each replica: one group at work, one waiting."""
LEAST = 16
"""Fewest requests worth splitting among replicas."""
SETTLE = 0.01
"""Seconds that the first request of a group waits for others."""
RATE_LIMIT_GROUP = "hf ray"

Asked: TypeAlias = Generate | Choose
Recipe = Callable[[int], Callable[[Sequence[Asked]], list[Any]]]


class RemoteModel:
    """A model on a cluster: its description is here, its replicas there."""

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
        """Everything besides the request that a reply depends on: see LocalModel."""
        return self._description.identity

    @property
    def context_window(self) -> ContextWindow | None:
        """Its context, measured with its own tokenizer."""
        return self._description.context_window

    @property
    def capacity(self) -> int:
        """Number of replicas that the cluster has room for."""
        return self._pool.capacity if self._pool else 1

    async def idle(self) -> None:
        """Wait until no request is open."""
        while self._waiting or self._sending:
            if self._sending:
                await asyncio.wait(self._sending)
            else:
                await asyncio.sleep(SETTLE)  # queued requests are about to be sent

    def check_supported(self, request: Request) -> None:
        """Raise VivaError where requests of this kind can never be answered."""
        self._description.check_supported(request)

    async def answer(self, request: Generate) -> Response:
        """Return a written reply. Raises ModelError."""
        return await self._asked(request)

    async def choose(self, request: Choose) -> Response:
        """Return the probability of each continuation. Raises ModelError."""
        return await self._asked(request)

    async def close(self) -> None:
        """Release the weights everywhere; queued requests are dropped."""
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
        """Fail requests that no replica works on yet, because the run is to end."""
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
        """Start the replicas."""
        if self._pool is None:
            self._pool = Pool(
                connect(self._on),
                lambda place: pickle.dumps(partial(self._recipe, place)),
                replicas(self._on),
                Same(f"model {self.name}", lambda report: report, self._description.identity),
            )

    def _send(self) -> None:
        """Send queued requests in groups, smaller ones where there are too few for all replicas."""
        self._soon = None
        size = min(HANDFUL, max(LEAST, -(-len(self._waiting) // self.capacity)))
        while self._waiting:
            handful = [self._waiting.popleft() for _ in range(min(size, len(self._waiting)))]
            task = asyncio.get_running_loop().create_task(self._deliver(handful))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _deliver(self, handful: list[tuple[Asked, asyncio.Future[Response]]]) -> None:
        handful = [entry for entry in handful if not entry[1].done()]  # cancelled requests are left out
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
        except Exception as problem:  # a defect: reported to the requests concerned
            replies = [ModelError("defect", f"{type(problem).__name__}: {problem}"[:300])] * len(handful)
        for (_, future), reply in zip(handful, replies, strict=True):
            if future.done():
                continue
            if isinstance(reply, Response):
                future.set_result(reply)
            else:
                future.set_exception(reply if isinstance(reply, ModelError) else ModelError(**reply))


class _Turn:
    """The turn of models: only one has open replicas."""

    def __init__(self) -> None:
        self.model: RemoteModel | None = None
        self._changing = asyncio.Lock()

    async def take(self, model: RemoteModel) -> None:
        """Wait until the previous model has no open request, release it, and open this one."""
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
    """Return the turn of the running event loop."""
    return _turns.setdefault(asyncio.get_running_loop(), _Turn())


class Window(Unmoved):
    """A `Ceiling`: WINDOW requests in flight for each replica of the open model."""

    @property
    def limit(self) -> int:
        """Requests in flight now."""
        model = _turn().model
        return WINDOW * (model.capacity if model else 1)

    def doing(self) -> str:
        """Describe the bound for the progress line."""
        return "as many as the replicas work on"


def cancel_pending() -> None:
    """Fail requests that no replica works on yet."""
    model = _turn().model
    if model is not None:
        model.give_back()


SandboxRecipe = Callable[[int], Callable[[Execute], Execution]]
"""A function from a worker's place on a machine to its opened sandbox, which reports its languages, as a mapping's
keys."""


class RemoteSandbox:
    """A sandbox on a cluster: programs run where a processor and the language's toolchain are available.

    A program whose worker is lost is run by another one; a program that no machine can run, or that lost several
    workers, is "toolchain": not scored, and tried again on resume. `canonical`: language → its name in reports, "" for
    an unknown one. Raises VivaError with the reason where no machine can run anything.
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
        """Programs in flight: as many as run at once, and some more so that no worker waits."""
        return self._pool.capacity + self._pool.capacity // 4 + 1

    def begin(self) -> None:
        """Wait for the first worker. Raises VivaError where none can start."""
        self._pool.begin()

    def unavailable(self, language: str) -> str:
        """Return why no program of this language can be run anywhere, if that is known without trying."""
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
        """End everything that is still running. Blocking."""
        self._pool.close()


class _Toolchains:
    """The workers' reports: language → its missing packages, and a hash of its toolchain."""

    def __init__(self, describe: Callable[[str], str]) -> None:
        self._describe = describe
        self._least: dict[str, int] = {}
        """Language → fewest missing packages on any worker; one with more would fail programs that others pass."""
        self._made_of: dict[str, tuple[str, str]] = {}
        self._told: set[str] = set()

    def met(self, host: str, report: Any) -> None:
        """Take in a report; warn where machines differ, since a verdict could depend on the machine."""
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
        """Return why programs of this language are not run by a worker with this report; "" if they are."""
        if need not in report:
            return self._describe(need)
        lacks, _ = report[need]
        return f"{', '.join(lacks)} missing" if len(lacks) > self._least.get(need, 0) else ""
