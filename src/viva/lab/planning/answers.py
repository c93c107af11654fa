"""Scatter and consumption in earlier runs: their answers, summed up by question, with tokens, time and cost."""

from __future__ import annotations

import itertools
import statistics
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import UNSET, Struct
from numpy.typing import NDArray

from viva.analysis.columns import sums
from viva.analysis.estimate import clusters_of
from viva.engine.budget import Consumption, Price
from viva.engine.folder import ModelRecord, RunFolder
from viva.engine.journal import Entry
from viva.errors import DataError, flag
from viva.lab.planning.power import Floats, Measured, measured, measured_difference
from viva.providers import traits_of
from viva.runs.open import prices_of, recorded_price
from viva.types import UNANSWERED
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.studies.item_scores import ScoreSet

_FEWEST = 10
"""The fewest questions for estimating scatter."""


class Answers(Struct, frozen=True, eq=False, kw_only=True):
    """One model's scored answers: the mean of each question, squares around it, and their number."""

    model: str
    source: Path
    benchmark: str
    questions: list[str]
    means: Floats
    squares: Floats
    counts: Floats
    cluster: NDArray[np.int64] | None
    zero_one: bool
    """Whether every question has one answer, right or wrong."""
    design: str
    """The run's variation, in words, "" for none. The answers are of its first combination, as a plain run asks."""
    asked: ModelRecord | None
    """The model that the run asked; None if none was asked, so that consumption is unknown."""

    @property
    def cluster_count(self) -> int:
        """Number of clusters of its questions; 0 if they are not grouped."""
        return 0 if self.cluster is None else len(np.unique(self.cluster))

    def measured(self) -> Measured:
        """Return the scatter of its score."""
        return measured(self.means, self.squares, self.counts, self.cluster)


def answers_of(scored: ScoreSet) -> Answers:
    """Sum up a model's scores by question. Raises DataError if too few questions have one."""
    rows = scored.scores.take(~scored.scores.among("outcome", UNANSWERED))
    points, (groups, starts) = np.nan_to_num(rows.numbers["value"]), rows.groups("question")
    counts = np.bincount(groups, minlength=len(starts)).astype(np.float64)
    means = sums(points, groups, len(starts)) / counts
    if len(starts) < _FEWEST:
        raise DataError(
            f"{scored.source}: {one_line(scored.model, 60)} has scores of {len(starts)} questions of "
            f"{scored.exam}; a plan takes {_FEWEST} at least"
        )
    question = rows.texts["question"]
    return Answers(
        model=scored.model,
        source=scored.source,
        benchmark=scored.record.spec.benchmark if scored.record else "",
        questions=[question.values[code] for code in question.codes[starts]],
        means=means,
        design=scored.record.spec.vary.words if scored.record and scored.record.spec.vary is not UNSET else "",
        asked=scored.opened if scored.opened and not traits_of(scored.opened.name).recorded else None,
        squares=sums((points - means[groups]) ** 2, groups, len(starts)),
        counts=counts,
        cluster=clusters_of(rows.take(starts)),
        zero_one=bool(np.isin(means, (0.0, 1.0)).all()) and counts.max() == 1,
    )


class Pair(Struct, frozen=True, kw_only=True):
    """Two models on the questions that both have."""

    first: str
    second: str
    measured: Measured
    correlation: float
    zero_one: bool


def median_pair(runs: Sequence[Answers]) -> Pair | None:
    """Return the pair of models whose difference has the median scatter; None for one model, or if none share
    questions.
    """
    pairs = [pair for pair in itertools.starmap(_paired, itertools.combinations(runs, 2)) if pair is not None]
    pairs.sort(key=lambda pair: pair.measured.scatter.error(pair.measured.questions) * pair.measured.questions**0.5)
    return pairs[len(pairs) // 2] if pairs else None


def _paired(first: Answers, second: Answers) -> Pair | None:
    number_of = {question: number for number, question in enumerate(second.questions)}
    left = np.array(
        [number for number, question in enumerate(first.questions) if question in number_of], dtype=np.int64
    )
    if len(left) < _FEWEST:
        return None
    right = np.array([number_of[first.questions[number]] for number in left], dtype=np.int64)
    means = first.means[left], second.means[right]
    difference = measured_difference(
        means,
        (first.squares[left], second.squares[right]),
        (first.counts[left], second.counts[right]),
        None if first.cluster is None else first.cluster[left],
    )
    spread = [float(each.std()) for each in means]
    correlation = float(np.corrcoef(*means)[0, 1]) if min(spread) > 0 else 0.0
    return Pair(
        first=first.model,
        second=second.model,
        measured=difference,
        correlation=correlation,
        zero_one=first.zero_one and second.zero_one,
    )


class Took(Struct, frozen=True, kw_only=True):
    """Consumption of an answer, means over the runs with data, judges included."""

    seconds: float | None
    """Wall time in seconds, at the runs' concurrency."""
    dollars: float | None
    thoughts: float
    """Share of reasoning in the tokens of replies, as far as servers report it; priced as replies."""
    left_out: tuple[str, ...]
    """Models and judges that `dollars` leaves out, and why."""
    judges: tuple[str, ...]


def took(runs: Sequence[Answers], prices: Mapping[str, Price]) -> Took:
    """Return the consumption of answers. `prices`: the user's by model ("" for all); else the runs', else list
    prices.
    """
    seconds: list[float] = []
    dollars: list[float] = []
    judging_alone: list[float] = []
    left_out: dict[str, None] = {}
    judges: dict[str, None] = {}
    tokens = thoughts = 0
    for source in dict.fromkeys(run.source for run in runs if run.benchmark):
        those = [run for run in runs if run.source == source]
        record = RunFolder.open(source).record
        if not any(each.asked for each in those) and not record.judges:
            continue
        known = prices_of(record, prices)
        consumed, answers = _answering(source, those, known)
        judging = {benchmark: _judging(source, benchmark, known) for benchmark in {each.benchmark for each in those}}
        for (name, benchmark), (consumption, span) in consumed.items():
            verdicts = judging[benchmark]
            left_out |= dict.fromkeys(verdicts.left_out)
            judges |= dict.fromkeys(verdicts.judges)
            if all(each.asked is None for each in those if each.model == name):
                if verdicts.cost:
                    judging_alone.append(verdicts.cost / answers[benchmark])
                    left_out[f"{one_line(name, 60)} (recorded answers)"] = None
                continue
            timed = len(consumption.seconds)
            if timed > 1 and span > 0:
                # Judges work while models answer, so the slower of the two determines the time.
                seconds.append(max(span / (timed - 1), verdicts.span / answers[benchmark]))
            usage = consumption.consumed()
            tokens, thoughts = tokens + usage.output, thoughts + (usage.reasoning or 0)
            if usage.cost is not None and usage.replies:
                dollars.append(usage.cost / usage.replies + verdicts.cost / answers[benchmark])
            elif usage.replies and traits_of(name).paid:
                left_out[_unknown(name, usage.priced)] = None
    return Took(
        seconds=_mean(seconds),
        dollars=_mean(dollars or judging_alone),
        thoughts=thoughts / tokens if tokens else 0.0,
        left_out=tuple(left_out),
        judges=tuple(judges),
    )


def _unknown(name: str, priced: bool) -> str:
    short = one_line(name, 60)
    return f"{short} (tokens not counted)" if priced else f"{short} (no price: {flag('price')} {short}=IN/OUT)"


def _mean(values: Sequence[float]) -> float | None:
    return statistics.fmean(values) if values else None


Consumptions = dict[tuple[str, str], tuple[Consumption, float]]
"""(model, benchmark) → consumption of its answers, and the seconds from the first timed one to the last."""


def _answering(source: Path, runs: Sequence[Answers], prices: Mapping[str, Price]) -> tuple[Consumptions, Counter[str]]:
    """Return the consumption of each model's answers in a run, and the number of all models' answers by benchmark."""
    consumptions = {
        (run.model, run.benchmark): Consumption(recorded_price(run.asked, prices) if run.asked else None)
        for run in runs
    }
    answers: Counter[str] = Counter()
    spans: dict[tuple[str, str], _Span] = {key: _Span() for key in consumptions}
    for entry in _entries(source, "responses"):
        key = entry.model, entry.benchmark
        answers[entry.benchmark] += not entry.error
        if key in consumptions and not entry.reused:
            consumptions[key].count(entry)
            spans[key].count(entry)
    return {key: (consumption, spans[key].seconds) for key, consumption in consumptions.items()}, answers


class _Judging(Struct, frozen=True, kw_only=True):
    """Consumption of all verdicts of a run on a benchmark: seconds from the first to the last, and US dollars."""

    span: float
    cost: float
    left_out: tuple[str, ...]
    judges: tuple[str, ...]


def _judging(source: Path, benchmark: str, prices: Mapping[str, Price]) -> _Judging:
    """Return the consumption of a run's verdicts. Those taken over from another run cost as much as its own; recorded
    ones cost nothing.
    """
    records = {judge.name: judge for judge in RunFolder.open(source).record.judges}
    consumptions = {name: Consumption(recorded_price(record, prices)) for name, record in records.items()}
    verdicts: Counter[str] = Counter()
    span = _Span()
    for entry in _entries(source, "annotations"):
        if entry.benchmark == benchmark and entry.model in consumptions and not entry.error:
            verdicts[entry.model] += 1
            if not entry.reused:
                consumptions[entry.model].count(entry)
                span.count(entry)
    cost, left_out = 0.0, []
    for name, number in verdicts.items():
        consumed = consumptions[name].consumed()
        if consumed.cost is not None and consumed.replies:
            cost += number * consumed.cost / consumed.replies
        elif traits_of(name).paid:
            left_out.append("the judge " + _unknown(name, consumed.priced))
    return _Judging(span=span.seconds, cost=cost, left_out=tuple(left_out), judges=tuple(verdicts))


def _entries(source: Path, stage: str) -> Iterator[Entry]:
    journal = RunFolder.open(source).journal(stage, write=False)
    try:
        yield from journal.entries()
    finally:
        journal.close()


class _Span(Struct):
    """Time from the first timed reply to the last."""

    first: float = 0.0
    last: float = 0.0

    def count(self, entry: Entry) -> None:
        """Add a reply."""
        if entry.seconds > 0 and entry.at and not entry.error and not entry.batch:
            self.first, self.last = min(self.first or entry.at, entry.at), max(self.last, entry.at)

    @property
    def seconds(self) -> float:
        """The seconds between the two."""
        return self.last - self.first
