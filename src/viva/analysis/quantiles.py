"""Quantiles of Student's t and of the gamma distribution without SciPy, to 1e-12.

Every table with intervals takes them, and to load SciPy's takes as long as half a run of a small set
(performance/README.md).
Both solve for the logarithm of a probability by Newton's method. The tail of t is a regularised incomplete beta
function by its continued fraction (DLMF 8.17.22), from 1,000 degrees on the quantile is Cornish and Fisher's expansion
(Abramowitz and Stegun 26.7.5); the incomplete gamma function is its power series (DLMF 8.7.1).
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

_MANY = 1000.0
"""Degrees of freedom from which on the expansion is exact to 1e-13."""
_CLOSE = 1e-15
"""Of sums and fractions."""
_ENOUGH = 1e-12
"""Of a step of Newton's: what is left after it is the square of that."""
_STEPS = 10_000
"""Of a sum, a fraction or of Newton's at most; a few dozen are the rule."""


@lru_cache(maxsize=1 << 14)
def t_quantile(degrees: float, level: float) -> float:
    """The two-sided quantile of Student's t; degrees of freedom need not be whole. NaN where they are not positive."""
    if not degrees > 0:
        return math.nan
    t = _expansion(degrees, NormalDist().inv_cdf(0.5 + level / 2))
    if degrees >= _MANY:
        return t
    if degrees < 1:
        t = max(t, 1.0)
    scale = (math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) - 0.5 * math.log(degrees * math.pi)
    for _ in range(_STEPS):
        density = 2 * math.exp(scale - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        tail = _tail(t, degrees)
        step = math.log(tail / (1 - level)) * tail / density
        t = max(t + step, t / 2)
        if abs(step) <= _ENOUGH * t:
            break
    return t


def _expansion(degrees: float, z: float) -> float:
    square = z * z
    first = z * (square + 1) / 4
    second = z * ((5 * square + 16) * square + 3) / 96
    third = z * (((3 * square + 19) * square + 17) * square - 15) / 384
    fourth = z * ((((79 * square + 776) * square + 1482) * square - 1920) * square - 945) / 92160
    return z + (first + (second + (third + fourth / degrees) / degrees) / degrees) / degrees


def _tail(t: float, degrees: float) -> float:
    """The probability beyond ±t: the regularised incomplete beta function at ν/(ν + t²)."""
    x, a, b = degrees / (degrees + t * t), degrees / 2, 0.5
    return _beta(x, a, b) if x < (a + 1) / (a + b + 2) else 1 - _beta(t * t / (degrees + t * t), b, a)


def _beta(x: float, a: float, b: float) -> float:
    """By Lentz's method; `x` below (a + 1)/(a + b + 2), where it ends soon."""
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    found = lower
    for m in range(1, _STEPS):
        for each in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower, upper = 1 / (1 + each * lower), 1 + each / upper
            found *= lower * upper
        if abs(lower * upper - 1) < _CLOSE:
            break
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * found / a


@lru_cache(maxsize=1 << 14)
def gamma_quantile(shape: float, probability: float) -> float:
    """The quantile of the gamma distribution of scale 1; `shape` and `probability` above 0, the latter below 1.

    log P is concave in log x, and the first point lies below the quantile: every step stays below it.
    """
    wanted, whole = math.log(probability), math.lgamma(shape + 1)
    at = (wanted + whole) / shape
    for _ in range(_STEPS):
        x = math.exp(at)
        if x == 0.0:
            return 0.0
        total = term = 1.0
        n = 0
        while term > total * _CLOSE / 10:
            n += 1
            term *= x / (shape + n)
            total += term
        step = (wanted - (shape * at - x - whole + math.log(total))) * total / shape
        at += step
        if step < _ENOUGH * max(1.0, abs(at)):  # below 0 is rounding, which near a probability of 1 never gets smaller
            break
    return math.exp(at)
