"""One figure of agreement with its interval, or the reason why there is none."""

from __future__ import annotations

from typing import Literal

import msgspec
from msgspec import Struct

from viva.analysis.uncertainty import Interval

Kind = Literal[
    "cronbach", "pearson", "spearman", "krippendorff", "fleiss", "kappa", "kappa_linear", "kappa_quadratic",
    "icc", "icc_mean", "ac1", "ac2", "agreement", "bias", "distance",
]  # fmt: skip
"""`agreement`: the share of equal marks; `bias`: the mean difference; `distance`: the mean absolute difference."""


class Measure(Struct, frozen=True, kw_only=True):
    """One figure. `value` is None where it is not defined, `low` and `high` where there is no 95 % interval.

    `reason` then says why, in words. `n` counts the items that it rests on, `left_out` those that it could not use.
    `interval` names the interval's method.
    """

    kind: Kind
    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    left_out: int = 0
    interval: str = ""
    reason: str = ""


def bounded(measure: Measure, interval: Interval | None, method: str, reason: str = "") -> Measure:
    """Return the measure with its interval, or with the reason why there is none."""
    if interval is None:
        return msgspec.structs.replace(measure, reason=reason)
    return msgspec.structs.replace(measure, low=interval[0], high=interval[1], interval=method)
