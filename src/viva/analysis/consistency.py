"""Cronbach's alpha: how reliable the mean (or sum) of several raters is.

    alpha = k / (k − 1) · (1 − Σ s²_rater / s²_sum)

over the items that all k raters rated. It is the share of the mean's variance that would return if other raters of the
kind gave the marks, and blind to a rater who is always stricter by as much: that is consistency, not agreement.

Cronbach (1951), Psychometrika 16:297-334. The interval is Feldt's (1965, Psychometrika 30:357-370): (1 − α)/(1 − α̂) as
an F of n − 1 and (n − 1)(k − 1) degrees of freedom, for marks that are about normal with raters of equal reliability.
Else it is
a bootstrap.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viva.analysis.measure import Kind, Measure, bounded
from viva.analysis.resampling import NAME, Floats, Resampler, Statistic, Weights
from viva.analysis.uncertainty import LEVEL, Interval


def complete_ratings(rows: Sequence[Sequence[float | None]], kind: Kind) -> tuple[Measure, list[int]]:
    """A measure without a value, and the places of the items that all raters have rated.

    No place where they are too few for any coefficient; the measure then says why.
    """
    complete = [index for index, row in enumerate(rows) if row and all(value is not None for value in row)]
    none = Measure(kind=kind, value=None, n=len(complete), left_out=len(rows) - len(complete))
    if not rows or len(rows[0]) < 2:
        return bounded(none, None, "", "it takes two raters"), []
    if len(complete) < 2:
        return bounded(none, None, "", "it takes two items that all have rated"), []
    return none, complete


def cronbach(rows: Sequence[Sequence[float | None]], resampler: Resampler, *, normal: bool = True) -> Measure:
    """Alpha of items × raters, over complete items; `left_out` counts the others. Feldt's interval where `normal`."""
    none, complete = complete_ratings(rows, "cronbach")
    if not complete:
        return none
    values = np.array([rows[index] for index in complete], dtype=float)
    statistic = _alpha(values)
    value = float(statistic(np.ones((1, len(complete))))[0])
    if not np.isfinite(value):
        return bounded(none, None, "", "the raters' sums do not vary from item to item")
    found = Measure(kind="cronbach", value=value, n=none.n, left_out=none.left_out)
    if normal:
        interval = feldt(value, len(complete), values.shape[1])
        return bounded(found, interval, "Feldt", "the raters agree in full: an interval would have no width")
    drawn, reason = resampler.interval(statistic, complete, value)
    return bounded(found, drawn, NAME, reason)


def feldt(alpha: float, items: int, raters: int) -> Interval | None:
    """Feldt's 95 % interval; None where it has no width."""
    from scipy.special import fdtri

    if 1 - alpha < 1e-12:
        return None
    above, within = items - 1, (items - 1) * (raters - 1)
    low, high = (float(fdtri(above, within, share)) for share in ((1 + LEVEL) / 2, (1 - LEVEL) / 2))
    return 1 - (1 - alpha) * low, 1 - (1 - alpha) * high


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
