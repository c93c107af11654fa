"""At which size a curve reaches a score: a curve read backwards, with how far that can be trusted."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from msgspec import Struct

from viva.analysis.scaling import Fit, predict

FURTHEST = 1e6
"""Billions of parameters up to which is looked: far beyond anything that a curve of today's models can say."""
_STEPS = 400
_HALVINGS = 60


class Reach(Struct, frozen=True, kw_only=True):
    """Sizes in billions. None: not up to FURTHEST."""

    score: float
    """What is to be reached, as a share of 1."""
    size: float | None
    """Where the curve itself has it; the smallest fitted size where it has it already there."""
    low: float | None
    high: float | None
    """Between these a single model may have it: where the upper and the lower end of the 95 % interval of one more
    model's score reach it. Both None where the curve has no interval."""
    beyond: float | None
    """How many times the largest fitted size `size` is; 1 where it lies within."""


def reach(fit: Fit, score: float) -> Reach:
    """The first size, from the smallest fitted one on, at which a curve has a score."""

    def ends(size: float, end: str) -> float:
        said = getattr(predict(fit, size), end)
        return -np.inf if said is None else float(said)

    size = _first(lambda at: predict(fit, at).score >= score, fit.smallest)
    known = predict(fit, fit.smallest).low is not None
    return Reach(
        score=score,
        size=size,
        low=_first(lambda at: ends(at, "high") >= score, fit.smallest) if known else None,
        high=_first(lambda at: ends(at, "low") >= score, fit.smallest) if known else None,
        beyond=None if size is None else max(1.0, size / fit.largest),
    )


def _first(holds: Callable[[float], bool], smallest: float) -> float | None:
    """The smallest size at which a condition holds, to one part in 10^15 of the step in which it begins to."""
    if holds(smallest):
        return smallest
    sizes = np.geomspace(smallest, FURTHEST, _STEPS)
    found = next((index for index, size in enumerate(sizes) if holds(float(size))), None)
    if found is None:
        return None
    low, high = float(sizes[found - 1]), float(sizes[found])
    for _ in range(_HALVINGS):
        middle = (low * high) ** 0.5
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
