"""Estimates of a full score from a sample of questions, drawn where least predictable; unbiased for any predictions.

Questions are drawn one after the other, without replacement, question j with a known probability qₜ(j) among those left
(Rₜ), given a prediction mₜ(j) of every score. With shares sⱼ of the full score μ = Σ sⱼ yⱼ, each draw i estimates it:

    Zₜ = Σ_{asked before} sⱼ yⱼ + Σ_{j in Rₜ} sⱼ mₜ(j) + sᵢ (yᵢ − mₜ(i)) / qₜ(i)        E[Zₜ | before] = μ

(Des Raj 1956, JASA 51:269-284, with predictions as a difference estimator). Predictions and probabilities may depend on
all answers before: Zₜ − μ is a martingale difference, as in active inference (Zrnic and Candès 2024, arXiv 2403.03208),
and nothing is assumed of the answers. Good predictions make it small; qₜ ∝ s √(variance) makes it smallest. The
estimate is the mean of all Zₜ, each weighed by its predicted precision, which is known before the draw.

Two intervals. `fixed`, for a number of questions that was chosen before: normal theory, and by betting where the number
is below `NORMAL`, since a mean of few terms of unequal weight is skewed. `anytime`: a confidence sequence by betting
(Waudby-Smith and Ramdas 2024, JRSS B 86:1-27; with weighted draws and predictions: Shekhar, Xu, Lipton, Liang and
Ramdas 2023, arXiv 2305.06884). For the true μ the product of 1 + λₜ (Zₜ − μ) is a nonnegative
martingale of mean 1 where λₜ is known before the draw and small enough; it ever reaches 2/α with probability α/2 at
most (Ville 1939). So the μ that have not reached it hold the truth at all times at once, and may be looked at after
each answer. λₜ = h / predicted variance of Zₜ makes the interval narrowest when it is h to both sides; for a number n,
λₜ = √(2 log(2/α) / (n · predicted variance of Zₜ)) makes it narrowest then (their section 3.2, for fixed n).

The types here are also the stored form of a draw: all that an estimate needs, except the answers.

The file may come from anybody, so every number has bounds.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import numpy as np
from msgspec import Meta, Struct
from numpy.typing import NDArray

from viva.analysis.estimate import Estimate
from viva.analysis.uncertainty import LEVEL, halved, t_quantile

Share = Annotated[float, Meta(ge=0, le=1.000001)]
Positive = Annotated[float, Meta(ge=1e-12, le=1e12)]
Bounded = Annotated[float, Meta(ge=-1e12, le=1e12)]


class Term(Struct, frozen=True, kw_only=True):
    """The prediction for one of the estimated means before a draw. Shares of 1."""

    predicted: Bounded
    """The value of the question drawn."""
    rest: Bounded
    """What all remaining questions add to the mean, this one included."""
    variance: Positive
    """Predicted variance of this draw's estimate."""
    down: Bounded
    """A bound on how far this estimate's last term can be below 0, for any draw and answer."""
    up: Bounded


class Draw(Struct, frozen=True, kw_only=True):
    """One question drawn."""

    question: str
    round: int
    share: Share
    """The question's share of the full score."""
    probability: Annotated[float, Meta(ge=1e-12, le=1.000001)]
    """Probability of drawing this question from those that were left."""
    left: Share
    """Share of the full score of the questions that were left, this one included."""
    terms: tuple[Term, ...]
    """A term for every mean that is estimated."""


Floats = NDArray[np.float64]

SAFE = 0.5
"""The largest share of the capital that a bet puts at stake."""
NORMAL = 200
"""Questions from which `fixed` uses normal theory. With fewer it held in 75 to 97 % of simulations (docs/lab.md): five
answers that are all wrong do not scatter."""
BOLD = 0.9
"""`SAFE` for the interval of one small number of questions: there is no later bet to save for."""


class Answers(Struct, frozen=True, kw_only=True, eq=False):
    """The draws with the values of their answers, for one of the targets."""

    draws: Sequence[Draw]
    values: Floats
    """Values in the order of the draws."""
    target: int = 0
    lowest: float = 0.0

    def possible(self) -> tuple[float, float]:
        """Return the range of the mean that the answers allow: unasked questions score between `lowest` and 1."""
        seen = float(np.array([draw.share for draw in self.draws]) @ self.values)
        left = max(self.draws[-1].left - self.draws[-1].share, 0.0) if self.draws else 1.0
        return seen + self.lowest * left, seen + left


class _Series(Struct, frozen=True):
    """The estimates Zₜ, with their precisions and bounds."""

    estimates: Floats
    precision: Floats
    most_down: Floats
    """A bound on how far Zₜ can be below any possible μ."""
    most_up: Floats


def _series(answers: Answers) -> _Series:
    columns = [
        (draw.share, draw.probability, draw.left, term.predicted, term.rest, term.variance, term.down, term.up)
        for draw in answers.draws
        for term in (draw.terms[answers.target],)
    ]
    share, probability, left, predicted, rest, variance, down, up = np.array(columns).T
    seen = np.concatenate([[0.0], np.cumsum(share * answers.values)[:-1]])
    return _Series(
        seen + rest + share * (answers.values - predicted) / probability,
        1 / variance,
        down + np.maximum(left - rest, 0.0),
        up + np.maximum(rest - answers.lowest * left, 0.0),
    )


def fixed(answers: Answers, number: int) -> Estimate:
    """Return the estimate with the interval for a `number` of questions fixed beforehand, not one chosen by looking.

    Below `NORMAL` it holds with probability 95 % at least for any answers, also while some are missing.
    """
    low, high = answers.possible()
    if not answers.draws:
        return Estimate(mean=(low + high) / 2, low=low, high=high)
    series = _series(answers)
    weights = series.precision / series.precision.sum()
    value, n = float(weights @ series.estimates), len(weights)
    if number < NORMAL or n < 2:
        bets = np.sqrt(2 * math.log(2 / (1 - LEVEL)) * series.precision / max(number, n))[np.newaxis]
        return _by_betting(answers, series, bets, BOLD)
    seen = float(weights**2 @ (series.estimates - value) ** 2) * n / (n - 1)
    # A model that nearly always succeeds shows little scatter until it fails, so the predicted variance is the minimum.
    half = t_quantile(n - 1) * math.sqrt(max(seen, 1 / float(series.precision.sum())))
    return _within(value, value - half, value + half, low, high)


def anytime(answers: Answers, halves: Sequence[float]) -> Estimate:
    """Return the estimate with the interval that holds at all times at once, with probability 95 % at least.

    `halves`: the half widths that the bets aim at, fixed before the first draw; the capital is split evenly over them.
    """
    least, most = answers.possible()
    if not answers.draws:
        return Estimate(mean=(least + most) / 2, low=least, high=most)
    series = _series(answers)
    return _by_betting(answers, series, np.outer(halves, series.precision), SAFE)


def _by_betting(answers: Answers, series: _Series, bets: Floats, safe: float) -> Estimate:
    """Return the estimate with the interval by betting. `bets`: a row for each part of the capital, λₜ for each draw;
    each is cut so that at most the share `safe` is at stake.
    """
    least, most = answers.possible()
    value = float(series.precision @ series.estimates / series.precision.sum())
    down, up = (np.minimum(bets, safe / np.maximum(far, 1e-12)) for far in (series.most_down, series.most_up))
    low = _limit(series.estimates, down, least, most)
    high = -_limit(-series.estimates, up, -most, -least)
    return _within(value, low, high, least, most)


def _limit(estimates: Floats, bets: Floats, lowest: float, highest: float) -> float:
    """Return the largest μ that bets against all below it have ruled out at any time: each bet's gain falls as μ
    grows.
    """
    needed = math.log(2 * len(bets) / (1 - LEVEL))

    def ruled_out(value: float) -> bool:
        won = np.cumsum(np.log1p(bets * (estimates - value)), axis=1)
        return bool(np.logaddexp.reduce(won, axis=0).max() >= needed)

    return halved(ruled_out, lowest, highest)[0] if ruled_out(lowest) else lowest


def _within(value: float, low: float, high: float, least: float, most: float) -> Estimate:
    """Return the estimate clipped to the possible range, its interval widened to contain it."""
    value = min(max(value, least), most)
    return Estimate(
        mean=value, low=min(max(low, least), value), high=max(min(high, most), value), floor=value, ceiling=value
    )
