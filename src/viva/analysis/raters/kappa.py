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
from functools import partial

import numpy as np
from msgspec.structs import replace

from viva.analysis.estimate import mean_of
from viva.analysis.raters.measure import Kind, Measure, bounded
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, usable

MOST_MARKS = 100
"""Different marks up to which a measure on categories makes sense, and fits into memory."""
_WEIGHTS: dict[Kind, int] = {"kappa": 0, "kappa_linear": 1, "kappa_quadratic": 2}

Column = Sequence[float | None]
"""A rater's mark an item; None where there is none."""


def cohen(first: Column, second: Column, questions: Sequence[int], kind: Kind = "kappa") -> Measure:
    """Cohen's kappa of two raters over the items that both rated. `kind` says how disagreement weighs."""
    found = usable(kind, list(zip(first, second, strict=True)), questions, most=MOST_MARKS)
    none = "both raters gave one and the same mark to every item: chance agrees as well"
    return estimated(*found, partial(_cohen, power=_WEIGHTS[kind]), none)


def distances(marks: Sequence[float] | Floats, power: int) -> Floats:
    """How far each mark is from each other: 0 or 1 (power 0), |a − b| (1), (a − b)² (2)."""
    apart = np.abs(np.subtract.outer(np.asarray(marks, dtype=float), np.asarray(marks, dtype=float)))
    found: Floats = (apart > 0).astype(float) if power == 0 else apart**power
    return found


def fleiss(rows: Rows, questions: Sequence[int]) -> Measure:
    """Fleiss' kappa over the items that every rater rated."""
    found = usable("fleiss", rows, questions, most=MOST_MARKS)
    return estimated(*found, _fleiss, "every rating is the same mark: chance agrees as well")


def agreement(rows: Rows, questions: Sequence[int]) -> Measure:
    """The share of pairs of ratings of an item that are equal, a mean over items with two ratings and more.

    The interval is that of a mean score over questions (`estimate`).
    """
    measure, values, asked = usable("agreement", rows, questions, 2)
    if measure.reason:
        return measure
    counts = (values[:, :, None] == np.unique(values[np.isfinite(values)])).sum(axis=1)
    sizes = counts.sum(axis=1)
    shares = (counts * (counts - 1)).sum(axis=1) / (sizes * (sizes - 1))
    around = mean_of(shares, asked).interval()
    return bounded(replace(measure, value=float(shares.mean())), around, "Wilson")


def confusion(first: Column, second: Column, scale: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """How often the first gave each mark of the scale (rows) where the second gave each (columns)."""
    places = {mark: index for index, mark in enumerate(scale)}
    table = [[0] * len(scale) for _ in scale]
    for a, b in zip(first, second, strict=True):
        if a is not None and b is not None:
            table[places[a]][places[b]] += 1
    return tuple(map(tuple, table))


def _cohen(values: Floats, power: int) -> Statistic:
    marks, codes = np.unique(values, return_inverse=True)
    a, b = codes.reshape(values.shape).T
    distance, one_hot = distances(marks, power), np.eye(len(marks))
    apart, ones_a, ones_b = distance[a, b], one_hot[a], one_hot[b]

    def statistic(weights: Weights) -> Floats:
        total = weights.sum(axis=1)
        expected = (weights @ ones_a @ distance * (weights @ ones_b)).sum(axis=1)
        return _beyond(weights @ apart * total, expected)

    return statistic


def _fleiss(values: Floats) -> Statistic:
    counts = (values[:, :, None] == np.unique(values)).sum(axis=1).astype(float)
    raters = values.shape[1]
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
