"""Random samples that are the same for every reviewer, on every machine, and whatever the order of the items."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

from viva.errors import DataError
from viva.review.items import UNCERTAINTY, Item

ERRORS = {"sure": 0.2, "between marks": 0.35, "near": 0.35, "far apart": 0.5}
"""What is expected of the standard deviation of an expert's mark about the verdict, a share of the full mark, by
`Item.values(UNCERTAINTY)`. Only how many are drawn rests on it: whatever the true ones, the estimate is unbiased."""
LEAST = 5
"""Items of each value of `UNCERTAINTY` that are drawn at least: the estimate takes its variance from them."""


def read_size(text: str) -> int | float:
    """Return how large a sample is: a number of items ("30"), or a share ("0.1", "10%"). Raises DataError."""
    wrong = DataError(f"a sample of {text!r} cannot be drawn: give a number of items (30) or a share (0.1 or 10%)")
    if len(text) > 20:
        raise DataError("the size of the sample is too long to be a number: give a number (30) or a share (0.1)")
    try:
        size = float(text.removesuffix("%")) / 100 if text.endswith("%") else float(text)
    except ValueError:
        raise wrong from None
    if text.isascii() and text.isdecimal() and size >= 1:
        return int(text)
    if not 0 < size <= 1:
        raise wrong
    return size


def sample_items(items: Sequence[Item], size: int | float, seed: int, by: str = "") -> list[Item]:
    """Return a simple random sample without replacement, in the order of the items: so many (int) or that share
    (float).

    Every exam and model gets its share of the sample (largest remainders), and with `by` every value of the tag in it.
    Every item has a rank, made of seed and key; the lowest are drawn. By `UNCERTAINTY` a value's share is larger the
    less sure the judges are: `ERRORS` times its number of items, and `LEAST` items at least.
    """
    total = len(items)
    wanted = min(total, size if isinstance(size, int) else math.ceil(round(size * total, 9)))
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        whose = (item.about.get("exam", ""), item.about.get("model", ""))
        groups.setdefault((*whose, *(item.values(by) if by else ())), []).append(item)
    counts = _allocated(groups, wanted, by == UNCERTAINTY)
    drawn = {
        item.key
        for name, group in groups.items()
        for item in sorted(group, key=lambda item: _rank(seed, item.key))[: counts[name]]
    }
    return [item for item in items if item.key in drawn]


def _allocated(
    groups: Mapping[tuple[str, ...], Sequence[Item]], wanted: int, uneven: bool
) -> dict[tuple[str, ...], int]:
    """Return how many of each group are drawn: in proportion to its items; `uneven`: to its items times their usual
    error.
    """
    sizes = {name: len(group) for name, group in groups.items()}
    counts: dict[tuple[str, ...], int] = {}
    if uneven:  # a group cannot give more than it has: what is left over is shared by the others
        counts = {name: size for name, size in sizes.items() if size <= LEAST}
        sizes = {name: size for name, size in sizes.items() if size > LEAST}
    while sizes:
        left = max(0, wanted - sum(counts.values()))
        weights = {name: size * (ERRORS[name[-1]] if uneven else 1.0) for name, size in sizes.items()}
        exact = {name: left * weight / sum(weights.values()) for name, weight in weights.items()}
        whole = {
            name: LEAST if share < LEAST else sizes[name]
            for name, share in exact.items()
            if uneven and not LEAST <= share < sizes[name]
        }
        if not whole:
            counts |= {name: int(share) for name, share in exact.items()}
            by_remainder = sorted(sizes, key=lambda name: (counts[name] - exact[name], name))
            for name in by_remainder[: max(0, wanted - sum(counts.values()))]:
                counts[name] += 1
            return counts
        counts |= whole
        sizes = {name: size for name, size in sizes.items() if name not in whole}
    return counts


def _rank(seed: int, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{key}".encode("utf-8", "replace"), digest_size=16).digest()
