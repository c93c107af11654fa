"""How far a mean can be trusted: 95 % intervals.

Wilson's score interval for 0/1 scores of questions asked once (Wilson 1927; it behaves at 0 and 1, where the textbook
interval has no width); Student's t on question clusters otherwise, because several answers to one question are not
independent (Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640).
"""

from __future__ import annotations

import math
from statistics import NormalDist

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)

Interval = tuple[float, float]


def wilson(points: float, n: int) -> Interval | None:
    """Wilson's interval for `points` of `n`; None for n = 0."""
    if n == 0:
        return None
    p = points / n
    centre = p + Z * Z / (2 * n)
    half = Z * math.sqrt(p * (1 - p) / n + Z * Z / (4 * n * n))
    scale = 1 + Z * Z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def clustered(mean: float, squares: float, clusters: int, answers: float, least: float = 0.0) -> Interval | None:
    """Student's t around a ratio mean of clustered answers; None where there are fewer than two clusters.

    `squares` is the sum over clusters of (sum of scores − mean × answers)², `answers` their number in all. With one
    answer a cluster this is the ordinary t interval of a mean. Scores lie between `least` and 1.
    """
    if clusters < 2 or answers == 0:
        return None
    error = math.sqrt(squares * clusters / (clusters - 1)) / answers
    half = t_quantile(clusters - 1) * error
    return max(least, mean - half), min(1.0, mean + half)


def stratified(mean: float, variances: list[float], least: float = 0.0) -> Interval | None:
    """An interval around a macro average: the strata's sampling variances add up, each weighted 1/k².

    Scores lie between `least` and 1.
    """
    if not variances:
        return None
    error = math.sqrt(sum(variances)) / len(variances)
    return max(least, mean - Z * error), min(1.0, mean + Z * error)


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
