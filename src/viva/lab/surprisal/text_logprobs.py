"""Log-probabilities of texts under models: concurrent, each text measured once."""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import msgspec
from msgspec import Struct

from viva.contracts import Model
from viva.engine.asking import Tally
from viva.engine.groups import FirstReply
from viva.engine.sendingslots import Policy
from viva.errors import ModelError, VivaError, option
from viva.lab.surprisal.item_file import Items, Row, identity_hash, text_hash
from viva.lab.surprisal.measures import Reading, read
from viva.lab.text_sets import TextSet
from viva.runs.progress import Mode, Progress, caller, on_interrupt

PROBE = "A"
"""A single token for every tokenizer, so it has a log-probability only after a BOS."""
HOPELESS, VANISHED = 16, 64
"""A model gets no more texts if its first HOPELESS ones all failed, or VANISHED ones in a row got no reply."""


@runtime_checkable
class Measurer(Protocol):
    """A model that returns the log-probabilities of a text's tokens."""

    async def token_logprobs(self, text: str) -> list[float]:
        """Return natural log-probabilities of a text's tokens, in order; of the first one only after a BOS."""
        ...


class MeasureConfig(Struct, frozen=True, kw_only=True):
    """What is to be measured, and how."""

    sets: Sequence[TextSet]
    field: str
    k: float
    by: str = ""
    """The tag whose values have separate rows; "" for none."""
    limit: int | None = None
    language: tuple[str, ...] = ()
    concurrency: int | None = None
    timeout: float = 300.0
    progress: Mode = "auto"


class Measured(Struct, kw_only=True):
    """One model's results on the sets. `readings`: every different text of a set, its tag, its number of
    occurrences.
    """

    model: str
    identity: dict[str, str]
    readings: dict[str, list[tuple[Row, str, int]]] = {}
    first: bool | None = None
    """Whether the first token of a text is scored; None if unknown."""
    failed: int = 0
    why: str = ""
    """The error of the last text that could not be measured."""
    refused: str = ""
    """Why the model gets no more texts; "" if it does."""
    absent: bool = False
    """Whether the reason is a server that never replied."""

    def of(self, name: str, tag: str | None = None) -> list[Reading]:
        """Return the readings of a set, or of one value of the tag; one for each different text."""
        rows: dict[str, tuple[Row, int]] = {}
        for row, its_tag, times in self.readings.get(name, []):
            if tag is None or its_tag == tag:
                rows[row.text] = (row, times + (rows[row.text][1] if row.text in rows else 0))
        return [_reading(row, times) for row, times in rows.values()]


class StoppedError(Exception):
    """Ctrl-C: `measured` of `total` texts are known."""

    def __init__(self, measured: int, total: int) -> None:
        super().__init__()
        self.measured, self.total = measured, total


def need_measurers(models: Sequence[Model]) -> None:
    """Raise VivaError for a model that returns no log-probabilities of texts."""
    for model in models:
        if not isinstance(model, Measurer):
            raise VivaError(
                f"{model.name} does not say how probable a text is; weights do (hf/FOLDER or hf/NAME), and servers "
                f"whose completions echo log-probabilities (openai/NAME with {option('base_url')})"
            )


async def measure(models: Sequence[Model], wish: MeasureConfig, items: Items) -> list[Measured]:
    """Measure all texts under each model, one model after the other. Raises StoppedError, and StorageError if a row
    cannot be written.
    """
    stop = asyncio.Event()
    _listen(stop, asyncio.current_task(), models)
    begun: list[_Measuring] = []
    try:
        for model in models:
            begun.append(_Measuring(model, wish, items, stop))
            await begun[-1].run()
            if stop.is_set():
                break
    except asyncio.CancelledError:
        if not stop.is_set():
            raise
    if stop.is_set():
        raise StoppedError(sum(each.known for each in begun), len(models) * len(_different(wish)))
    return [each.measured() for each in begun]


def _listen(stop: asyncio.Event, working: asyncio.Task[object] | None, models: Sequence[Model]) -> None:
    """Stop on Ctrl-C: once, after the running requests; twice, at once."""
    program = caller()  # read here, since a signal's handler runs in another context

    def interrupt() -> None:
        if stop.is_set():
            if working is not None:
                working.cancel()
            return
        stop.set()
        if any(model.rate_limit_group == "hf" for model in models):
            from viva.models.local.scheduler import cancel_pending

            cancel_pending()
        if program is None:
            print("\nviva: finishing what is in flight; Ctrl-C again stops at once", file=sys.stderr, flush=True)

    on_interrupt(interrupt)


class _Measuring:
    """Measurement of all sets under one model."""

    def __init__(self, model: Model, wish: MeasureConfig, items: Items, stop: asyncio.Event) -> None:
        assert isinstance(model, Measurer)
        self._model, self._measurer = model, model
        self._wish, self._items, self._stop = wish, items, stop
        self._identity = identity_hash(model.identity)
        self._found = Measured(model=model.name, identity=dict(model.identity))
        self._places = _different(wish)
        self._tally = Tally(total=len(self._places))
        self._lost = 0  # texts in a row that could not be measured
        self._first_reply = FirstReply(Policy().server)
        local = model.rate_limit_group == "hf"
        self._most = wish.concurrency or (_window() if local else 64)
        # No time limit for a model on this machine: most of the time is waiting in its queue.
        self._policy = Policy(attempts=1) if local else Policy(attempt=wish.timeout)
        self._patience = None if local else wish.timeout

    @property
    def known(self) -> int:
        """Number of texts measured so far."""
        return self._tally.answered + self._tally.kept

    async def run(self) -> None:
        """Measure the texts that are not known yet."""
        pending: list[str] = []
        for text in self._places:
            row = self._items.find(self._identity, text_hash(text), self._wish.k)
            if row is None:
                pending.append(text)
                continue
            if row.first is not None:
                self._found.first = row.first
            self._tally.kept += 1
            self._keep(text, row)
        if not pending:
            return
        stage = f"measuring {self._model.name}"
        progress = Progress(self._wish.progress, {stage: self._tally})
        shown = asyncio.create_task(progress.show())
        try:
            # The longest first: neighbours are of similar length, and a lack of memory shows at once.
            pending.sort(key=len, reverse=True)
            await self._first(pending[0])
            await self._all(iter(pending[1:]))
        finally:
            shown.cancel()
            await self._model.close()
            progress.end(stage)

    async def _first(self, text: str) -> None:
        """Measure one text alone, so that a model that can measure none fails once; then test whether first tokens are
        scored.
        """
        logprobs = await self._logprobs(text)
        probed = None if self._found.refused else await self._logprobs(PROBE)
        if probed is not None:
            self._found.first = bool(probed)
        self._record(text, logprobs)

    async def _all(self, pending: Iterator[str]) -> None:
        async def work() -> None:
            for text in pending:
                if self._stop.is_set() or self._found.refused:
                    return
                self._record(text, await self._logprobs(text))

        workers = [asyncio.create_task(work()) for _ in range(min(self._most, self._tally.total))]
        try:
            await asyncio.gather(*workers)
        finally:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)

    def _record(self, text: str, logprobs: list[float] | None) -> None:
        if logprobs is None:
            if not self._stop.is_set():
                self._tally.failed += 1
            return
        reading = read(logprobs, text, self._wish.k)
        self._lost = 0
        self._tally.answered += 1
        row = Row(
            set="",
            id="",
            model=self._model.name,
            identity=self._identity,
            field=self._wish.field,
            text=text_hash(text),
            k=self._wish.k,
            first=self._found.first,
            **_measured(reading),
        )
        self._keep(text, row)

    def _keep(self, text: str, row: Row) -> None:
        for name, identity in self._places[text]:
            self._items.add(
                msgspec.structs.replace(row, set=name, id=identity, field=self._wish.field, model=self._model.name)
            )

    async def _logprobs(self, text: str) -> list[float] | None:
        """Return a text's log-probabilities, with retries; None on failure, with the reason recorded."""
        self._tally.in_flight += 1
        try:
            for attempt in range(1, self._policy.attempts + 1):
                began = time.monotonic()
                try:
                    async with asyncio.timeout(self._patience):
                        logprobs = _sound(await self._measurer.token_logprobs(text))
                    self._first_reply.came = True
                    return logprobs
                except TimeoutError:
                    problem = ModelError("timeout", f"no reply within {self._patience:g} s", retry=True)
                except ModelError as raised:
                    problem = raised
                if not await self._again(self._first_reply.note(problem), attempt, began):
                    return None
            return None
        finally:
            self._tally.in_flight -= 1

    async def _again(self, problem: ModelError, attempt: int, began: float) -> bool:
        if self._stop.is_set():
            return False
        self._found.why = self._tally.last_error = problem.message
        pause = self._policy.pause(attempt, problem.retry_after)
        if self._first_reply.absent(problem):
            waited = self._first_reply.pause(pause, began)
            if waited is None:
                self._found.refused, self._found.absent = problem.message, True
                return False
            pause = waited
        last = not problem.retry or attempt == self._policy.attempts
        self._lost += last
        gone = self._lost >= (VANISHED if self.known else HOPELESS) and (problem.retry or not self.known)
        if problem.fatal or (last and gone):
            self._found.refused = self._found.refused or problem.message
        if last or self._found.refused:
            return False
        self._tally.retries += 1
        try:
            async with asyncio.timeout(pause):
                await self._stop.wait()
        except TimeoutError:
            return True
        return False

    def measured(self) -> Measured:
        """Return the results so far."""
        result = self._found
        for each_set in self._wish.sets:
            times = Counter((text.tag, text.text) for text in each_set.texts)
            for (tag, content), count in times.items():
                row = self._items.find(self._identity, text_hash(content), self._wish.k)
                if row is not None:
                    result.readings.setdefault(each_set.name, []).append((row, tag, count))
                else:
                    result.failed += count
        return result


def _reading(row: Row, times: int) -> Reading:
    return Reading(times=times, text=row.text, **_measured(row))


def _measured(reading: Reading | Row) -> dict[str, Any]:
    """Return the fields common to a reading and a row."""
    return {name: getattr(reading, name) for name in ("tokens", "nll", "bytes", "characters", "min_k")}


def _different(wish: MeasureConfig) -> dict[str, list[tuple[str, str]]]:
    """Return every different text, with the sets and ids of its places."""
    places: dict[str, list[tuple[str, str]]] = {}
    for each_set in wish.sets:
        for text in each_set.texts:
            places.setdefault(text.text, []).append((each_set.name, text.id))
    return places


def _sound(logprobs: list[float]) -> list[float]:
    """Return log-probabilities after checking that they are valid."""
    strange = next((logprob for logprob in logprobs if not (math.isfinite(logprob) and logprob < 1e-3)), None)
    if strange is not None:
        raise ModelError("logprobs", f"a token with the log-probability {strange}: there is no perplexity of that")
    return logprobs


def _window() -> int:
    from viva.models.local.scheduler import WINDOW

    return WINDOW
