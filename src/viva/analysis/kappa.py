"""Agreement beyond chance on a scale of few marks: Cohen's kappa (two raters) and Fleiss' kappa (several).

    kappa = 1 − D_o / D_e

D_o is the mean distance of two marks of one item, D_e the mean distance to expect of marks drawn by chance. Unweighted,
a distance is 0 (equal) or 1. Weighted, it is |a − b| (linear) or (a − b)² (quadratic) of the marks themselves, so that
a mark of the scale that nobody gave changes nothing; on evenly spaced marks that is the usual weighting by place.

Cohen (1960), Educational and Psychological Measurement 20:37-46: chance is each rater's own distribution of marks.
Cohen (1968), Psychological Bulletin 70:213-220: weights. Fleiss (1971), Psychological Bulletin 76:378-382: chance is
the distribution of all marks, and the raters of one item need not be those of the next.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from viva.analysis.measure import Kind, Measure, bounded
from viva.analysis.resampling import NAME, Floats, Resampler, Statistic, Weights
from viva.analysis.uncertainty import zero_one_interval

MOST_MARKS = 100
"""Different marks up to which a measure on categories makes sense, and fits into memory."""
_WEIGHTS: dict[Kind, int] = {"kappa": 0, "kappa_linear": 1, "kappa_quadratic": 2}

Column = Sequence[float | None]
"""A rater's mark an item; None where there is none."""


def cohen(first: Column, second: Column, resampler: Resampler, kind: Kind = "kappa") -> Measure:
    """Cohen's kappa of two raters over the items that both rated. `kind` says how disagreement weighs."""
    both = _both(first, second)
    left_out = len(first) - len(both)
    a, b = (np.array([column[index] for index in both], dtype=float) for column in (first, second))
    none = Measure(kind=kind, value=None, n=len(both), left_out=left_out)
    marks = np.unique(np.concatenate([a, b]))
    if reason := _unusable(len(both), marks):
        return bounded(none, None, "", reason)
    statistic = _cohen(np.searchsorted(marks, a), np.searchsorted(marks, b), distances(marks, _WEIGHTS[kind]))
    value = float(statistic(np.ones((1, len(both))))[0])
    if not np.isfinite(value):
        return bounded(none, None, "", "both raters gave one and the same mark to every item: chance agrees as well")
    interval, reason = resampler.interval(statistic, both, value)
    return bounded(Measure(kind=kind, value=value, n=len(both), left_out=left_out), interval, NAME, reason)


def distances(marks: Sequence[float] | Floats, power: int) -> Floats:
    """How far each mark is from each other: 0 or 1 (power 0), |a − b| (1), (a − b)² (2)."""
    apart = np.abs(np.subtract.outer(np.asarray(marks, dtype=float), np.asarray(marks, dtype=float)))
    found: Floats = (apart > 0).astype(float) if power == 0 else apart**power
    return found


def fleiss(rows: Sequence[Column], resampler: Resampler) -> Measure:
    """Fleiss' kappa over the items that every rater rated."""
    complete = [index for index, row in enumerate(rows) if row and all(value is not None for value in row)]
    left_out = len(rows) - len(complete)
    values = np.array([rows[index] for index in complete], dtype=float)
    none = Measure(kind="fleiss", value=None, n=len(complete), left_out=left_out)
    if rows and len(rows[0]) < 2:
        return bounded(none, None, "", "it takes two raters")
    marks = np.unique(values)
    if reason := _unusable(len(complete), marks):
        return bounded(none, None, "", reason)
    counts = (values[:, :, None] == marks[None, None, :]).sum(axis=1).astype(float)
    value = kappa_of_counts(counts)
    if value is None:
        return bounded(none, None, "", "every rating is the same mark: chance agrees as well")
    interval, reason = resampler.interval(_fleiss(counts), complete, value)
    return bounded(Measure(kind="fleiss", value=value, n=len(complete), left_out=left_out), interval, NAME, reason)


def kappa_of_counts(counts: Sequence[Sequence[float]] | Floats) -> float | None:
    """Fleiss' kappa from how many raters gave each item each mark: items × marks, every row of the same sum."""
    table = np.asarray(counts, dtype=float)
    value = float(_fleiss(table)(np.ones((1, len(table))))[0])
    return value if np.isfinite(value) else None


def agreement(rows: Sequence[Column], resampler: Resampler) -> Measure:
    """The share of pairs of ratings of an item that are equal, a mean over items with two ratings and more.

    Wilson's interval for two raters, where it is a share of items; else a bootstrap.
    """
    pairs = [[value for value in row if value is not None] for row in rows]
    usable = [index for index, row in enumerate(pairs) if len(row) > 1]
    shares = np.array([_equal_pairs(pairs[index]) for index in usable])
    measure = Measure(kind="agreement", value=None, n=len(usable), left_out=len(rows) - len(usable))
    if not usable:
        return bounded(measure, None, "", "no item has two ratings")
    value = float(shares.mean())
    found = Measure(kind="agreement", value=value, n=measure.n, left_out=measure.left_out)
    if resampler.single and all(len(pairs[index]) == 2 for index in usable):
        return bounded(found, zero_one_interval(float(shares.sum()), len(usable)), "Wilson")
    interval, reason = resampler.interval(lambda weights: _mean(weights, shares), usable, value)
    return bounded(found, interval, NAME, reason)


def confusion(first: Column, second: Column, scale: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """How often the first gave each mark of the scale (rows) where the second gave each (columns)."""
    places = {mark: index for index, mark in enumerate(scale)}
    table = [[0] * len(scale) for _ in scale]
    for a, b in zip(first, second, strict=True):
        if a is not None and b is not None:
            table[places[a]][places[b]] += 1
    return tuple(map(tuple, table))


def _both(first: Column, second: Column) -> list[int]:
    pairs = zip(first, second, strict=True)
    return [index for index, (a, b) in enumerate(pairs) if a is not None and b is not None]


def _unusable(items: int, marks: Floats) -> str:
    if items < 2:
        return f"it takes two items that all have rated; there {'is one' if items else 'are none'}"
    if len(marks) > MOST_MARKS:
        return f"{len(marks):,} different marks are no scale of categories: name one with --scale"
    return ""


def _cohen(a: NDArray[np.int64], b: NDArray[np.int64], distance: Floats) -> Statistic:
    apart = distance[a, b]
    ones_a, ones_b = np.eye(len(distance))[a], np.eye(len(distance))[b]

    def statistic(weights: Weights) -> Floats:
        total = weights.sum(axis=1)
        expected = (weights @ ones_a @ distance * (weights @ ones_b)).sum(axis=1)
        return _beyond(weights @ apart * total, expected)

    return statistic


def _fleiss(counts: Floats) -> Statistic:
    raters = float(counts[0].sum())
    equal = ((counts**2).sum(axis=1) - raters) / (raters * (raters - 1))

    def statistic(weights: Weights) -> Floats:
        total = weights.sum(axis=1)
        expected = total**2 - ((weights @ counts / raters) ** 2).sum(axis=1)
        return _beyond((total - weights @ equal) * total, expected)

    return statistic


def _beyond(observed: Floats, expected: Floats) -> Floats:
    """1 − observed / expected; nan where nothing is to be expected."""
    some = expected > 1e-12
    return np.where(some, 1 - observed / np.where(some, expected, 1.0), np.nan)


def _equal_pairs(values: Sequence[float]) -> float:
    counts: dict[float, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    return sum(count * (count - 1) for count in counts.values()) / (len(values) * (len(values) - 1))


def _mean(weights: Weights, values: Floats) -> Floats:
    total = weights.sum(axis=1)
    return np.where(total > 0, weights @ values / np.where(total > 0, total, 1.0), np.nan)
