"""What coverage.py simulates with: sets of scores with a known truth, their cells, and how often something holds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import comb

from viva.analysis.breakdown import Breakdown, _Group, _macro_interval
from viva.analysis.columns import Columns, Text
from viva.analysis.marks import graded_as
from viva.analysis.uncertainty import LEVEL, Z, identified_level, interval_of_scores
from viva.types import OUTCOMES, Aggregate

Floats = NDArray[np.float64]
MEANS = (0.0, 0.02, 0.5, 0.98, 1.0)
ROWS = 1_000
"""Rows of a set up to which what goes through data frames has all the simulated sets; of larger sets it has fewer."""
FEWEST = 100
CHECKED = 1
"""Sets of each cell that go through `Breakdown`, too; raises where that has another cell."""
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


def sets_of(repetitions: int, rows: int) -> int:
    """How many sets of so many rows are simulated where each goes through data frames."""
    return min(repetitions, max(FEWEST, repetitions * ROWS // max(ROWS, rows)))


def counted(hits: Sequence[bool] | NDArray[np.bool_]) -> Rate:
    """The share of True."""
    return Rate(float(np.sum(hits)), len(hits))


def inside(low: float | None, high: float | None, truth: float) -> bool:
    """Whether an interval is there and holds the truth."""
    return low is not None and high is not None and low - _ROUNDING <= truth <= high + _ROUNDING


def holds(low: Floats, high: Floats, truth: Floats | float) -> NDArray[np.bool_]:
    """The same of many sets."""
    found: NDArray[np.bool_] = (low - _ROUNDING <= truth) & (truth <= high + _ROUNDING)
    return found


def frame_of(
    scores: Floats, *, weights: NDArray[np.int64] | None = None, groups: NDArray[np.int64] | None = None
) -> Columns:
    """Scores of sets × questions × answers, nan where lost, as a run's scores are (`analysis.breakdown.frame`).

    `weights` and `groups` are those of the questions, the same in all sets.
    """
    sets, questions, answers = scores.shape
    values, weight = scores.ravel(), np.ones(questions) if weights is None else weights
    numbers = {
        "value": values,
        "repeat": np.zeros(len(values), dtype=np.int32),
        "weight": np.tile(np.repeat(weight, answers), sets).astype(np.int32),
    }
    lost = np.where(np.isnan(values), OUTCOMES.index("error"), graded_as(values))
    texts = {
        "question": _numbers(np.repeat(np.arange(sets * questions), answers)),
        "tag:set": _numbers(np.repeat(np.arange(sets), questions * answers)),
        "outcome": Text(OUTCOMES, lost.astype(np.int32)),
    }
    if groups is not None:
        texts["tag:group"] = _numbers(np.tile(np.repeat(groups, answers), sets))
    return Columns(numbers, texts)


def _numbers(codes: NDArray[np.int64]) -> Text:
    return Text([str(number) for number in range(int(codes.max()) + 1)], codes.astype(np.int32))


class Cells(NamedTuple):
    """The cells of many sets: one entry a set, nan where there is none."""

    mean: Floats
    low: Floats
    high: Floats
    floor: Floats
    ceiling: Floats
    complete: NDArray[np.bool_]


def cells(
    scores: Floats,
    line: Aggregate,
    *,
    weights: NDArray[np.int64] | None = None,
    groups: NDArray[np.int64] | None = None,
    levels: Floats | None = None,
) -> Cells:
    """Every set's cell. Sums are taken of all sets at once, intervals by the functions that `Breakdown` calls.

    `levels` are those of the intervals, one a set, 95 % where there are none: then the first sets go through
    `Breakdown` as well; raises AssertionError where that has another cell.
    """
    each = np.full(len(scores), LEVEL) if levels is None else levels
    if (
        levels is None
        and len(scores) > 1
        and np.array_equal(scores, np.broadcast_to(scores[:1], scores.shape), equal_nan=True)
    ):
        alike = cells(scores[:1], line, weights=weights, groups=groups)
        return Cells(*(np.repeat(part, len(scores)) for part in alike))
    sets, questions, answers = scores.shape
    weight = np.ones(questions) if weights is None else weights.astype(float)
    n, points, answered, floor, ceiling = _of_questions(scores, line.attempts)
    heard = answered > 0
    whole = ((points == 0) | (points == answered)).all(axis=1) & (answered <= 1).all(axis=1) & (weight == 1).all()
    if answers > 1 and not line.attempts.startswith(("best", "pass")):
        whole &= answers == 1
    p, a, lowest, highest = points * weight, answered * weight, floor * weight, ceiling * weight
    total = float((n * weight).sum())
    if line.over:
        assert groups is not None
        mean, low, high, least, most = _macro(p, a, lowest, highest, n * weight, heard, groups, each)
    else:
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = p.sum(axis=1) / a.sum(axis=1)
        squares = np.maximum(0.0, ((p - mean[:, None] * a) ** 2).sum(axis=1))
        around = [
            (interval_of_scores(m, s, int(q), c, level, zero_one=bool(z)) if q else None) or (np.nan, np.nan)
            for m, s, q, c, z, level in zip(mean, squares, heard.sum(axis=1), a.sum(axis=1), whole, each, strict=True)
        ]
        low, high = np.array(around).T
        least, most = lowest.sum(axis=1) / total, highest.sum(axis=1) / total
    found = Cells(mean, low, high, least, most, ~np.isnan(scores).any(axis=(1, 2)))
    for place in range(min(CHECKED, sets) if levels is None else 0):
        one = Breakdown(frame_of(scores[place : place + 1], weights=weights, groups=groups)).cell(line)
        theirs = [np.nan if value is None else value for value in (one.mean, one.low, one.high, one.floor, one.ceiling)]
        assert np.allclose(theirs, [part[place] for part in found[:5]], atol=1e-7, equal_nan=True), (line, one, place)
        assert one.complete == found.complete[place]
    return found


def identified(scores: Floats, line: Aggregate, *, groups: NDArray[np.int64] | None = None) -> tuple[Floats, Floats]:
    """Every set's interval of the mean whatever became of what was lost, by which the leaderboard ranks.

    The first sets go through `Breakdown` as well: raises AssertionError where that has another interval.
    """
    ends = [np.nan_to_num(scores, nan=filler) for filler in (0.0, 1.0)]
    least, most = (cells(end, line, groups=groups) for end in ends)
    doubt = np.maximum(least.mean - least.low, most.high - most.mean) / Z
    levels = np.array([identified_level(*both) for both in zip(most.mean - least.mean, doubt, strict=True)])
    low, high = (
        cells(ends[0], line, groups=groups, levels=levels).low,
        cells(ends[1], line, groups=groups, levels=levels).high,
    )
    for place in range(min(CHECKED, len(scores))):
        one = Breakdown(frame_of(scores[place : place + 1], groups=groups)).cell(line)
        if not one.complete and one.least_low is not None and one.most_high is not None:
            assert np.allclose((low[place], high[place]), (one.least_low, one.most_high), atol=1e-7), (line, one, place)
    return low, high


def _of_questions(scores: Floats, attempts: str) -> tuple[float, Floats, Floats, Floats, Floats]:
    """How many answers a question counts for, and each question's points, answers that are known, and bounds.

    Best@k and pass@k only of scores of 0 and 1, whose value is the chance that one of k drawn is right.
    """
    known = ~np.isnan(scores)
    heard, right = known.sum(axis=2), np.nansum(scores, axis=2)
    answers = scores.shape[2]
    lost = answers - heard
    if not attempts:
        return float(answers), right, heard.astype(float), right, right + lost
    count = int(attempts.partition("@")[2] or answers)

    def drawn_right(right: Floats, of: NDArray[np.int64]) -> Floats:
        take = np.minimum(count, of)
        found: Floats = 1 - comb(of - right, take) / np.maximum(comb(of, take), 1)
        return np.where(of > 0, found, 0.0)

    every = np.full_like(heard, answers)
    return (
        1.0, drawn_right(right, heard), (heard > 0).astype(float), drawn_right(right, every),
        drawn_right(right + lost, every),
    )  # fmt: skip


def _macro(
    points: Floats, answered: Floats, floor: Floats, ceiling: Floats, n: Floats, heard: NDArray[np.bool_],
    groups: NDArray[np.int64], levels: Floats,
) -> tuple[Floats, Floats, Floats, Floats, Floats]:  # fmt: skip
    ones = (groups[:, None] == np.arange(groups.max() + 1)).astype(float)
    p, a, q = points @ ones, answered @ ones, heard @ ones
    with np.errstate(invalid="ignore", divide="ignore"):
        means = p / a
        each = (a / q) ** 2
        squares = (points - np.nan_to_num(means)[:, groups] * answered) ** 2 @ ones / each
    total = n @ ones if np.ndim(n) else float(n) * ones.sum(axis=0)
    bounds = ((floor @ ones) / total).mean(axis=1), ((ceiling @ ones) / total).mean(axis=1)
    mean = np.nanmean(means, axis=1)
    around = [
        _macro_interval(
            middle,
            [_Group(m, int(c), max(0.0, s)) for m, c, s in zip(*row, strict=True) if c],
            level,
            "shares",
        )
        or (np.nan, np.nan)
        for middle, level, *row in zip(
            mean.tolist(), levels.tolist(), means.tolist(), q.tolist(), squares.tolist(), strict=True
        )
    ]
    low, high = np.array(around).T
    return mean, low, high, *bounds


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


def answers_of(kind: str) -> int:
    return 10 if kind == "ten answers" else 1
