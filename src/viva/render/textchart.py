"""Figures as a few characters: a curve in one line, and large numbers as people say them."""

from __future__ import annotations

import math
from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"


def sparkline(values: Sequence[float | None], low: float, high: float) -> str:
    """Return a character a value, scaled from `low` to `high`; a middle dot where there is none."""
    span = high - low

    def block(value: float | None) -> str:
        if value is None:
            return "·"
        share = (value - low) / span if span > 0 else 0.5
        return BLOCKS[min(len(BLOCKS) - 1, max(0, int(share * len(BLOCKS))))]

    return "".join(map(block, values))


def short_number(value: float) -> str:
    """Return `220B`, `1.5T`, `20k`: at most three digits, as people speak of training tokens."""
    if not math.isfinite(value):
        return str(value)
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"
