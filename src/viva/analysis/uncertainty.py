"""How far a mean can be trusted: 95 % intervals.

Wilson's score interval for 0/1 scores of questions asked once (Wilson 1927; it behaves at 0 and 1, where the textbook
interval has no width). Of a few right or a few wrong answers, its limit towards the end of the scale is too far from
the end: of 19 right of 20 it is 0.991, and where truly 0.994 are right only 88 % of the intervals hold. So that limit
is Poisson's where this is further out, for up to ten answers (Brown, Cai and DasGupta 2001, Statistical Science
16:101-133, section 4.1, for up to three): whatever the truth, 92 % hold from 10 questions on, and 93 % from 59.

Otherwise the variance of the mean is estimated from questions as clusters, because several answers to one question are
not independent (Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640), and becomes that interval for as many 0/1
questions as would leave the same doubt, with Student's t for the normal quantile. A plain t interval collapses near 0
and 1: of 59 questions with ten answers each and one of 590 wrong it is [99.5, 100].
"""

from __future__ import annotations

import math
from statistics import NormalDist

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)

RARE = (0.0513, 0.3554, 0.8177, 1.3663, 1.9701, 2.6130, 3.2853, 3.9808, 4.6952, 5.4254)
"""The one-sided 95 % lower limits of a Poisson mean of which 1, 2, ... 10 were seen: χ²(0.05; 2k)/2."""
ALIKE = 1e-9
"""Summed squares below which scores do not differ but by rounding."""

Interval = tuple[float, float]


def wilson(points: float, n: float) -> Interval | None:
    """Wilson's interval for `points` of `n`; None for n = 0."""
    return _wilson(points / n, n, Z) if n else None


def _wilson(mean: float, n: float, z: float) -> Interval:
    centre = mean + z * z / (2 * n)
    half = z * math.sqrt(max(0.0, mean * (1 - mean)) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def zero_one_interval(points: float, n: float) -> Interval | None:
    """The interval of a mean of n scores of 0 and 1 that sum up to `points`; None for n = 0."""
    return _around(points / n, n, Z) if n else None


def _around(mean: float, n: float, z: float) -> Interval:
    """Wilson's interval, with Poisson's limit towards the nearer end of the scale where this is further out."""
    low, high = _wilson(mean, n, z)
    if mean < 0.5:
        return min(low, _rare(mean * n) / n), high
    return (low, max(high, 1 - _rare((1 - mean) * n) / n)) if mean > 0.5 else (low, high)


def _rare(count: float) -> float:
    """The one-sided 95 % lower limit of a Poisson mean of which `count` was seen; infinity where Wilson's is lower."""
    if count > len(RARE):
        return math.inf
    whole = round(count)
    if abs(count - whole) < ALIKE:
        return RARE[whole - 1] if whole else 0.0
    from scipy.special import gammaincinv

    return float(gammaincinv(count, 1 - LEVEL))


def mean_variance(squares: float, questions: int, answers: float) -> float:
    """Estimate the sampling variance of a ratio mean of answers in `questions` >= 2 clusters.

    `squares` is the sum over questions of (sum of scores − mean × answers)², `answers` their number in all. With one
    answer a question this is s²/n.
    """
    return squares * questions / (questions - 1) / answers**2


def share_interval(mean: float, variance: float, questions: float, degrees: float) -> Interval:
    """The interval around a mean of scores in 0..1 with an estimated variance, on `degrees` of freedom.

    The effective number of questions is m(1 − m)/variance, both with one more question of score ½: without it the
    variance, and with it the interval, is nothing where nearly all scores are alike. Its squared distance from the mean
    counts twice, so that of n scores of 0 the effective number is n, as of 0/1 scores; counted once it would be 2n,
    and as few as 85 % of the intervals held near 0 and 1 (performance/coverage.py). `questions` may be an effective
    number too, for weighted means: 1/Σ share².
    """
    shrunk = (mean * questions + 0.5) / (questions + 1)
    doubt = variance * (questions - 1) / questions + 2 * (mean - 0.5) ** 2 / (questions * (questions + 1))
    if doubt < 1e-18:  # all scores are exactly ½
        return zero_one_interval(mean * questions, questions) or (0.0, 1.0)
    return _around(mean, shrunk * (1 - shrunk) / doubt, t_quantile(degrees))


def interval_of_scores(
    mean: float, squares: float, questions: int, answers: float, *, zero_one: bool
) -> Interval | None:
    """The interval around a mean of answers to `questions`, all in 0..1; None for no question.

    `squares` and `answers` as in `mean_variance`. That of 0/1 scores for `zero_one`, where each question counts once,
    and where all questions agree: a variance says nothing then, though the sample is finite, and this interval has a
    width. It is safe for fractions too: no score in 0..1 varies more than a 0/1 score of the same mean.
    """
    if zero_one or squares < ALIKE:
        return zero_one_interval(mean * questions, questions)
    return share_interval(mean, mean_variance(squares, questions, answers), questions, questions - 1)


def difference_interval(mean: float, variance: float, degrees: float) -> Interval:
    """Student's t around a mean of differences of shares, which lies in −1..1."""
    half = t_quantile(degrees) * math.sqrt(variance)
    return max(-1.0, mean - half), min(1.0, mean + half)


def t_quantile(degrees: float) -> float:
    """The two-sided 95 % quantile of Student's t; degrees of freedom need not be whole."""
    from scipy.special import stdtrit  # 45 MB that a run of 0/1 scores does without

    return float(stdtrit(degrees, 0.5 + LEVEL / 2))


def standard_deviation(values: list[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
