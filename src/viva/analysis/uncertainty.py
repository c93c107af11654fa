"""How far a mean can be trusted: 95 % intervals.

Wilson's score interval for 0/1 scores of questions asked once (Wilson 1927; it behaves at 0 and 1, where the textbook
interval has no width). Otherwise the variance of the mean is estimated from questions as clusters, because several
answers to one question are not independent (Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640), and becomes
Wilson's interval for as many 0/1 questions as would leave the same doubt, with Student's t for the normal quantile.
A plain t interval collapses near 0 and 1: of 59 questions with ten answers each and one of 590 wrong it is [99.5, 100].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import NormalDist

from msgspec import Struct

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)

SMALL_GROUP = 5
"""Questions in a group from which its spread is its own, and not pooled with that of other small groups."""

Interval = tuple[float, float]


def wilson(points: float, n: float, level: float = LEVEL) -> Interval | None:
    """Wilson's interval for `points` of `n`; None for n = 0."""
    if n == 0:
        return None
    p, z = points / n, Z if level == LEVEL else NormalDist().inv_cdf(0.5 + level / 2)
    centre = p + z * z / (2 * n)
    half = z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def mean_variance(squares: float, questions: int, answers: float) -> float:
    """Estimate the sampling variance of a ratio mean of answers in `questions` >= 2 clusters.

    `squares` is the sum over questions of (sum of scores − mean × answers)², `answers` their number in all. With one
    answer a question this is s²/n.
    """
    return squares * questions / (questions - 1) / answers**2


class Group(Struct, frozen=True, kw_only=True):
    """One group of questions, as a mean over groups (or any weighted mean) counts it."""

    worth: float
    """Its questions of equal weight, 1/Σ own share²: how well it tells its own spread."""
    spare: float
    """Its questions less one."""
    squares: float
    """Σ (score − the group's mean)²."""
    shares: float
    """Σ share² of its questions in the whole mean."""
    variance: float
    """What it adds to the variance of the whole mean, by its own spread; and on how many degrees of freedom."""
    degrees: float


def grouped_variance(groups: Sequence[Group]) -> tuple[float, float]:
    """The variance of a mean over groups, and Satterthwaite's degrees of freedom (1946, Biometrics Bulletin 2:110-114).

    A group of twelve that counts as much as one of two hundred leaves about eleven. Groups worth fewer than
    `SMALL_GROUP` questions have the spread of all small ones together, or, where these are too few, of all groups.
    Some group must have two questions.
    """
    small = [group for group in groups if group.worth < SMALL_GROUP - 1e-9]
    parts = [(group.variance, max(1.0, group.degrees)) for group in groups if group.worth >= SMALL_GROUP - 1e-9]
    if small:
        pool = small if math.fsum(group.spare for group in small) >= SMALL_GROUP else groups
        spare = math.fsum(group.spare for group in pool)
        within = math.fsum(group.squares for group in pool) / spare
        parts.append((within * math.fsum(group.shares for group in small), max(1.0, spare)))
    whole = math.fsum(variance for variance, _ in parts)
    if whole <= 0.0:
        return 0.0, min(degrees for _, degrees in parts)
    return whole, whole**2 / math.fsum(variance**2 / degrees for variance, degrees in parts)


def share_interval(mean: float, variance: float, questions: float, degrees: float, level: float = LEVEL) -> Interval:
    """Wilson's interval around a mean of scores in 0..1 with an estimated variance, on `degrees` of freedom.

    The effective number of questions is m(1 − m)/variance, both with one more question of score ½: without it the
    variance, and with it the interval, is nothing where nearly all scores are alike. `questions` may be an effective
    number too, for weighted means: 1/Σ share².
    """
    shrunk = (mean * questions + 0.5) / (questions + 1)
    doubt = variance * (questions - 1) / questions + (mean - 0.5) ** 2 / (questions * (questions + 1))
    if doubt < 1e-18:  # all scores are exactly ½
        return wilson(mean * questions, questions, level) or (0.0, 1.0)
    n, t = shrunk * (1 - shrunk) / doubt, t_quantile(degrees, level)
    centre = mean + t * t / (2 * n)
    half = t * math.sqrt(max(0.0, mean * (1 - mean)) / n + t * t / (4 * n * n))
    scale = 1 + t * t / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def difference_interval(mean: float, variance: float, degrees: float, level: float = LEVEL) -> Interval:
    """Student's t around a mean of differences of shares, which lies in −1..1."""
    half = t_quantile(degrees, level) * math.sqrt(variance)
    return max(-1.0, mean - half), min(1.0, mean + half)


def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """The two-sided quantile of Student's t; degrees of freedom need not be whole."""
    from scipy.special import stdtrit  # 45 MB that a run of 0/1 scores does without

    return float(stdtrit(degrees, 0.5 + level / 2))


def identified_level(width: float, error: float) -> float:
    """At which two-sided level the ends of an identified set are to be taken for 95 % coverage of the mean in it.

    The mean lies somewhere between a floor and a ceiling `width` apart, each estimated with a standard error of at most
    `error`: c with Φ(c + width/error) − Φ(−c) = 0.95 (Imbens and Manski 2004, Econometrica 72:1845-1857, equation 7),
    1.960 where the two ends are one and 1.645 where they are far apart, since the mean is not near both.
    """
    normal = NormalDist()
    apart = width / error if error > 0 else math.inf
    low, high = normal.inv_cdf(LEVEL), Z
    while high - low > 1e-9:
        middle = (low + high) / 2
        enough = normal.cdf(middle + apart) - normal.cdf(-middle) >= LEVEL
        low, high = (low, middle) if enough else (middle, high)
    return 2 * normal.cdf(high) - 1


def standard_deviation(values: list[float]) -> float | None:
    """Sample standard deviation; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))
