"""Log-probabilities of texts under models: concurrent, each text measured once."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, cast, runtime_checkable

import msgspec
from msgspec import Struct

from viva.contracts import Model, TextOnly
from viva.engine.asking import Task, gated
from viva.engine.budget import Budget
from viva.engine.groups import Source, carry_out
from viva.engine.journal import Entry, Journal
from viva.engine.sendingslots import Fixed, Policy
from viva.errors import ModelError, VivaError, option
from viva.lab.surprisal.item_file import Items, Row, identity_hash, text_hash
from viva.lab.surprisal.measures import Reading, read
from viva.lab.text_sets import TextSet
from viva.runs.ask import group_plan, new_run
from viva.runs.config import LimitOptions
from viva.runs.progress import Mode, Stage, watched
from viva.types import Generate, Likelihood, Response, Sampling

PROBE = "A"
"""A single token for every tokenizer, so it has a log-probability only after a BOS."""
_MOST = 64
"""Texts in flight, unless the user says so."""


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
    begun: list[_Measuring] = []
    for model in models:
        begun.append(_Measuring(model, wish, items))
        await begun[-1].run()
        if begun[-1].stopped:
            raise StoppedError(sum(each.known for each in begun), len(models) * len(_different(wish)))
    return [each.measured() for each in begun]


class _Scorer(TextOnly):
    """A model as the engine asks it: a prompt is a text to measure, and the likelihoods are those of its tokens."""

    def __init__(self, model: Measurer, name: str, rate_limit_group: str) -> None:
        self.name, self.rate_limit_group = name, rate_limit_group
        self.identity: dict[str, str] = {}
        self._model = model

    async def answer(self, request: Generate) -> Response:
        """Make one attempt to measure a text. Raises ModelError."""
        logprobs = await self._model.token_logprobs(str(request.prompt))
        strange = next((logprob for logprob in logprobs if not (math.isfinite(logprob) and logprob < 1e-3)), None)
        if strange is not None:
            raise ModelError("logprobs", f"a token with the log-probability {strange}: there is no perplexity of that")
        return Response(likelihoods=tuple(map(Likelihood, logprobs)))

    async def close(self) -> None:
        """Do nothing: the stage closes the model."""


class _Measuring:
    """Measurement of all sets under one model, and the engine's journal of it."""

    full = False

    def __init__(self, model: Model, wish: MeasureConfig, items: Items) -> None:
        assert isinstance(model, Measurer)
        self._model, self._scorer = model, _Scorer(model, model.name, model.rate_limit_group)
        self._wish, self._items = wish, items
        self._identity = identity_hash(model.identity)
        self._found = Measured(model=model.name, identity=dict(model.identity))
        self._places = _different(wish)
        self._texts = {text_hash(text): text for text in self._places}
        self._first: list[Entry] | None = []
        self._limits = LimitOptions(
            concurrency=(str(wish.concurrency or _MOST),),
            timeout=wish.timeout,
            question_timeout=max(Policy().question, Policy().attempts * wish.timeout),
        )
        self._asking = new_run(self._limits, cast("Journal", self), Budget(), len(self._places))

    @property
    def known(self) -> int:
        """Number of texts measured so far."""
        return self._asking.tally.answered + self._asking.tally.kept

    @property
    def stopped(self) -> bool:
        """Whether the user has interrupted it."""
        return self._asking.stop == "interrupted"

    async def run(self) -> None:
        """Measure the texts that are not known yet."""
        pending: list[str] = []
        for name, text in self._texts.items():
            row = self._items.find(self._identity, name, self._wish.k)
            if row is None:
                pending.append(text)
                continue
            if row.first is not None:
                self._found.first = row.first
            self._asking.tally.kept += 1
            self._keep(text, row)
        if pending:
            stage = Stage(f"measuring {self._model.name}", self._asking, lambda run, path: 0, [self._model])
            # The longest first: neighbours are of similar length, and a lack of memory shows at once.
            pending.sort(key=len, reverse=True)
            await watched([stage], self._wish.progress, lambda end: self._ask_all(pending))

    async def _ask_all(self, pending: Sequence[str]) -> None:
        """Measure one text alone, so that a model that can measure none fails once; then test whether first tokens are
        scored; then measure the others.
        """
        run, group = self._asking, self._model.rate_limit_group
        probe = new_run(self._limits, cast("Journal", self), Budget(), 1, beside=run)

        def rest() -> Iterator[Task]:
            self._record_first()
            others.succeeded = self.known > 0
            return self._tasks(pending[1:])

        first = Source(run, self._tasks(pending[:1]))
        probing = Source(
            probe, gated(first.ended.is_set, lambda: self._tasks(() if run.refused else (PROBE,), "probe"))
        )
        others = Source(run, gated(probing.ended.is_set, rest))
        plan = group_plan(group, [first, probing, others], self._limits)
        if self._wish.concurrency:
            plan.ceiling = Fixed(self._wish.concurrency)
        try:
            await carry_out(run, {group: plan})
        finally:
            self._record_first()

    def _tasks(self, texts: Sequence[str], sort: str = "") -> Iterator[Task]:
        """Yield a request for each text."""
        for text in texts:
            name = text_hash(text)
            request = Generate(question=name, sample=0, prompt=text, sampling=Sampling())
            yield Task(key=bytes.fromhex(name), benchmark=sort, request=request, model=self._scorer)

    def read(self, key: bytes) -> None:
        """Return None: failures are not kept."""

    def keep_reserve(self, in_flight: int) -> None:
        """Do nothing: rows are small."""

    def append(self, entry: Entry) -> bool:
        """Take a text's log-probabilities, or why it has none; return that no served model is new."""
        if entry.error is not None:
            self._found.why = entry.error.message
        elif entry.benchmark:  # the probe's
            self._found.first = bool(entry.likelihoods)
        elif self._first is not None:
            self._first.append(entry)
        else:
            self._record(entry)
        return False

    def _record_first(self) -> None:
        """Record the first text, which waits until it is known whether first tokens are scored."""
        waiting, self._first = self._first or (), None
        for entry in waiting:
            self._record(entry)

    def _record(self, entry: Entry) -> None:
        text = self._texts[entry.question]
        reading = read([likelihood.logprob for likelihood in entry.likelihoods], text, self._wish.k)
        row = Row(
            set="",
            id="",
            model=self._model.name,
            identity=self._identity,
            field=self._wish.field,
            text=entry.question,
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

    def measured(self) -> Measured:
        """Return the results so far."""
        result, name = self._found, self._model.name
        result.refused, result.absent = self._asking.refused.get(name, ""), name in self._asking.absent
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
