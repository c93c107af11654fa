"""The 95 % interval of a mean of paired differences: at each end the further of two limits.

Bonett and Price's (2012, Journal of Educational and Behavioral Statistics 37:479-488) errs where changes go one way
alone: where the second is worse by exactly 2 points and never better, 6.0 % of sets of 300 questions are called "no
worse by 2 points", which ought to be 2.5. Tango's score interval (1998, Statistics in Medicine 17:891-908) errs at the
other end: there the second is called worse by more than 2 points in 4.1 % of sets. The further limit errs in at most
2.75 % at either end (exact sums: 20 to 300 questions, margins of 1 to 20 points, up to 30 % gained; 3.1 % at 30).
"""

from __future__ import annotations

import math

from viva.analysis.uncertainty import Interval, Wald, Z, t_quantile

_STEPS = 40
"""Halvings of −1..1: to 1e-12."""
_NO_ERROR = 1e-12


def bonett_price(gained: float, lost: float, n: float) -> tuple[Interval, float]:
    """The adjusted Wald interval of a difference of paired shares, and its standard error.

    `gained` and `lost` of `n` are the discordant pairs; one is added to each and two to n.
    """
    up, down = (gained + 1) / (n + 2), (lost + 1) / (n + 2)
    error = math.sqrt((up + down - (up - down) ** 2) / (n + 2))
    return (max(-1.0, up - down - Z * error), min(1.0, up - down + Z * error)), error


def score_interval(up: float, down: float, n: float, quantile: float = Z) -> Interval:
    """Tango's interval of `up` − `down`, the shares of `n` pairs in which the second is better and worse.

    It holds the differences that the score test does not refuse, with their own variance and not the sample's. `n` may
    be an effective number, and the shares means of the positive and the negative differences.
    """
    return _lowest(up, down, n, quantile), -_lowest(down, up, n, quantile)


def _lowest(up: float, down: float, n: float, quantile: float) -> float:
    found = up - down
    refused, held = -1.0, found
    for _ in range(_STEPS):
        middle = (refused + held) / 2
        if n * (found - middle) ** 2 > quantile**2 * _variance(up, down, middle):
            refused = middle
        else:
            held = middle
    return refused


def _variance(up: float, down: float, difference: float) -> float:
    """Of one pair's difference, if the true mean is `difference`: by the likeliest share of losses (Tango, p. 894)."""
    b = (2 - up + down) * difference - up - down
    losses = (math.sqrt(max(0.0, b * b + 8 * down * difference * (1 - difference))) - b) / 4
    return 2 * losses + difference * (1 - difference)


def paired_interval(gained: int, lost: int, n: int) -> tuple[Interval, float]:
    """The 95 % interval of the difference of two shares of `n` questions, and Bonett and Price's standard error."""
    wald, error = bonett_price(gained, lost, n)
    return _hull(wald, score_interval(gained / n, lost / n, n)), error


def weighted_interval(wald: Wald, up: float, down: float, worth: float, error: float, degrees: float) -> Interval:
    """The same of differences in −1..1 of any kind: Tango's is for as many 0/1 questions as have this `error`.

    `up` and `down` are the means of the positive and of the negative differences, without their sign; `worth` is the
    number of questions where they do not differ and there is no error; Student's t on `degrees`.
    """
    number = (up + down - (up - down) ** 2) / error**2 if error > _NO_ERROR else worth
    return _hull(wald.interval, score_interval(up, down, number, t_quantile(degrees)))


def _hull(one: Interval, other: Interval) -> Interval:
    return min(one[0], other[0]), max(one[1], other[1])
