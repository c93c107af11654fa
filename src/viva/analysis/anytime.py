"""A paired test that may be looked at after every question: an e-value, and an interval that holds at all times.

Somebody bets on the differences d of the second contestant minus the first, one question after another, and begins with
1. A bet of λ on a mean of 0 makes Π (1 + λ·d) of it, for any λ from -1 to 1; if the mean is 0 nobody gets richer on
average, and by Ville's inequality the capital ever reaches 20 with a chance of at most 1 in 20, however often one looks
and whenever one stops (Waudby-Smith and Ramdas 2024, JRSS B 86:1-27; Ramdas et al. 2023, Statistical Science
38:576-601). The capital here is an average over many λ, fixed beforehand, with the density of 2θ - 1, θ of Beta(a, a):

    for 0/1 scores, g gained and l lost questions:    e = 2^(g+l)·B(g + a, l + a) / B(a, a)

which ties do not change; for fractions the average is over `NODES` values of λ, which is a bet as good as any. It does
not depend on the order, so that it can be read off the questions answered so far. p = min(1, 1/e) holds at all times.

*Interval*: all means m against which the capital has not reached 20. With x = (1 + d)/2 in 0..1 and μ = (1 + m)/2 the
bets are 1 - s + s·x/μ (the mean is higher) and 1 - s + s·(1 - x)/(1 - μ), s = |λ|. Each is log-convex in μ, so the
average is convex, and what is below 20 is one interval.

What it takes for granted: the questions answered so far are a random draw from all that could be asked (asked in a
random order), each counts alike, and scores lie in 0..1.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.comparing import Floats
from viva.analysis.uncertainty import LEVEL

PRIOR = 5.0
"""a: bets of about ±0.3, right for 65 of 100 differing questions. With it 80 % power takes about 1.65 times the
questions of a test with a fixed number, and half of the tests end at about that number (`performance/nulltests.py`)."""
NODES = 128
LIMIT = 1 / (1 - LEVEL)
"""Of one test; of several that are to hold at once, so often as many."""
_HALVINGS = 40


class Anytime(Struct, frozen=True, kw_only=True):
    """What the questions so far say, however often they were looked at. Shares of 1."""

    n: int
    e: float
    """The capital: evidence against no difference. 20 and more is significant at 5 %; it may be infinite."""
    p: float
    low: float
    high: float
    """The 95 % interval of the difference that holds at all times at once."""


def anytime(differences: Floats, tests: int = 1) -> Anytime | None:
    """Return the e-value and interval of paired differences, each in -1..1; None for none, and for any beyond that.

    `tests`: how many intervals and p are to hold at once (Bonferroni's).
    """
    if not len(differences) or float(np.abs(differences).max()) > 1 + 1e-9:
        return None
    values, counts = np.unique(np.round((1 + np.clip(differences, -1, 1)) / 2, 12), return_counts=True)
    middle = float(np.average(values, weights=counts))
    capital = _log_capital(values, counts, 0.5)
    ends = [_end(values, counts, middle, limit, math.log(LIMIT * tests)) for limit in (0.0, 1.0)]
    return Anytime(
        n=len(differences),
        e=math.exp(capital) if capital < 700 else math.inf,
        p=min(1.0, tests * math.exp(-capital)),
        low=2 * ends[0] - 1,
        high=2 * ends[1] - 1,
    )


def _end(values: Floats, counts: NDArray[np.int64], middle: float, limit: float, enough: float) -> float:
    """Return where, from the mean to a limit, the logarithm of the capital is enough; the limit where it never is."""
    near, far = middle, limit
    if _log_capital(values, counts, limit) < enough:
        return limit
    for _ in range(_HALVINGS):
        at = (near + far) / 2
        near, far = (near, at) if _log_capital(values, counts, at) >= enough else (at, far)
    return far


def _log_capital(values: Floats, counts: NDArray[np.int64], mean: float) -> float:
    """Return the logarithm of the average capital of bets against a mean; `values` and `mean` in 0..1."""
    sizes, weights = _bets()
    with np.errstate(divide="ignore", invalid="ignore"):
        more = np.log1p(sizes[:, None] * (np.where(values > 0, values / mean if mean > 0 else np.inf, 0.0) - 1))
        less = np.log1p(
            sizes[:, None] * (np.where(values < 1, (1 - values) / (1 - mean) if mean < 1 else np.inf, 0.0) - 1)
        )
    both = np.concatenate([more @ counts, less @ counts]) + np.tile(np.log(weights), 2)
    largest = float(both.max())
    return largest if math.isinf(largest) else largest + math.log(float(np.exp(both - largest).sum()))


@functools.cache
def _bets() -> tuple[Floats, Floats]:
    """Return sizes of the bets, from 0 to 1, and the weight of each, on either side: Gauss and Jacobi's rule of Beta(a,
    a).
    """
    from scipy.special import roots_jacobi

    nodes, weights = roots_jacobi(NODES, PRIOR - 1, PRIOR - 1)
    kept = nodes > 0
    return nodes[kept], weights[kept] / weights.sum()
