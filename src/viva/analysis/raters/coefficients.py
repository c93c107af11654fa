"""Coefficients of agreement: kappa, Krippendorff's alpha, AC1 and AC2, Cronbach's alpha, intraclass correlation.

Agreement beyond chance on a scale of few marks: Cohen's kappa (two raters) and Fleiss' kappa (several).

    kappa = 1 − D_o / D_e

D_o is the mean distance of two marks of one item, D_e the mean distance to expect of marks drawn by chance. Unweighted,
a distance is 0 (equal) or 1. Weighted, it is |a − b| (linear) or (a − b)² (quadratic) of the marks themselves, so that
a mark of the scale that nobody gave changes nothing; on evenly spaced marks that is the usual weighting by place.

Cohen (1960), Educational and Psychological Measurement 20:37-46: chance is each rater's own distribution of marks.
Cohen (1968), Psychological Bulletin 70:213-220: weights. Fleiss (1971), Psychological Bulletin 76:378-382: chance is
the distribution of all marks, and the raters of one item need not be those of the next.

Krippendorff's alpha: agreement beyond chance of any number of raters, whatever is missing.

    alpha = 1 − D_o / D_e

D_o is the mean δ² of two marks of one item, each item weighing as many marks as it has; D_e that of any two of all the
marks. Items with a single mark tell nothing of agreement and are left out. δ² is 0 or 1 (nominal), (a − b)² (interval),
or the squared number of marks between two, counted with half of those equal to either (ordinal), which is the squared
difference of their mid-ranks.

Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability", University of Pennsylvania. The interval tilts items
(see `tilting`), where Hayes and Krippendorff (2007) draw distances of pairs and take D_e as known.

Gwet's AC1 and AC2: agreement beyond chance that one common mark does not pull to 0.

    AC = (p_a − p_e) / (1 − p_e),    p_e = T / (q (q − 1)) · Σ_k π_k (1 − π_k)

p_a is the mean agreement of two marks of an item, over items with two and more; π_k the share of mark k, each item with
a mark weighing alike; q the marks of the scale, whether anybody gave them or not; T the sum of all weights of agreement
(of equal marks alone for AC1: q). Chance agreement is that of raters who guess on hard items, and it is least where one
mark is common: of nearly equal marks of which nine in ten are the same, kappa is low and AC is not.

AC1: marks are equal or not. AC2: near marks agree in part, by 1 − (a − b)² / (largest − smallest)² for amounts
(quadratic), by 1 − C(places apart + 1, 2) / C(q, 2) for an order (Gwet's ordinal weights).

Gwet (2008), British Journal of Mathematical and Statistical Psychology 61:29-48 (AC1); Gwet (2014), Handbook of
Inter-Rater Reliability, 4th edition, chapters 3 and 4 (weights), section 2.3 and 4.4 (missing marks).

Cronbach's alpha: how reliable the mean (or sum) of several raters is.

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
from functools import partial
from typing import Literal

import numpy as np
from msgspec.structs import replace

from viva.analysis.estimate import mean_of
from viva.analysis.raters.ratings import Kind, Measure, bounded
from viva.analysis.tilting import Floats, Rows, Statistic, Weights, estimated, midranks, usable
from viva.errors import flag

MOST_MARKS = 100
"""The most different marks for which a measure on categories makes sense and fits into memory."""
_WEIGHTS: dict[Kind, int] = {"kappa": 0, "kappa_linear": 1, "kappa_quadratic": 2}


def cohen(rows: Rows, questions: Sequence[int], kind: Kind = "kappa") -> Measure:
    """Return Cohen's kappa of two raters over the items that both rated. `kind`: how disagreement is weighted."""
    usable_rows = usable(kind, rows, questions, most=MOST_MARKS)
    none = "both raters gave one and the same mark to every item: chance agrees as well"
    return estimated(*usable_rows, partial(_cohen, power=_WEIGHTS[kind]), none)


def distances(marks: Sequence[float] | Floats, power: int) -> Floats:
    """Return how far each mark is from each other: 0 or 1 (power 0), |a − b| (1), (a − b)² (2)."""
    apart = np.abs(np.subtract.outer(np.asarray(marks, dtype=float), np.asarray(marks, dtype=float)))
    result: Floats = (apart > 0).astype(float) if power == 0 else apart**power
    return result


def fleiss(rows: Rows, questions: Sequence[int]) -> Measure:
    """Return Fleiss' kappa over the items that every rater rated."""
    usable_rows = usable("fleiss", rows, questions, most=MOST_MARKS)
    return estimated(*usable_rows, _fleiss, "every rating is the same mark: chance agrees as well")


def agreement(rows: Rows, questions: Sequence[int]) -> Measure:
    """Return the share of pairs of ratings of an item that are equal, a mean over items with two ratings and more.

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


def confusion(rows: Rows, scale: Sequence[float]) -> tuple[tuple[int, ...], ...]:
    """Return how often the first gave each mark of the scale (rows) where the second gave each (columns)."""
    places = {mark: index for index, mark in enumerate(scale)}
    table = [[0] * len(scale) for _ in scale]
    for a, b in rows:
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
    """Return 1 − observed / expected; nan where `expected` is 0."""
    some = expected > 1e-12
    return np.where(some, 1 - observed / np.where(some, expected, 1.0), np.nan)


Level = Literal["nominal", "ordinal", "interval"]
_ENTRIES = 2_000_000
"""Distributions × items × raters that are held at once."""


def krippendorff(rows: Rows, level: Level, questions: Sequence[int]) -> Measure:
    """Return Krippendorff's alpha of items × raters; `level` determines the distance of two marks."""
    usable_rows = usable("krippendorff", rows, questions, 2)
    none = "every rating is the same mark: there is nothing to tell items apart by"
    return estimated(*usable_rows, partial(alpha_of, level=level), none)


def alpha_of(values: Floats, level: Level) -> Statistic:
    """Return alpha as a function of the items' weights. `values`: items × raters, nan where missing, each row with two
    marks.

    With n marks, m of them of one item, alpha is 1 − (n − 1) Σ_items (Σ_pairs δ²) / (m − 1) / Σ_pairs of all δ².
    """
    marks = np.unique(values[np.isfinite(values)])
    codes = np.where(np.isfinite(values), np.searchsorted(marks, np.nan_to_num(values)), -1).astype(np.int64)
    given = codes >= 0
    sizes = given.sum(axis=1)

    def observed(places: Floats) -> Floats:
        """Return Σ_pairs δ² / (m − 1) for each item, both orders counted; `places` (… × items × raters) on an interval
        scale.
        """
        held = np.where(given, places, 0.0)
        result: Floats = 2 * (sizes * (held**2).sum(axis=-1) - held.sum(axis=-1) ** 2) / (sizes - 1)
        return result

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
        parts = []
        for start in range(0, len(weights), step):
            some = weights[start : start + step]
            total = some @ sizes
            ranks = midranks(some, codes, len(marks)) - total[:, None] / 2
            places = np.where(given, ranks[:, np.maximum(codes, 0)], 0.0)
            apart = (some * observed(places)).sum(axis=1)
            sums = (some * places.sum(axis=-1)).sum(axis=1)
            squares = (some * (places**2).sum(axis=-1)).sum(axis=1)
            parts.append(_alpha(apart, 2 * (total * squares - sums**2), total))
        return np.concatenate(parts)

    return ordinal


def _alpha(observed: Floats, expected: Floats, total: Floats) -> Floats:
    some = expected > 1e-12 * np.maximum(1.0, total) ** 2
    return np.where(some, 1 - (total - 1) * observed / np.where(some, expected, 1.0), np.nan)


def gwet(
    rows: Rows, kind: Literal["ac1", "ac2"], scale: Sequence[float], level: Level, questions: Sequence[int]
) -> Measure:
    """Return AC1 or AC2 of items × raters, any number of raters, gaps allowed; every mark is one of `scale`.

    `level` determines the weights of AC2 (`nearness`).
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
            result: Floats = (observed - expected) / (1 - expected)
            return result

        return statistic

    return estimated(paired, values, asked, coefficient, "", scale)


def nearness(scale: Sequence[float], level: Level) -> Floats:
    """Return AC2's weights: how far each two marks of an ascending scale agree, 0 to 1."""
    if level == "ordinal":
        places = distances(range(len(scale)), 1)
        apart = places * (places + 1) / 2
    else:
        apart = distances(scale, 0 if level == "nominal" else 2)
    result: Floats = 1 - apart / apart.max()
    return result


def cronbach(rows: Rows, questions: Sequence[int]) -> Measure:
    """Return Cronbach's alpha of items × raters, over complete items; `left_out` counts the others."""
    return estimated(*usable("cronbach", rows, questions), _cronbach, "the raters' sums do not vary from item to item")


def _cronbach(values: Floats) -> Statistic:
    raters = values.shape[1]
    centred = values - values.mean(axis=0)
    sums = centred.sum(axis=1)

    def spread(weights: Weights, column: Floats) -> Floats:
        """Return the weighted sum of squared deviations."""
        total = weights.sum(axis=1)
        result: Floats = weights @ column**2 - (weights @ column) ** 2 / np.where(total > 0, total, 1.0)
        return result

    def statistic(weights: Weights) -> Floats:
        whole = spread(weights, sums)
        parts = np.sum([spread(weights, column) for column in centred.T], axis=0)
        some = whole > 1e-12 * max(1e-300, float((values**2).sum()))
        return np.where(some, raters / (raters - 1) * (1 - parts / np.where(some, whole, 1.0)), np.nan)

    return statistic


IntraclassKind = Literal["icc", "icc_mean"]


def intraclass(rows: Rows, kind: IntraclassKind, questions: Sequence[int]) -> Measure:
    """Return the intraclass correlation of one rater (`icc`) or the raters' mean (`icc_mean`), over complete items.

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
    """Return mean squares of items, raters and error, a value for each row of weights."""
    raters = values.shape[1]
    total = np.maximum(weights.sum(axis=1), 2.0)  # of one item the result below is nan
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
