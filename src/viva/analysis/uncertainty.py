"""Uncertainty of means: variances and 95 % intervals.

Wilson's score interval for 0/1 scores of questions asked once (Wilson 1927; it behaves at 0 and 1, where the textbook
interval has no width). Of a few right or a few wrong answers, its limit towards the end of the scale is too far from
the end: of 19 right of 20 it is 0.991, and where truly 0.994 are right only 88 % of the intervals hold. So that limit
is Poisson's where this is further out, for up to ten answers (Brown, Cai and DasGupta 2001, Statistical Science
16:101-133, section 4.1, for up to three): whatever the truth, 92 % hold from 10 questions on, and 93 % from 59.

Otherwise the variance of the mean is estimated from questions as clusters, because several answers to one question are
not independent (Miller 2024, "Adding Error Bars to Evals", arXiv 2411.00640), and the interval is that of the number of
0/1 questions with the same variance, with Student's t for the normal quantile. A plain t interval collapses near 0 and
1: of 59 questions with ten answers each and one of 590 wrong it is [99.5, 100].
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from functools import lru_cache
from statistics import NormalDist

from msgspec import Struct

LEVEL = 0.95
Z = NormalDist().inv_cdf(0.5 + LEVEL / 2)

RARE = (0.0513, 0.3554, 0.8177, 1.3663, 1.9701, 2.6130, 3.2853, 3.9808, 4.6952, 5.4254)
"""The one-sided 95 % lower limits of a Poisson mean of which 1, 2, ... 10 were seen: χ²(0.05; 2k)/2."""
ALIKE = 1e-9
"""Sums of squares below this are rounding."""
_STEPS = 40
"""Steps of bisection: from −1..1 to 1e-12."""
SMALL_GROUP = 5
"""The fewest questions of a group whose variance is not pooled with that of other small groups."""

_MANY_DEGREES = 1000.0
"""The fewest degrees of freedom for which the expansion is exact to 1e-13."""
_LAST_TERM = 1e-15
"""Relative size of the last term of sums and fractions."""
_LAST_STEP = 1e-12
"""Size of Newton's last step: the error after it is its square."""
_TERMS = 10_000
"""The most terms or steps of a sum, a fraction or Newton's method; a few dozen are usual."""

Interval = tuple[float, float]


def wilson(points: float, n: float, level: float = LEVEL) -> Interval | None:
    """Return Wilson's interval for `points` of `n`; None for n = 0."""
    return _wilson(points / n, n, _quantile(level)) if n else None


def _quantile(level: float) -> float:
    return Z if level == LEVEL else NormalDist().inv_cdf(0.5 + level / 2)


def _wilson(mean: float, n: float, z: float) -> Interval:
    centre = mean + z * z / (2 * n)
    half = z * math.sqrt(max(0.0, mean * (1 - mean)) / n + z * z / (4 * n * n))
    scale = 1 + z * z / n
    return max(0.0, (centre - half) / scale), min(1.0, (centre + half) / scale)


def zero_one_interval(points: float, n: float, level: float = LEVEL) -> Interval | None:
    """Return the interval of a mean of n scores of 0 and 1 that sum up to `points`; None for n = 0."""
    return _around(points / n, n, _quantile(level), level) if n else None


def _around(mean: float, n: float, z: float, level: float) -> Interval:
    """Return Wilson's interval, with Poisson's limit towards the nearer end of the scale where this is further out."""
    low, high = _wilson(mean, n, z)
    if mean < 0.5:
        return min(low, _rare(mean * n, level) / n), high
    return (low, max(high, 1 - _rare((1 - mean) * n, level) / n)) if mean > 0.5 else (low, high)


def _rare(count: float, level: float) -> float:
    """Return the one-sided lower limit of a Poisson mean with `count` seen; infinity where Wilson's is lower."""
    if count > len(RARE) or level < 0.05:
        return math.inf
    whole = round(count)
    if abs(count - whole) < ALIKE and (level == LEVEL or not whole):
        return RARE[whole - 1] if whole else 0.0
    return gamma_quantile(count, 1 - level)


def mean_variance(squares: float, questions: int, answers: float) -> float:
    """Estimate the sampling variance of a ratio mean of answers in `questions` >= 2 clusters.

    `squares` is the sum over questions of (sum of scores − mean × answers)², `answers` their number in all. With one
    answer a question this is s²/n.
    """
    return squares * questions / (questions - 1) / answers**2


class Group(Struct, frozen=True, kw_only=True):
    """One group of questions in a mean over groups, or in any weighted mean."""

    worth: float
    """Effective number of its questions: 1/Σ own share²."""
    spare: float
    """Number of its questions less one."""
    squares: float
    """Σ (score − the group's mean)²."""
    shares: float
    """Σ share² of its questions in the whole mean."""
    variance: float
    """Contribution to the variance of the whole mean, by its own variance; and the degrees of freedom of that."""
    degrees: float


def grouped_variance(groups: Sequence[Group]) -> tuple[float, float]:
    """Return the variance of a mean over groups, and Satterthwaite's degrees of freedom (1946, Biometrics Bulletin
    2:110-114).

    A group of twelve that counts as much as one of two hundred leaves about eleven. Groups worth fewer than
    `SMALL_GROUP` questions take the variance of all small ones together, or, where these are too few, of all groups.
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
    return whole, 1 / math.fsum((variance / whole) ** 2 / degrees for variance, degrees in parts)


def share_interval(mean: float, variance: float, questions: float, degrees: float, level: float = LEVEL) -> Interval:
    """Return the interval around a mean of scores in 0..1 with an estimated variance, on `degrees` of freedom.

    The effective number of questions is m(1 − m)/variance, both with one more question of score ½: without it the
    variance, and with it the interval, is nothing where nearly all scores are alike. Its squared distance from the mean
    counts twice, so that of n scores of 0 the effective number is n, as of 0/1 scores; counted once it would be 2n,
    and as few as 85 % of the intervals held near 0 and 1 (performance/coverage.py). `questions` may be an effective
    number too, for weighted means: 1/Σ share².
    """
    shrunk = (mean * questions + 0.5) / (questions + 1)
    doubt = variance * (questions - 1) / questions + 2 * (mean - 0.5) ** 2 / (questions * (questions + 1))
    if doubt < 1e-18:  # all scores are exactly ½
        return zero_one_interval(mean * questions, questions, level) or (0.0, 1.0)
    return _around(mean, shrunk * (1 - shrunk) / doubt, t_quantile(degrees, level), level)


class Wald(Struct, frozen=True, kw_only=True):
    """The adjusted Wald interval of a mean difference, within −1..1."""

    interval: Interval
    centre: float
    """The middle of the interval before it is cut at ±1: nearer 0 than the mean."""
    error: float


def adjusted_wald(mean: float, error: float, questions: float, degrees: float, level: float = LEVEL) -> Wald:
    """Return the adjusted Wald interval of a mean of differences of shares, each in −1..1, from its standard error.

    Bonett and Price's for pairs of 0/1 scores (2012, Journal of Educational and Behavioral Statistics 37:479-488), for
    differences of any kind: with two more questions, one a whole point up and one down. A plain t interval collapses
    where few differences are not 0: near means of 0.02 as few as 75 % of such intervals held (performance/README.md).
    `questions` may be an effective number, 1/Σ share²; Student's t on `degrees`. The interval contains the mean.
    """
    centre = mean * questions / (questions + 2)
    squares = error**2 * questions * (questions - 1) + questions * mean**2 + 2 - (questions + 2) * centre**2
    adjusted = math.sqrt(max(0.0, squares)) / (questions + 2)
    half = t_quantile(degrees, level) * adjusted
    return Wald(interval=(max(-1.0, centre - half), min(1.0, centre + half)), centre=centre, error=adjusted)


def score_interval(up: float, down: float, n: float, quantile: float = Z) -> Interval:
    """Return Tango's interval of `up` − `down`, the shares of `n` pairs in which the second is better and worse.

    It contains the differences that the score test does not reject, with the variance under each and not the sample's
    (Tango 1998, Statistics in Medicine 17:891-908). `n` may be an effective number, and the shares means of the
    positive and the negative differences. The adjusted Wald interval errs where changes go one way alone: where the
    second is worse by exactly 2 points and never better, 6.0 % of sets of 300 questions are called "no worse by 2
    points", which ought to be 2.5; Tango's errs at the other end (4.1 %). The further limit of the two at each end errs
    in at most 2.75 % (exact sums: 20 to 300 questions, margins of 1 to 20 points, up to 30 % gained; 3.1 % at 30).
    """
    return _lowest(up, down, n, quantile), -_lowest(down, up, n, quantile)


def _lowest(up: float, down: float, n: float, quantile: float) -> float:
    apart = up - down

    def refused(difference: float) -> bool:
        return n * (apart - difference) ** 2 > quantile**2 * _variance(up, down, difference)

    return halved(refused, -1.0, apart)[0]


def halved(holds: Callable[[float], bool], inside: float, outside: float, steps: int = _STEPS) -> Interval:
    """Halve, `steps` times, the range from a point where a condition holds to one where it does not; return its
    ends.
    """
    for _ in range(steps):
        middle = (inside + outside) / 2
        inside, outside = (middle, outside) if holds(middle) else (inside, middle)
    return inside, outside


def _variance(up: float, down: float, difference: float) -> float:
    """Return the variance of one pair's difference if the true mean is `difference`, by the likeliest share of losses
    (Tango, p. 894).
    """
    b = (2 - up + down) * difference - up - down
    losses = (math.sqrt(max(0.0, b * b + 8 * down * difference * (1 - difference))) - b) / 4
    return 2 * losses + difference * (1 - difference)


def identified_level(width: float, error: float, level: float = LEVEL) -> float:
    """Return the two-sided level for the ends of an identified set that covers the mean in it with probability `level`.

    The mean lies somewhere between a floor and a ceiling `width` apart, each estimated with a standard error of at most
    `error`: c with Φ(c + width/error) − Φ(−c) = 0.95 (Imbens and Manski 2004, Econometrica 72:1845-1857, equation 7),
    1.960 where the two ends are one and 1.645 where they are far apart, since the mean is not near both.
    """
    normal = NormalDist()
    apart = width / error if error > 0 else math.inf
    low, high = normal.inv_cdf(max(level, 0.5)), _quantile(level)
    while high - low > 1e-9:
        middle = (low + high) / 2
        enough = normal.cdf(middle + apart) - normal.cdf(-middle) >= level
        low, high = (low, middle) if enough else (middle, high)
    return 2 * normal.cdf(high) - 1


def standard_deviation(values: list[float]) -> float | None:
    """Return the sample standard deviation; None for fewer than two values."""
    if len(values) < 2:
        return None
    mean = statistics.fmean(values)
    return math.sqrt(math.fsum((value - mean) ** 2 for value in values) / (len(values) - 1))


@lru_cache(maxsize=1 << 14)
def t_quantile(degrees: float, level: float = LEVEL) -> float:
    """Return the two-sided quantile of Student's t; NaN for degrees of freedom that are not positive.

    By Newton's method for the logarithm of the tail's probability, to 1e-12: a regularised incomplete beta function by
    its continued fraction (DLMF 8.17.22), from 1,000 degrees on Cornish and Fisher's expansion (Abramowitz and Stegun
    26.7.5). Every table with intervals needs it, and importing SciPy takes as long as half a run of a small set
    (performance/README.md).
    """
    if not degrees > 0:
        return math.nan
    t = _expansion(degrees, NormalDist().inv_cdf(0.5 + level / 2))
    if degrees >= _MANY_DEGREES:
        return t
    if degrees < 1:
        t = max(t, 1.0)
    scale = (math.lgamma((degrees + 1) / 2) - math.lgamma(degrees / 2)) - 0.5 * math.log(degrees * math.pi)
    for _ in range(_TERMS):
        density = 2 * math.exp(scale - (degrees + 1) / 2 * math.log1p(t * t / degrees))
        tail = _tail(t, degrees)
        step = math.log(tail / (1 - level)) * tail / density
        t = max(t + step, t / 2)
        if abs(step) <= _LAST_STEP * t:
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
    """Return the probability beyond ±t: the regularised incomplete beta function at ν/(ν + t²)."""
    x, a, b = degrees / (degrees + t * t), degrees / 2, 0.5
    return _beta(x, a, b) if x < (a + 1) / (a + b + 2) else 1 - _beta(t * t / (degrees + t * t), b, a)


def _beta(x: float, a: float, b: float) -> float:
    """Return the regularised incomplete beta function by Lentz's method; `x` below (a + 1)/(a + b + 2), for fast
    convergence.
    """
    upper, lower = 1.0, 1 / (1 - (a + b) * x / (a + 1))
    value = lower
    for m in range(1, _TERMS):
        for each in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            lower, upper = 1 / (1 + each * lower), 1 + each / upper
            value *= lower * upper
        if abs(lower * upper - 1) < _LAST_TERM:
            break
    front = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + a * math.log(x) + b * math.log1p(-x)
    return math.exp(front) * value / a


@lru_cache(maxsize=1 << 14)
def gamma_quantile(shape: float, probability: float) -> float:
    """Return the quantile of the gamma distribution of scale 1; `shape` and `probability` above 0, the latter below 1.

    By Newton's method for the logarithm of the probability, a power series (DLMF 8.7.1), to 1e-12: that is concave in
    log x, and the first point lies below the quantile, so every step stays below it.
    """
    wanted, whole = math.log(probability), math.lgamma(shape + 1)
    x_log = (wanted + whole) / shape
    for _ in range(_TERMS):
        x = math.exp(x_log)
        if x == 0.0:
            return 0.0
        total = term = 1.0
        n = 0
        while term > total * _LAST_TERM / 10:
            n += 1
            term *= x / (shape + n)
            total += term
        step = (wanted - (shape * x_log - x - whole + math.log(total))) * total / shape
        x_log += step
        if step < _LAST_STEP * max(1.0, abs(x_log)):  # below 0 is rounding, never smaller near a probability of 1
            break
    return math.exp(x_log)
