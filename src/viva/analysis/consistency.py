"""Cronbach's alpha: how reliable the mean (or sum) of several raters is.

    alpha = k / (k − 1) · (1 − Σ s²_rater / s²_sum)

over the items that all k raters rated. It is the share of the mean's variance that would return if other raters of the
kind gave the marks, and blind to a rater who is always stricter by as much: that is consistency, not agreement.

Cronbach (1951), Psychometrika 16:297-334. The interval is Feldt's (1965, Psychometrika 30:357-370): (1 − α)/(1 − α̂) as
an F of n − 1 and (n − 1)(k − 1) degrees of freedom, for marks that are about normal with raters of equal reliability.
Else it is that of `tilting`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from viva.analysis.measure import Measure, bounded
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, usable, valued
from viva.analysis.uncertainty import LEVEL, Interval


def cronbach(rows: Rows, questions: Sequence[int], *, normal: bool = True) -> Measure:
    """Alpha of items × raters, over complete items; `left_out` counts the others. Feldt's interval where `normal`."""
    measure, values, asked = usable("cronbach", rows, questions)
    none = "the raters' sums do not vary from item to item"
    if not normal:
        return estimated(measure, values, asked, _alpha, none)
    found = valued(measure, values, _alpha, none)
    if found.value is None:
        return found
    interval = feldt(found.value, found.n, values.shape[1])
    reason = "the raters agree in full: an interval would have no width"
    return bounded(found, interval, "Feldt", reason)


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
