"""Carry out requests through a provider's batch API: hand in once, record, wait, read the results.

    wanted → hand in (batches.jsonl before and after) → wait → read (into the stage's journal) → still wanted → …

Keys and journal are those of `asking`: an answer that came in a batch is an answer like any other. Nothing that is in
an open batch is asked again, however often the process is killed: see `batchlog`. Where it is unknown whether a batch
arrived, the provider is searched for it before its requests are asked again.
"""

from __future__ import annotations

import asyncio
import itertools
import re
import secrets
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import TypeVar

import msgspec
from msgspec import Struct

from viva.contracts import Batches, Model
from viva.engine.asking import Run, Tally, Task
from viva.engine.batchlog import PROVIDERS_NAME, Batch, BatchLog, Dropped, Intended, PendingResults, Read, Submitted
from viva.errors import ModelError
from viva.types import Generate
from viva.visible import one_line, plural

T = TypeVar("T")
DAY = 86_400.0
TRANSFER = 3600.0
"""Seconds that handing in or reading one batch may take: hundreds of megabytes over a slow line."""


class DrainedError(Exception):
    """Raised where a batch waits and the run is told to finish."""


class Calls:
    """The calls about one model's batches."""

    def __init__(self, run: Run, model: str, *, wait: bool) -> None:
        self._run = run
        self._model = model
        self._patience = DAY if wait else run.policy.question

    async def sleep(self, seconds: float) -> None:
        """Sleep. Raises DrainedError as soon as the run is told to finish."""
        try:
            await asyncio.wait_for(self._run.stop_requested(), max(0.0, seconds))
        except TimeoutError:
            return
        raise DrainedError

    async def once(self, call: Callable[[], Awaitable[T]], limit: float) -> T:
        """Return a call's result, within `limit` seconds. Raises ModelError."""
        try:
            async with asyncio.timeout(limit):
                return await call()
        except TimeoutError:
            raise ModelError("timeout", f"no complete reply within {limit:g} s", retry=True) from None

    async def patiently(self, call: Callable[[], Awaitable[T]], limit: float = 0.0, patience: float = 0.0) -> T:
        """Return a call's result, tried again while the provider is busy or away. `limit`: seconds of one try.

        `patience`: seconds for all tries; 0: a day where batches are waited for, else a question's. Below half a day,
        attempts are limited as a question's are.

        Raises ModelError (with `retry`, where `patience` was not enough) and DrainedError.
        """
        began, attempt = time.monotonic(), 0
        while True:
            attempt += 1
            try:
                return await self.once(call, limit or self._run.policy.attempt)
            except ModelError as problem:
                await self.pause(problem, attempt, began + (patience or self._patience))

    async def pause(self, problem: ModelError, attempt: int, deadline: float) -> None:
        """Wait before the next try, or raise the problem."""
        self._run.tally.last_error = f"{self._model}: {problem.message}"
        pause = self._run.policy.pause(attempt, problem.retry_after)
        spent = deadline < time.monotonic() + DAY / 2 and attempt >= self._run.policy.attempts
        if not problem.retry or spent or time.monotonic() + pause > deadline:
            raise problem
        self._run.tally.retries += 1
        await self.sleep(pause)


LATE = 60.0
"""Seconds after which a batch whose sender was killed is with the provider, or never will be."""
DRAINED = ("interrupted", "disk", "refused")
"""Reasons to stop that end the waiting for batches, too."""
GONE = "gone"
"""Kind of the error for results that the provider keeps no longer."""
TOO_MUCH = "enqueued"
"""Kind of the refusal where too much is queued already: fewer requests at once, later."""
_NAME = re.compile(r"([0-9a-f]{16})-([0-9a-f]{32})")
"""A request's name in a batch: the batch's label and the request's key."""


class Patience(Struct, frozen=True, kw_only=True):
    """How long to wait for batches. `poll`: seconds between two looks at a batch. `wait`: whether to wait for its end.

    `leave`: hand nothing in; cancel the provider's open batches and read what they have done.
    """

    poll: float = 60.0
    wait: bool = True
    leave: bool = False


class BatchJob(Struct, frozen=True):
    """One model's requests for batches. `wanted` renders those still missing, again at every call."""

    model: Model
    batches: Batches
    wanted: Callable[[Tally], Iterator[Task]]


async def carry_out_batches(run: Run, log: BatchLog, stage: str, jobs: Sequence[BatchJob], patience: Patience) -> None:
    """Ask all requests of all jobs. Returns when all are answered, failed or stopped, or handed in (without `wait`).

    Raises StorageError when an answer or a batch could not be written down. Cancelling it leaves batches to be found.
    """
    board: dict[str, str] = {}
    await asyncio.gather(*(_Work(run, log, stage, job, patience, board).run() for job in jobs))


class _Chunk(Struct):
    """A batch being filled."""

    label: str
    nonces: dict[bytes, str] = {}
    """Key → nonce of every request, in order."""
    lines: list[bytes] = []
    size: int = 0


class _Work:
    """One model's batch job at work."""

    def __init__(
        self, run: Run, log: BatchLog, stage: str, job: BatchJob, patience: Patience, board: dict[str, str]
    ) -> None:
        self._shared = run
        self._log = log
        self._stage = stage
        self._job = job
        self._model = job.model
        self._batches = job.batches
        self._patience = patience
        self._board = board
        self._quiet = min(LATE, 2 * patience.poll)
        self._most = job.batches.most[0]
        self._calls = Calls(run, job.model.name, wait=patience.wait)
        self._pending = PendingResults(run, log, stage, job.model.identity)
        self._searched: dict[str, float] = {}
        """Label of a batch that is searched for → since when (monotonic)."""
        self._others: set[str] = set()
        """Batches with the provider that might have been ours, and are not."""
        self._done: dict[str, tuple[int, int]] = {}
        """Label → how many of its requests the provider has done, of how many."""
        self._short = False
        """Whether the budget has no room for what is still wanted."""

    async def run(self) -> None:
        try:
            await self._go_on()
        except DrainedError:
            pass
        except ModelError as problem:
            self._shared.refuse(self._model.name, problem)
            if problem.retry:  # no answer, or too busy for hours: key and model may be right
                self._shared.unreached.add(self._model.name)
        finally:
            self._tell("")

    async def _go_on(self) -> None:
        tally = self._shared.tally
        if self._patience.leave:
            await self._leave()
            return
        if self._open():
            await self._register(tally)
            tally = Tally()  # what was there already is counted once
            await self._look()
            while not self._patience.wait and self._missing():
                await self._calls.sleep(self._quiet)
                await self._look()
        while not self._stopped:
            some = await self._send(tally)
            tally = Tally()
            if not self._open():
                if self._short:
                    self._shared.finish("budget")
                if self._short or not some:
                    return
            elif not self._patience.wait:
                return
            while self._open() and not self._stopped:
                self._tell(self._summary())
                await self._calls.sleep(self._patience.poll)
                await self._look()

    async def _leave(self) -> None:
        """Cancel the open batches and read what they have done."""
        if self._open():
            await self._register(Tally())
        told: set[str] = set()
        while self._open() and not self._stopped:
            await self._look()
            for batch in self._open():
                if batch.name and batch.name not in told:
                    await self._calls.patiently(lambda batch=batch: self._batches.cancel(batch.name))  # type: ignore[misc]
                    told.add(batch.name)
            if self._open():
                self._tell(f"cancelling: {self._summary()}")
                await self._calls.sleep(self._patience.poll)

    @property
    def _stopped(self) -> bool:
        """Whether to stop waiting; a used-up budget does not stop it, since open batches are paid for."""
        return self._shared.stop in DRAINED or self._model.name in self._shared.refused

    def _open(self) -> list[Batch]:
        return [batch for batch in self._log.of(self._stage, self._model.identity) if batch.open]

    def _tell(self, words: str) -> None:
        self._board[self._model.name] = words
        self._shared.tally.batches = ", ".join(filter(None, self._board.values()))

    def _summary(self) -> str:
        batches = self._open()
        done = sum(self._done.get(batch.label, (0, 0))[0] for batch in batches)
        total = sum(len(batch.intent.keys) for batch in batches)
        lost = " (one of them not found yet)" if any(not batch.name for batch in batches) else ""
        return f"{plural(len(batches), 'batch', 'batches')}{lost}: {done:,}/{total:,} done" if batches else ""

    # Handing in

    async def _register(self, tally: Tally) -> None:
        """Note which of the wanted requests are in open batches."""
        pending = dict(itertools.chain.from_iterable(batch.nonces() for batch in self._open()))
        for number, task in enumerate(self._job.wanted(tally)):
            if task.key in pending:
                self._pending.wait_for(msgspec.structs.replace(task, nonce=pending[task.key]), sent_before=True)
            if number % 256 == 0:
                await asyncio.sleep(0)

    async def _send(self, tally: Tally) -> bool:
        """Hand in all wanted requests that are in no open batch; return whether there were any."""
        busy = {key for batch in self._open() for key in batch.requests()} | self._pending.given_up
        chunks: dict[str, _Chunk] = {}
        self._short = self._shared.stop == "budget"
        some = False
        for number, task in enumerate(self._job.wanted(tally)):
            if number % 256 == 0:
                await asyncio.sleep(0)
            if self._stopped:
                break
            if task.key in busy or self._short or not isinstance(task.request, Generate):
                continue
            if not self._pending.wait_for(task):
                self._short = True  # go on, to count the rest
                continue
            busy.add(task.key)
            some = True
            await self._add(task, task.request, chunks)
        for kind, chunk in chunks.items():
            await self._hand_in(kind, chunk)
        return some

    async def _add(self, task: Task, request: Generate, chunks: dict[str, _Chunk]) -> None:
        """Put a request into the batch being filled; a full one is handed in first."""
        key = task.key
        kind, (most, most_bytes) = self._batches.kind(request), self._batches.most
        chunk = chunks.setdefault(kind, _Chunk(secrets.token_hex(8)))
        try:
            line = self._batches.line(f"{chunk.label}-{key.hex()}", request)
            if len(line) >= most_bytes:
                raise ModelError(
                    "too long", f"the request has {len(line):,} bytes, a whole batch {most_bytes:,} at most"
                )
        except ModelError as problem:
            self._pending.fail(key, problem, "")
            return
        if chunk.lines and (len(chunk.lines) >= min(most, self._most) or chunk.size + len(line) >= most_bytes):
            await self._hand_in(kind, chunks.pop(kind))
            chunk = chunks.setdefault(kind, _Chunk(secrets.token_hex(8)))
            line = self._batches.line(f"{chunk.label}-{key.hex()}", request)
        chunk.nonces[key] = task.nonce
        chunk.lines.append(line)
        chunk.size += len(line) + 1

    async def _hand_in(self, kind: str, chunk: _Chunk) -> None:
        """Hand in a batch. Where it is not certain whether it arrived, it is searched for before it is sent again."""
        if self._stopped or not chunk.lines:
            return
        self._tell(f"handing in {len(chunk.lines):,} requests")
        policy = self._shared.policy
        after = await self._calls.patiently(self._batches.newest, patience=policy.question)
        self._log.note(
            Intended(
                label=chunk.label,
                stage=self._stage,
                model=self._model.name,
                identity=dict(self._model.identity),
                kind=kind,
                after=after,
                keys=tuple(map(bytes.hex, chunk.nonces)),
                nonces=tuple(filter(None, chunk.nonces.values())),  # all have one, or none
                at=time.time(),
            )
        )
        batch = self._log.batches[chunk.label]
        deadline, attempt = time.monotonic() + policy.question, 0
        while True:
            attempt += 1
            try:
                name = await self._calls.once(lambda: self._batches.hand_in(chunk.label, kind, chunk.lines), TRANSFER)
            except ModelError as problem:
                if not problem.retry:
                    await self._drop(batch, problem.message)
                await self._calls.pause(problem, attempt, deadline)
            else:
                self._named(batch, name)  # without a usable name it stays open, to be searched for
                return
            await self._calls.sleep(self._quiet)
            names = await self._search(batch, policy.question)
            if names and self._batches.certain:
                self._named(batch, names[0])
            if names:
                return  # without a name, `_trace` decides later

    def _named(self, batch: Batch, name: str) -> None:
        if not PROVIDERS_NAME.fullmatch(name):
            raise ModelError("body", f"the provider calls a batch {one_line(name, 60)!r}: that is no name", fatal=True)
        self._log.note(Submitted(label=batch.label, batch=name, at=time.time()))

    async def _drop(self, batch: Batch, why: str) -> None:
        """Record that the provider does not have the batch; its requests are sent again."""
        self._log.note(Dropped(label=batch.label, why=why[:400], at=time.time()))
        self._release(batch)
        try:
            await self._calls.once(lambda: self._batches.tidy(batch.label), self._shared.policy.attempt)
        except ModelError:
            return  # an unneeded file stays with the provider

    # What a killed process left

    async def _search(self, batch: Batch, patience: float = 0.0) -> list[str]:
        intent = batch.intent
        known = {other.name for other in self._log.batches.values() if other.name} | self._others
        count = len(intent.keys)
        names = await self._calls.patiently(
            lambda: self._batches.search(intent.label, count, intent.after, known), patience=patience
        )
        return [name for name in names if PROVIDERS_NAME.fullmatch(name)]

    def _missing(self) -> bool:
        """Return whether a batch is still searched for: it will be known soon whether the provider has it."""
        return any(batch.label in self._searched for batch in self._open() if not batch.name)

    async def _trace(self, batch: Batch) -> None:
        """Search once for a batch that was about to be handed in: note its name, drop it, or neither yet.

        Where the provider does not store labels, candidates are recognised by their results, once they have some.
        """
        names = await self._search(batch)
        if names and self._batches.certain:
            self._named(batch, names[0])
            return
        for name in names:
            mine = await self._is_mine(batch, name)
            if mine:
                self._named(batch, name)
                return
            if mine is False:
                self._others.add(name)
        if set(names) - self._others:
            self._searched.pop(batch.label, None)
            return  # one of these may be it
        since = self._searched.setdefault(batch.label, time.monotonic())
        if time.monotonic() >= since + self._quiet:
            await self._drop(batch, "it never reached the provider")

    async def _is_mine(self, batch: Batch, name: str) -> bool | None:
        """Return whether a provider's batch is this one, by its first result; None while it has none."""
        state = await self._calls.patiently(lambda: self._batches.state(name))
        if state.status == "working":
            return None

        async def first() -> bool:
            async for result, _ in self._batches.replies(name, lambda _: None):
                return result.startswith(f"{batch.label}-")
            return False

        try:
            return await self._calls.patiently(first, TRANSFER)
        except ModelError as problem:
            if problem.kind != GONE:
                raise
            return False

    def _release(self, batch: Batch) -> None:
        for key in batch.requests():
            self._pending.release(key)

    # Waiting and reading

    async def _look(self) -> None:
        """Look at every open batch, and read those that have ended."""
        for batch in self._open():
            if not batch.name:
                await self._trace(batch)
            if not batch.name or not batch.open:
                continue
            state = await self._calls.patiently(lambda batch=batch: self._batches.state(batch.name))  # type: ignore[misc]
            self._done[batch.label] = (state.done, state.total)
            if state.status == "ended":
                await self._read(batch)
            elif state.status == "failed":
                problem = state.problem or ModelError("batch", "the provider refused the batch as a whole", retry=True)
                await self._refused(batch, problem, state.lines)
            self._tell(self._summary())

    async def _refused(self, batch: Batch, problem: ModelError, lines: Mapping[int, str]) -> None:
        """Record a batch that the provider refused; its requests fail, or are asked again."""
        keys = list(batch.requests())
        self._log.note(Dropped(label=batch.label, why=problem.message[:400], at=time.time()))
        if problem.fatal:
            self._release(batch)
            raise problem
        for number, words in lines.items():
            if 0 <= number < len(keys):
                self._pending.fail(keys[number], ModelError("rejected", words), batch.name)
        if problem.kind == TOO_MUCH and len(keys) > 1:
            self._most = max(1, min(self._most, len(keys)) // 2)
            self._release(batch)
            await self._calls.sleep(self._patience.poll if self._patience.wait else 0.0)
            return
        for key in keys:
            if lines:
                self._pending.release(key)
            else:
                self._pending.again(key, problem, batch.name)

    async def _read(self, batch: Batch) -> None:
        """Journal a batch's results; requests without one are asked again."""
        keys = set(batch.requests())
        done: set[bytes] = set()

        def key_of(name: str) -> bytes:
            match = _NAME.fullmatch(name)
            return bytes.fromhex(match[2]) if match and match[1] == batch.label else b""

        answered = 0

        async def read() -> int:
            nonlocal answered
            seen: set[bytes] = set()
            strangers = 0
            async for name, reply in self._batches.replies(batch.name, lambda name: self._pending.asked(key_of(name))):
                if self._shared.stop in DRAINED:
                    raise DrainedError
                key = key_of(name)
                if key not in keys or key in seen:
                    strangers += 1
                    continue
                seen.add(key)
                if key not in done:
                    done.add(key)
                    answered += self._pending.settle(key, reply, batch.name)
                if len(seen) % 256 == 0:
                    await asyncio.sleep(0)
            return strangers

        missing = ModelError("missing result", f"batch {batch.name} has no result for this request", retry=True)
        strangers = 0
        try:
            strangers = await self._calls.patiently(read, TRANSFER)
        except ModelError as problem:
            if problem.kind != GONE:
                raise
            missing = ModelError(GONE, problem.message, retry=True)
        for key in keys - done:
            self._pending.again(key, missing, batch.name)
        failed = len(keys) - answered
        self._log.note(Read(label=batch.label, answered=answered, failed=failed, strangers=strangers, at=time.time()))
        self._pending.refuse_the_hopeless(self._model.name)
