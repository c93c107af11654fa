"""Scores of many groups of few questions, partly pooled: each is drawn towards what the groups have in common.

A group with s points of n questions has a chance θ, and the chances of all groups are from one beta distribution of
mean μ and size M (the beta-binomial model: Gelman et al. 2013, Bayesian Data Analysis, section 5.3). Given μ and M,

    θ ~ Beta(s + μM, n - s + (1 - μ)M),    its mean (s + μM)/(n + M): the group's own, drawn towards μ

How far groups differ is known from few groups, so that an interval from an estimate of M would be too short (Morris
1983, JASA 78:47-55). Both are averaged over, by how well they go with all groups' scores: from even priors for μ and
for 1/(M + 1), the correlation of two questions of a group. (With a prior that is even on how far a group of the usual
size is drawn, up to three in a hundred fewer intervals held.) The sum is over a grid that is narrowed to where the
weight lies.

Fractions, or means of several answers, vary less than 0/1 scores of the same mean. They count as so many 0/1 questions
as would leave the same doubt; the ratio is that of all groups, since a few questions do not tell their own.

Intervals hold on average over groups like these, not for each: a group unlike all others is drawn too far.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.estimate import Spread
from viva.analysis.uncertainty import ALIKE, LEVEL, mean_variance

Floats = NDArray[np.float64]

FEWEST = 3
"""Groups of which anything can be learnt about a further one; fewer keep their plain mean and interval."""
_STEPS = 16
"""Steps of a grid, each way."""
_GRIDS = 4
"""Grids, each over what the one before it leaves."""
_NEGLIGIBLE = 1e-5
"""Weight of a point, as a share of the largest, below which it is left out."""
_HALVINGS = 18


class Scored(Struct, frozen=True, kw_only=True):
    """One group of questions: the mean of their scores in 0..1, how many they are, and Σ (score - mean)²."""

    mean: float
    questions: int
    squares: float


class Pooled(Struct, frozen=True, kw_only=True):
    """A group's mean, given the scores of all groups, with its 95 % interval. Shares of 1."""

    mean: float
    low: float
    high: float


def pooled(groups: Sequence[Scored]) -> list[Pooled]:
    """Return each group's posterior mean and 95 % interval, in order; the plain ones for fewer than three groups.

    Every group has a question at least.
    """
    if len(groups) < FEWEST:
        return [_plain(group) for group in groups]
    mean, n, squares = (np.array([getattr(group, name) for group in groups]) for name in Scored.__struct_fields__)
    worth = n / _ratio(mean, n, squares)
    right, wrong = np.clip(mean, 0, 1) * worth, (1 - np.clip(mean, 0, 1)) * worth
    size, share, weights = _components(right, wrong)
    alike, places = np.unique(np.stack([right, wrong], axis=1), axis=0, return_inverse=True)
    a, b = alike[:, :1] + share * size, alike[:, 1:] + (1 - share) * size
    ends = [_quantile(a, b, weights, end) for end in ((1 - LEVEL) / 2, (1 + LEVEL) / 2)]
    found = np.stack([(a / (a + b)) @ weights, *ends], axis=1)[places.ravel()]
    return [Pooled(mean=middle, low=low, high=high) for middle, low, high in found.tolist()]


def _plain(group: Scored) -> Pooled:
    most = group.questions * group.mean * (1 - group.mean)
    zero_one = abs(group.squares - most) < ALIKE  # of 0 and 1 alone
    n = group.questions
    variance = mean_variance(group.squares, n, n) if n > 1 else 0.0
    spread = Spread(mean=group.mean, variance=variance, worth=n, degrees=n - 1, zero_one=zero_one)
    low, high = spread.interval() or (0.0, 1.0)
    return Pooled(mean=group.mean, low=low, high=high)


def _ratio(mean: Floats, n: Floats, squares: Floats) -> float:
    """Return the variance of a score within its group, as a part of that of 0/1 scores of the same means: 1 for these.

    Both with one more question whose score is 0 or 1, so that scores which are all alike do not count for endlessly
    many.
    """
    spare, middle = n.sum() - len(n), float(mean @ n / n.sum())
    if spare < 1 or squares.sum() < ALIKE:
        return 1.0
    one = middle * (1 - middle)
    within = (squares.sum() + one) / (spare + 1)
    most = ((n * mean * (1 - mean)).sum() + one + len(n) * within) / (n.sum() + 1)
    return float(within / most)


def _components(right: Floats, wrong: Floats) -> tuple[Floats, Floats, Floats]:
    """Return sizes M and means μ that go with all groups' scores, and the posterior weight of each pair; these add up
    to 1.
    """
    from scipy.special import betaln

    steps = (np.arange(_STEPS) + 0.5) / _STEPS
    box = np.array([[0.0, 1.0], [0.0, 1.0]])
    for _ in range(_GRIDS):
        middle, inner = (each.ravel() for each in np.meshgrid(*(low + (high - low) * steps for low, high in box)))
        size = 1 / inner - 1
        a, b = middle * size, (1 - middle) * size
        logs = betaln(right[:, None] + a, wrong[:, None] + b).sum(axis=0) - len(right) * betaln(a, b)
        weights = np.exp(logs - logs.max())
        there = weights > _NEGLIGIBLE
        margin = (box[:, 1] - box[:, 0]) / _STEPS
        ends = [(each[there].min(), each[there].max()) for each in (middle, inner)]
        box = np.clip(np.array(ends) + margin[:, None] * [-1, 1], 0, 1)
    return size[there], middle[there], weights[there] / weights[there].sum()


def _quantile(a: Floats, b: Floats, weights: Floats, share: float) -> Floats:
    """Of each group's mixture, by halving."""
    from scipy.special import betainc

    low, high = np.zeros(len(a)), np.ones(len(a))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        below = betainc(a, b, middle[:, None]) @ weights < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.asarray((low + high) / 2)
