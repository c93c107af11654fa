"""Ranks as ranges, from paired differences of models that answered the same questions.

Differences question by question say more than overlapping intervals, since a hard question is hard for all models. So
every ordered pair of models is tested, one-sided, "the first is no better", by the mean of the differences over its
standard error. All hypotheses are tested at once with a familywise error of 5 %, step by step (Romano and Wolf 2005,
Econometrica 73:1237-1282): the critical value is the quantile of the largest statistic of all pairs not yet rejected,
drawn from the joint normal distribution that the models' scores have (a multiplier bootstrap, without its noise), and
moved to Student's t. A model's range is from one more than the number of models shown to be better to N less the number
shown to be worse; all ranges hold the true ranks at once with 95 % confidence (Mogstad, Romano, Shaikh and Wilhelm
2024, Review of Economic Studies 91:476-518, section 3).

Where answers are missing the first is better only if it is with all of its missing answers wrong and all of the other's
right: nothing is assumed of why they are missing.

Few differing questions understate the variance. So the statistic adds two questions, a difference each way of the usual
size, as Bonett and Price (2012) do for 0/1 scores, where the size is 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray
from scipy import special

from viva.analysis.columns import Columns
from viva.analysis.comparing import names_of
from viva.analysis.estimate import clusters_of
from viva.analysis.uncertainty import LEVEL, SMALL_GROUP

Floats = NDArray[np.float64]
DRAWS = 4_000
"""Draws of the largest statistic: the level of its 95 % quantile is then known to 0.7 points."""
_AT_ONCE = 4_000_000
"""Statistics of one chunk of draws: 32 MB."""


class _Ends(Struct, frozen=True, eq=False):
    """Models × questions: the least and the most that each score can be, and its share in the mean."""

    least: Floats
    most: Floats
    shares: Floats
    groups: NDArray[np.int64]
    clusters: NDArray[np.int64]


def paired_ranks(models: Sequence[Columns], over: str = "") -> list[tuple[int, int]] | None:
    """Return the first and the last rank of each model, from their questions (`Breakdown.questions`).

    `over`: the tag whose values are averaged first. None where they did not answer the same questions, or fewer than
    two.
    """
    ends = _ends(models, over)
    if ends is None:
        return None
    better = _better(ends)
    count = len(models)
    return [
        (1 + worse_than, count - better_than)
        for worse_than, better_than in zip(better.sum(axis=0).tolist(), better.sum(axis=1).tolist(), strict=True)
    ]


def _ends(models: Sequence[Columns], over: str) -> _Ends | None:
    names = [names_of(model) for model in models]
    if not models or len(set(names[0])) < max(2, len(names[0])) or any(set(own) != set(names[0]) for own in names):
        return None
    orders = [sorted(range(len(own)), key=own.__getitem__) for own in names]
    if any(len(order) != len(orders[0]) for order in orders):
        return None
    rows = [model.take(np.array(order)) for model, order in zip(models, orders, strict=True)]
    tag = rows[0].texts.get(f"tag:{over}")
    groups = np.zeros(rows[0].height, dtype=np.int64) if tag is None else np.unique(tag.codes, return_inverse=True)[1]
    clusters = clusters_of(rows[0])
    n = np.stack([row.numbers["n"].astype(np.float64) for row in rows])
    whole = _summed(n, groups)
    least, most = (np.stack([row.numbers[name] for row in rows]) / n for name in ("floor", "ceiling"))
    return _Ends(
        least,
        most,
        n / whole[:, groups] / whole.shape[1],
        groups,
        np.arange(rows[0].height) if clusters is None else np.unique(clusters, return_inverse=True)[1],
    )


def _better(ends: _Ends) -> NDArray[np.bool_]:
    """Return which models are shown to be better than which: models (better) × models."""
    # The effective number of questions, or of clusters.
    size = 1 / float((_summed(ends.shares, ends.clusters) ** 2).sum(axis=1).max())
    away = [_summed(ends.shares * _centred(values, ends), ends.clusters) for values in (ends.least, ends.most)]
    floors, ceilings = ((ends.shares * values).sum(axis=1) for values in (ends.least, ends.most))
    squares = [(each**2).sum(axis=1) for each in away]
    variances = np.maximum(0.0, squares[0][:, None] + squares[1][None, :] - 2 * away[0] @ away[1].T)
    differences = floors[:, None] - ceilings[None, :]
    usual = _usual(ends)
    shrunk = differences * size / (size + 2)
    summed = size**2 * variances + size * differences**2 + 2 * usual**2 - (size + 2) * shrunk**2
    statistics = shrunk * (size + 2) / np.sqrt(np.maximum(summed, 1e-12))
    left = ~np.eye(len(floors), dtype=bool)
    errors = np.sqrt(variances)
    better = np.zeros_like(left)
    while left.any():
        critical = _critical(away, errors, left)
        critical = float(special.stdtrit(max(1.0, size - 1), float(special.ndtr(critical))))
        shown = left & (statistics > critical)
        if not shown.any():
            break
        better |= shown
        left &= ~shown
    return better


def _summed(values: Floats, codes: NDArray[np.int64]) -> Floats:
    """Return each model's sums over the questions of each code: models × codes."""
    return np.stack([np.bincount(codes, weights=each) for each in values])


def _centred(values: Floats, ends: _Ends) -> Floats:
    """Return scores minus the mean of their group; in small groups minus the overall mean, which keeps the differences
    between groups and is conservative.
    """
    sums, weights = (_summed(each, ends.groups) for each in (ends.shares * values, ends.shares))
    counts = np.bincount(ends.groups)
    middles = np.where(counts >= SMALL_GROUP, sums / weights, sums.sum(axis=1, keepdims=True))
    kept = np.where(counts >= SMALL_GROUP, counts / np.maximum(counts - 1, 1), counts.sum() / (counts.sum() - 1))
    scaled: Floats = (values - middles[:, ends.groups]) * np.sqrt(kept)[ends.groups]
    return scaled


def _usual(ends: _Ends) -> float:
    """Return the usual size of a difference: the root mean square of nonzero ones, between models adjacent in mean."""
    order = np.argsort((ends.shares * ends.least).sum(axis=1))
    apart = np.diff(ends.least[order], axis=0)
    differing = np.abs(apart) > 1e-9
    return float(np.sqrt((apart[differing] ** 2).mean())) if differing.any() else 1.0


def _critical(away: Sequence[Floats], errors: Floats, left: NDArray[np.bool_]) -> float:
    """Return the quantile of the largest statistic of the remaining pairs under no true difference."""
    ends = np.concatenate(away)
    values, vectors = np.linalg.eigh(ends @ ends.T)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    count = len(errors)
    scale = np.where(left & (errors > 1e-12), 1 / np.maximum(errors, 1e-12), 0.0)
    dice = np.random.default_rng(0)
    largest: list[Floats] = []
    size = max(1, _AT_ONCE // count**2)
    for start in range(0, DRAWS, size):
        drawn = dice.standard_normal((min(size, DRAWS - start), len(ends))) @ root.T
        statistics = (drawn[:, :count, None] - drawn[:, None, count:]) * scale
        largest.append(statistics.max(axis=(1, 2)))
    safe = min(1.0, LEVEL + 2 * math.sqrt(LEVEL * (1 - LEVEL) / DRAWS))  # conservative: 2 errors of the quantile
    return float(np.quantile(np.concatenate(largest), safe))
