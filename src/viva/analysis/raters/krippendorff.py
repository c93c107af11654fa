"""Krippendorff's alpha: agreement beyond chance of any number of raters, whatever is missing.

    alpha = 1 − D_o / D_e

D_o is the mean δ² of two marks of one item, each item weighing as many marks as it has; D_e that of any two of all the
marks. Items with a single mark tell nothing of agreement and are left out. δ² is 0 or 1 (nominal), (a − b)² (interval),
or the squared number of marks between two, counted with half of those equal to either (ordinal), which is the squared
difference of their mid-ranks.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania. The interval tilts items
(see `tilting`), where Hayes and Krippendorff (2007) draw distances of pairs and take D_e as known.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Literal

import numpy as np

from viva.analysis.raters.measure import Measure
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, midranks, usable

Level = Literal["nominal", "ordinal", "interval"]
_ENTRIES = 2_000_000
"""Distributions × items × raters that are held at once."""


def krippendorff(rows: Rows, level: Level, questions: Sequence[int]) -> Measure:
    """Alpha of items × raters; `level` says what a difference of two marks means."""
    found = usable("krippendorff", rows, questions, 2)
    none = "every rating is the same mark: there is nothing to tell items apart by"
    return estimated(*found, partial(alpha_of, level=level), none)


def alpha_of(values: Floats, level: Level) -> Statistic:
    """Alpha as a function of the items' weights. `values`: items × raters, nan where missing, each row with two marks.

    With n marks, m of them of one item, alpha is 1 − (n − 1) Σ_items (Σ_pairs δ²) / (m − 1) / Σ_pairs of all δ².
    """
    marks = np.unique(values[np.isfinite(values)])
    codes = np.where(np.isfinite(values), np.searchsorted(marks, np.nan_to_num(values)), -1).astype(np.int64)
    given = codes >= 0
    sizes = given.sum(axis=1)

    def observed(places: Floats) -> Floats:
        """Σ_pairs δ² / (m − 1) an item, both orders counted; `places` (… × items × raters) on an interval scale."""
        held = np.where(given, places, 0.0)
        found: Floats = 2 * (sizes * (held**2).sum(axis=-1) - held.sum(axis=-1) ** 2) / (sizes - 1)
        return found

    if level == "nominal":
        counts = np.zeros((len(values), len(marks)))
        for column in codes.T:
            counts[np.nonzero(column >= 0)[0], column[column >= 0]] += 1
        differing = (sizes**2 - (counts**2).sum(axis=1)) / (sizes - 1)
        return lambda weights: _alpha(
            weights @ differing,
            (weights @ sizes) ** 2 - ((weights @ counts) ** 2).sum(axis=1),
            weights @ sizes,
        )
    if level == "interval":
        # From -1 to 1: sums of squares of large marks would lose their digits.
        centred = np.where(given, (values - marks.mean()) / max(float(np.ptp(marks)), 1e-300), 0.0)
        apart, sums, squares = observed(centred), centred.sum(axis=1), (centred**2).sum(axis=1)
        return lambda weights: _alpha(
            weights @ apart,
            2 * ((weights @ sizes) * (weights @ squares) - (weights @ sums) ** 2),
            weights @ sizes,
        )

    def ordinal(weights: Weights) -> Floats:
        step = max(1, _ENTRIES // values.size)
        found = []
        for start in range(0, len(weights), step):
            some = weights[start : start + step]
            total = some @ sizes
            ranks = midranks(some, codes, len(marks)) - total[:, None] / 2
            places = np.where(given, ranks[:, np.maximum(codes, 0)], 0.0)
            apart = (some * observed(places)).sum(axis=1)
            sums = (some * places.sum(axis=-1)).sum(axis=1)
            squares = (some * (places**2).sum(axis=-1)).sum(axis=1)
            found.append(_alpha(apart, 2 * (total * squares - sums**2), total))
        return np.concatenate(found)

    return ordinal


def _alpha(observed: Floats, expected: Floats, total: Floats) -> Floats:
    some = expected > 1e-12 * np.maximum(1.0, total) ** 2
    return np.where(some, 1 - (total - 1) * observed / np.where(some, expected, 1.0), np.nan)
