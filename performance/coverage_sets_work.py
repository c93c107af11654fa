"""What coverage.py simulates with: sets of scores with a known truth, their cells, and how often something holds."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from viva.analysis.breakdown import Breakdown, graded_as
from viva.analysis.columns import Columns, Text
from viva.analysis.comparing import Difference
from viva.analysis.estimate import Estimate
from viva.types import OUTCOMES, Aggregate

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
MEANS = (0.0, 0.02, 0.5, 0.98, 1.0)
WHOLE = Aggregate("")
MACRO = Aggregate("", over="group")
LEVEL = 0.05
ROWS = 1_000
"""Rows of a set up to which all the simulated sets are drawn; of larger sets there are fewer."""
FEWEST = 100
SPREAD = 1.5
"""Standard deviation over texts of the logit of being right."""
AT_ONCE = 20_000
"""Rows of a data frame: sets that share one do not know of each other."""
_ROUNDING = 1e-12


class Rate(NamedTuple):
    """How many of so many simulated sets; of an exact calculation `of` is 0 and `hits` the share."""

    hits: float
    of: int

    @property
    def share(self) -> float:
        return self.hits / self.of if self.of else self.hits

    @property
    def noise(self) -> float:
        """The standard error of the simulation."""
        return float(np.sqrt(self.share * (1 - self.share) / self.of)) if self.of else 0.0


class Row(NamedTuple):
    """A line of a table: a design, its size, and what was measured in each of the table's columns, if anything."""

    name: str
    n: int
    rates: Sequence[Rate | None]


class Study(NamedTuple):
    """A table: what was simulated, and its lines, each a function from (how many sets, size) to a row."""

    title: str
    text: str
    columns: Sequence[str]
    lines: Sequence[Callable[[int, int], Row]]
    ends: bool = True
    """Whether the truth is certain at means of 0 and 1, so that it must be held there always."""
    test: bool = False
    """Whether it counts false alarms of a test, not intervals that hold the truth."""
    sizes: Sequence[int] = ()
    """Sizes that have a meaning; empty for those that were asked for."""
    cost: int = 1
    """How many times as long as a plain cell a set takes: so many times fewer sets are simulated."""


class Shape(NamedTuple):
    """What is the same in all sets: how often each question is listed, the group it is averaged in, its text."""

    weights: Codes | None = None
    groups: Codes | None = None
    clusters: Codes | None = None


PLAIN = Shape()


def sets_of(repetitions: int, rows: int) -> int:
    """How many sets of so many rows are simulated."""
    return min(repetitions, max(FEWEST, repetitions * ROWS // max(ROWS, rows)))


def counted(hits: Sequence[bool] | NDArray[np.bool_]) -> Rate:
    """The share of True."""
    return Rate(float(np.sum(hits)), len(hits))


def inside(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval is there and holds the truth."""
    return low is not None and high is not None and low - _ROUNDING <= truth <= high + _ROUNDING


def held(estimates: Sequence[Estimate | Difference], truths: Floats | float) -> Rate:
    """How many of the sets' intervals hold the truth. Raises AssertionError where a set's numbers contradict."""
    for one in estimates:
        sound(one)
    every = np.broadcast_to(truths, len(estimates)).tolist()
    return counted([inside(one.low, one.high, truth) for one, truth in zip(estimates, every, strict=True)])


def sound(one: Estimate | Difference) -> None:
    """Raise AssertionError where an interval is reversed, leaves out its mean or its bounds, or is no number."""
    mean = one.mean if isinstance(one, Estimate) else one.difference
    ends = [one.low, one.floor, mean if mean is not None else one.floor, one.ceiling, one.high]
    line = [value for value in ends if value is not None]
    assert all(map(math.isfinite, line)), one
    assert all(left <= right + _ROUNDING for left, right in itertools.pairwise(line)), one
    assert not line or (line[0] >= -1 - _ROUNDING and line[-1] <= 1 + _ROUNDING), one


def frame_of(scores: Floats, shape: Shape = PLAIN) -> Columns:
    """Scores of sets × questions × answers, nan where lost, as a run's scores are (`analysis.breakdown.frame`)."""
    sets, questions, answers = scores.shape
    values, ones = scores.ravel(), np.ones(questions, dtype=np.int64)

    def each(codes: Codes) -> Codes:
        return np.tile(np.repeat(codes, answers), sets)

    numbers: dict[str, NDArray[Any]] = {
        "value": values,
        "repeat": np.zeros(len(values), dtype=np.int32),
        "weight": each(ones if shape.weights is None else shape.weights).astype(np.int32),
    }
    lost = np.where(np.isnan(values), OUTCOMES.index("error"), graded_as(values))
    texts: dict[str, Text] = {
        "question": _numbers(np.repeat(np.arange(sets * questions), answers)),
        "tag:set": _numbers(np.repeat(np.arange(sets), questions * answers)),
        "outcome": Text(OUTCOMES, lost.astype(np.int32)),
    }
    named = {"tag:group": shape.groups, "cluster": shape.clusters}
    texts |= {name: _numbers(each(codes)) for name, codes in named.items() if codes is not None}
    return Columns(numbers, texts)


def _numbers(codes: Codes) -> Text:
    return Text([str(number) for number in range(int(codes.max()) + 1)], codes.astype(np.int32))


def breakdowns(scores: Floats, line: Aggregate = WHOLE, shape: Shape = PLAIN) -> Iterator[tuple[Breakdown, Aggregate]]:
    """Every set of sets × questions × answers: a breakdown, and which of its questions are the set's.

    Several sets share a breakdown, unless one would learn of the others what more answers to a question add.
    """
    learns = line.attempts and bool(np.isnan(scores).any())
    step = 1 if learns else max(1, AT_ONCE // (scores.shape[1] * scores.shape[2]))
    for start in range(0, len(scores), step):
        part = scores[start : start + step]
        found = Breakdown(frame_of(part, shape))
        yield from ((found, Aggregate("", where={"set": (str(place),)})) for place in range(len(part)))


def cells(scores: Floats, line: Aggregate = WHOLE, shape: Shape = PLAIN) -> list[Estimate]:
    """Every set's cell."""
    if len(scores) > 1 and np.array_equal(scores, np.broadcast_to(scores[:1], scores.shape), equal_nan=True):
        return cells(scores[:1], line, shape) * len(scores)
    return [found.cell(line, its) for found, its in breakdowns(scores, line, shape)]


def questions_of(scores: Floats, line: Aggregate = WHOLE, shape: Shape = PLAIN) -> Iterator[Columns]:
    """Every set's questions, as what compares models takes them: the n-th has one name in all sets."""
    for found, its in breakdowns(scores, line, shape):
        own = found.questions(line, its)
        names = own.texts["question"]
        yield Columns(own.numbers, {**own.texts, "question": Text(names.values, names.codes % scores.shape[1])})


def drawn(dice: np.random.Generator, kind: str, shape: tuple[int, int], mean: float | Floats) -> Floats:
    """Draw the scores of sets × questions whose expected mean is `mean` (one, or one a question).

    "once": right or wrong. "ten answers": right or wrong, and each question's answers mostly agree (its chance is from
    the beta distribution with a + b = ½). "fractions": as F1 has them, seven in ten are all or nothing, the others
    anything between.
    """
    p = np.broadcast_to(np.asarray(mean, dtype=float), shape)
    certain = (p <= 0) | (p >= 1)
    inner = np.where(certain, 0.5, p)
    if kind == "once":
        return (dice.random(shape) < p).astype(float)[:, :, None]
    if kind == "ten answers":
        chance = np.where(certain, p, dice.beta(0.5 * inner, 0.5 * (1 - inner)))
        return (dice.random((*shape, 10)) < chance[:, :, None]).astype(float)
    between = np.where(certain, p, np.round(dice.beta(2 * inner, 2 * (1 - inner)), 4))
    return np.where(dice.random(shape) < 0.7, dice.random(shape) < p, between).astype(float)[:, :, None]


def lost(dice: np.random.Generator, scores: Floats, share: float, mean: float, *, hard: bool) -> Floats:
    """The scores with nan where an answer is lost: any as likely, or wrong ones three times as often as right ones."""
    odds = share * (3 - 2 * scores) / (3 - 2 * mean) if hard else share
    return np.where(dice.random(scores.shape) < odds, np.nan, scores)


_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)


def expected(middle: float, spread: float = SPREAD) -> float:
    """The mean of the chances whose logits are normal around `middle`."""
    return float(expit(middle + spread * _NODES) @ _WEIGHTS / _WEIGHTS.sum())


def middle_of(mean: float) -> float:
    """Around which logit the chances have this mean."""
    return float(brentq(lambda middle: expected(middle) - mean, -30, 30))
