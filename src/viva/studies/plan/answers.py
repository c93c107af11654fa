"""What earlier runs say about scatter: their answers, summed up a question, and what they took."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from msgspec import UNSET, Struct
from numpy.typing import NDArray

from viva.analysis.columns import sums
from viva.analysis.power import Floats, Measured, measured, measured_difference
from viva.engine.budget import Price, list_price
from viva.engine.consumption import Consumption
from viva.engine.folder import ModelRecord, RunFolder
from viva.engine.stages import RECORDED
from viva.errors import DataError
from viva.runs.open import prices_of
from viva.types import UNANSWERED
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.runs.item_scores import ScoreSet

_FEWEST = 10
"""Questions from which scatter is estimated at all."""


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
    """What the run varied, in words, "" for nothing. The answers are of its first combination, as a plain run asks."""
    asked: ModelRecord | None
    """The model that the run asked; None where nobody was asked, and so nothing is known of what answers take."""

    def measured(self) -> Measured:
        """The scatter of its score."""
        return measured(self.means, self.squares, self.counts, self.cluster)


def answers_of(one: ScoreSet, cluster: str | None) -> Answers:
    """Sum up a model's scores. Raises DataError where too few questions have one."""
    rows = one.scores.take(~one.scores.among("outcome", UNANSWERED))
    points, (groups, starts) = np.nan_to_num(rows.numbers["value"]), rows.groups("question")
    counts = np.bincount(groups, minlength=len(starts)).astype(np.float64)
    means = sums(points, groups, len(starts)) / counts
    if len(starts) < _FEWEST:
        raise DataError(
            f"{one.source}: {one_line(one.model, 60)} has scores of {len(starts)} questions of {one.exam}; a plan "
            f"takes {_FEWEST} at least"
        )
    question = rows.texts["question"]
    return Answers(
        model=one.model,
        source=one.source,
        benchmark=one.record.spec.benchmark if one.record else "",
        questions=[question.values[code] for code in question.codes[starts]],
        means=means,
        design=one.record.spec.vary.words if one.record and one.record.spec.vary is not UNSET else "",
        asked=one.opened if one.opened and one.opened.name.partition("/")[0] not in RECORDED else None,
        squares=sums((points - means[groups]) ** 2, groups, len(starts)),
        counts=counts,
        cluster=rows.texts[f"tag:{cluster}"].codes[starts].astype(np.int64) + 1 if cluster else None,
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
    """Of all pairs of models the one whose difference scatters as that of the median pair; None for one model, or where
    none shares questions."""
    pairs = [pair for pair in itertools.starmap(_paired, itertools.combinations(runs, 2)) if pair is not None]
    pairs.sort(key=lambda pair: pair.measured.scatter.error(1))
    return pairs[len(pairs) // 2] if pairs else None


def _paired(first: Answers, second: Answers) -> Pair | None:
    at = {question: number for number, question in enumerate(second.questions)}
    left = np.array([number for number, question in enumerate(first.questions) if question in at], dtype=np.int64)
    if len(left) < _FEWEST:
        return None
    right = np.array([at[first.questions[number]] for number in left], dtype=np.int64)
    means = first.means[left], second.means[right]
    found = measured_difference(
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
        measured=found,
        correlation=correlation,
        zero_one=first.zero_one and second.zero_one,
    )


def took(runs: Sequence[Answers], prices: Mapping[str, Price]) -> tuple[float | None, float | None]:
    """Seconds of wall time and US dollars of an answer, means over the runs that say so.

    `prices`: what the user says of models, "" for all; then what the runs remember, else vendors' list prices.
    """
    seconds: list[float] = []
    dollars: list[float] = []
    for source in dict.fromkeys(one.source for one in runs if one.asked):
        for consumption, span in _consumed(source, [one for one in runs if one.asked and one.source == source], prices):
            answers = len(consumption.seconds)
            if answers > 1 and span > 0:
                seconds.append(span / (answers - 1))
            cost = consumption.consumed().cost
            if cost is not None and consumption.replies:
                dollars.append(cost / consumption.replies)
    return (_mean(seconds), _mean(dollars))


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def _price(one: Answers, prices: Mapping[str, Price]) -> Price | None:
    provider, _, name = one.model.partition("/")
    if said := prices.get(one.model) or prices.get(""):
        return said
    own = one.asked is None or one.asked.base_url is not None  # whose list price would be somebody else's
    return None if own else list_price(provider, name)


def _consumed(source: Path, runs: Sequence[Answers], prices: Mapping[str, Price]) -> list[tuple[Consumption, float]]:
    """What each model's answers in a run took, and the seconds from its first timed answer to its last."""
    folder = RunFolder.open(source)
    known = prices_of(folder.record, prices)
    found = {(one.model, one.benchmark): Consumption(_price(one, known)) for one in runs}
    spans: dict[tuple[str, str], tuple[float, float]] = {}
    journal = folder.journal("responses", write=False)
    try:
        for entry in journal.entries():
            key = entry.model, entry.benchmark
            if key in found and not entry.reused:
                found[key].count(entry)
                if entry.seconds > 0 and entry.at and not entry.error and not entry.batch:
                    first, last = spans.get(key, (entry.at, entry.at))
                    spans[key] = min(first, entry.at), max(last, entry.at)
    finally:
        journal.close()
    return [(found[key], last - first) for key in found for first, last in (spans.get(key, (0.0, 0.0)),)]
