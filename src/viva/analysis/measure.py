"""One figure of agreement with its interval, or the reason why there is none."""

from __future__ import annotations

import math
from typing import Literal

import msgspec
from msgspec import Struct

from viva.analysis.uncertainty import Interval, t_quantile

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
    """The measure with its interval, or with the reason why there is none."""
    if interval is None:
        return msgspec.structs.replace(measure, reason=reason)
    return msgspec.structs.replace(measure, low=interval[0], high=interval[1], interval=method)


def mean_interval(values: list[float], clusters: list[int]) -> tuple[float, Interval | None]:
    """A mean with Student's t over clusters (Miller 2024); no interval for one cluster or where nothing varies."""
    mean = math.fsum(values) / len(values)
    sums: dict[int, float] = {}
    for value, cluster in zip(values, clusters, strict=True):
        sums[cluster] = sums.get(cluster, 0.0) + value - mean
    squares = math.fsum(each * each for each in sums.values())
    if len(sums) < 2 or squares <= 1e-24 * len(values):
        return mean, None
    half = t_quantile(len(sums) - 1) * math.sqrt(squares * len(sums) / (len(sums) - 1)) / len(values)
    return mean, (mean - half, mean + half)
