"""Gwet's AC1 and AC2: agreement beyond chance that one common mark does not pull to 0.

    AC = (p_a − p_e) / (1 − p_e),    p_e = T / (q (q − 1)) · Σ_k π_k (1 − π_k)

p_a is the mean agreement of two marks of an item, over items with two and more; π_k the share of mark k, each item with
a mark weighing alike; q the marks of the scale, whether anybody gave them or not; T the sum of all weights of agreement
(of equal marks alone for AC1: q). Chance agreement is that of raters who guess on hard items, and it is least where one
mark is common: of nearly equal marks of which nine in ten are the same, kappa is low and AC is not.

AC1: marks are equal or not. AC2: near marks agree in part, by 1 − (a − b)² / (largest − smallest)² for amounts
(quadratic), by 1 − C(places apart + 1, 2) / C(q, 2) for an order (Gwet's ordinal weights).

Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48 (AC1); Gwet (2014), Handbook of
Inter-Rater Reliability, 4th edition, chapters 3 and 4 (weights), section 2.3 and 4.4 (missing marks).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from viva.analysis.raters.kappa import MOST_MARKS, distances
from viva.analysis.raters.krippendorff import Level
from viva.analysis.raters.measure import Measure, bounded
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, usable
from viva.errors import flag


def gwet(
    rows: Rows, kind: Literal["ac1", "ac2"], scale: Sequence[float], level: Level, questions: Sequence[int]
) -> Measure:
    """AC1 or AC2 of items × raters, any number of raters, gaps allowed; every mark is one of `scale`.

    `level` says which marks are near each other, for AC2.
    """
    paired = usable(kind, rows, questions, 2)[0]
    _, values, asked = usable(kind, rows, questions, 1)
    if not paired.reason and not 1 < len(scale) <= MOST_MARKS:
        many = f"{len(scale):,} different marks are no scale of categories" if len(scale) > 1 else "there is one mark"
        paired = bounded(paired, None, "", f"{many}: name the marks that can be given with {flag('scale')}")
    if paired.reason:
        return paired
    weights_of_marks = np.eye(len(scale)) if kind == "ac1" else nearness(scale, level)
    spread = float(weights_of_marks.sum()) / (len(scale) * (len(scale) - 1))

    def coefficient(values: Floats) -> Statistic:
        counts = (values[:, :, None] == np.asarray(scale)).sum(axis=1).astype(float)
        sizes = counts.sum(axis=1)
        agreeing = (counts * (counts @ weights_of_marks - 1)).sum(axis=1) / np.maximum(sizes * (sizes - 1), 1.0)
        two, shares = (sizes > 1).astype(float), counts / sizes[:, None]

        def statistic(weights: Weights) -> Floats:
            observed = weights @ (agreeing * two) / (weights @ two)
            marks = weights @ shares / weights.sum(axis=1)[:, None]
            expected = spread * (marks * (1 - marks)).sum(axis=1)
            found: Floats = (observed - expected) / (1 - expected)
            return found

        return statistic

    return estimated(paired, values, asked, coefficient, "", scale)


def nearness(scale: Sequence[float], level: Level) -> Floats:
    """How far each two marks of an ascending scale agree, 0 to 1: AC2's weights."""
    if level == "ordinal":
        places = distances(range(len(scale)), 1)
        apart = places * (places + 1) / 2
    else:
        apart = distances(scale, 0 if level == "nominal" else 2)
    found: Floats = 1 - apart / apart.max()
    return found
