"""Quantiles of a mixture of Student's t distributions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

NORMAL = 1e9
"""Degrees of freedom of a normal component."""
_HALVINGS = 60


def mixture_quantile(
    share: float,
    centres: Sequence[float],
    errors: Sequence[float],
    degrees: Sequence[float],
    weights: Sequence[float],
) -> float:
    """The value below which a share of the mixture lies: components centre + error·t(degrees), with weights of sum 1.

    It lies between the smallest and the largest of the components' own quantiles, and is found by halving there.
    """
    from scipy.special import stdtr, stdtrit

    middle, width, freedom = (np.asarray(each, dtype=np.float64) for each in (centres, errors, degrees))
    ends = middle + width * stdtrit(freedom, share)
    low, high = float(ends.min()), float(ends.max())
    positive = np.maximum(width, 1e-300)
    for _ in range(_HALVINGS):
        at = (low + high) / 2
        below = float(np.asarray(weights) @ stdtr(freedom, (at - middle) / positive))
        low, high = (at, high) if below < share else (low, at)
    return (low + high) / 2
