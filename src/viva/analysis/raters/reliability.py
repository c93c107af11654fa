"""Cronbach's alpha: how reliable the mean (or sum) of several raters is.

    alpha = k / (k − 1) · (1 − Σ s²_rater / s²_sum)

over the items that all k raters rated. It is the share of the mean's variance that would return if other raters of the
kind gave the marks, and blind to a rater who is always stricter by as much: that is consistency, not agreement.

Cronbach (1951), Psychometrika 16:297-334. The interval is that of `tilting`.

Intraclass correlation: which share of the marks' variance comes from the items, in absolute agreement.

Two-way random effects, absolute agreement: raters are a sample of those who could have marked, and one who is always
stricter by as much costs agreement. With the mean squares of rows (items), columns (raters) and error of n × k marks

    single = (MSR − MSE) / (MSR + (k − 1) MSE + k (MSC − MSE) / n)      one rater's mark: ICC(2,1), ICC(A,1)
    mean   = (MSR − MSE) / (MSR + (MSC − MSE) / n)                      the mean of these k: ICC(2,k), ICC(A,k)

over the items that all k raters rated. Shrout and Fleiss (1979), Psychological Bulletin 86:420-428; McGraw and Wong
(1996), Psychological Methods 1:30-46. The interval is that of `tilting`, for these raters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from viva.analysis.raters.measure import Measure, bounded
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, usable


def cronbach(rows: Rows, questions: Sequence[int]) -> Measure:
    """Alpha of items × raters, over complete items; `left_out` counts the others."""
    return estimated(*usable("cronbach", rows, questions), _cronbach, "the raters' sums do not vary from item to item")


def _cronbach(values: Floats) -> Statistic:
    raters = values.shape[1]
    centred = values - values.mean(axis=0)
    sums = centred.sum(axis=1)

    def spread(weights: Weights, column: Floats) -> Floats:
        """Squared deviations, weighted."""
        total = weights.sum(axis=1)
        found: Floats = weights @ column**2 - (weights @ column) ** 2 / np.where(total > 0, total, 1.0)
        return found

    def statistic(weights: Weights) -> Floats:
        whole = spread(weights, sums)
        parts = np.sum([spread(weights, column) for column in centred.T], axis=0)
        some = whole > 1e-12 * max(1e-300, float((values**2).sum()))
        return np.where(some, raters / (raters - 1) * (1 - parts / np.where(some, whole, 1.0)), np.nan)

    return statistic


IntraclassKind = Literal["icc", "icc_mean"]


def intraclass(rows: Rows, kind: IntraclassKind, questions: Sequence[int]) -> Measure:
    """The correlation of one rater (`icc`) or of their mean (`icc_mean`), items × raters, over complete items.

    `left_out` counts the others.
    """
    measure, values, asked = usable(kind, rows, questions)
    if not measure.reason and float(np.ptp(values)) < 1e-12:
        return bounded(measure, None, "", "every rating is the same mark: there is no variance to share out")

    def coefficient(values: Floats) -> Statistic:
        centred, raters = values - values.mean(), values.shape[1]
        return lambda weights: _correlation(kind, _mean_squares(centred, weights), weights.sum(axis=1), raters)

    none = "the raters agree less than chance would: their mean has no reliability"
    return estimated(measure, values, asked, coefficient, none)


def _mean_squares(values: Floats, weights: Weights) -> tuple[Floats, Floats, Floats]:
    """Mean squares of items, raters and error, a value a distribution."""
    raters = values.shape[1]
    total = np.maximum(weights.sum(axis=1), 2.0)  # one item has no mean squares; nan comes of it below
    means = values.mean(axis=1)
    grand = weights @ means / total
    columns = weights @ values / total[:, None]
    rows = raters * (weights @ means**2 - total * grand**2)
    raters_sum = total * ((columns - grand[:, None]) ** 2).sum(axis=1)
    error = np.maximum(0.0, weights @ (values**2).sum(axis=1) - raters * total * grand**2 - rows - raters_sum)
    return rows / (total - 1), raters_sum / (raters - 1), error / ((total - 1) * (raters - 1))


def _correlation(
    kind: IntraclassKind, mean_squares: tuple[Floats, Floats, Floats], items: Floats, raters: int
) -> Floats:
    rows, columns, error = mean_squares
    across = (columns - error) / np.maximum(items, 2.0)
    whole = rows + across if kind == "icc_mean" else rows + (raters - 1) * error + raters * across
    some = (whole > 1e-12 * np.maximum(rows + columns + error, 1e-300)) & (items > 1)
    return np.where(some, (rows - error) / np.where(some, whole, 1.0), np.nan)
