"""Cronbach's alpha: how reliable the mean (or sum) of several raters is.

    alpha = k / (k − 1) · (1 − Σ s²_rater / s²_sum)

over the items that all k raters rated. It is the share of the mean's variance that would return if other raters of the
kind gave the marks, and blind to a rater who is always stricter by as much: that is consistency, not agreement.

Cronbach (1951), Psychometrika 16:297-334. The interval is that of `tilting`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viva.analysis.measure import Measure
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, usable


def cronbach(rows: Rows, questions: Sequence[int]) -> Measure:
    """Alpha of items × raters, over complete items; `left_out` counts the others."""
    return estimated(*usable("cronbach", rows, questions), _alpha, "the raters' sums do not vary from item to item")


def _alpha(values: Floats) -> Statistic:
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
