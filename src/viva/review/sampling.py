"""Random samples that are the same for every reviewer, on every machine, and whatever the order of the items."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence

from viva.errors import DataError
from viva.review.items import Item


def read_size(text: str) -> int | float:
    """How large a sample is: a number of items ("30"), or a share ("0.1", "10%"). Raises DataError."""
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
    """A simple random sample without replacement, in the order of the items: so many (int) or that share (float).

    Every exam and model gets its share of the sample (largest remainders), and with `by` every value of the tag in it.
    Every item has a rank, made of seed and key; the lowest are drawn.
    """
    total = len(items)
    wanted = min(total, size if isinstance(size, int) else math.ceil(round(size * total, 9)))
    groups: dict[tuple[str, ...], list[Item]] = {}
    for item in items:
        whose = (item.about.get("exam", ""), item.about.get("model", ""))
        groups.setdefault((*whose, *(item.values(by) if by else ())), []).append(item)
    exact = {name: wanted * len(group) / total for name, group in groups.items()}
    counts = {name: int(share) for name, share in exact.items()}
    by_remainder = sorted(groups, key=lambda name: (counts[name] - exact[name], name))
    for name in by_remainder[: wanted - sum(counts.values())]:
        counts[name] += 1
    drawn = {
        item.key
        for name, group in groups.items()
        for item in sorted(group, key=lambda item: _rank(seed, item.key))[: counts[name]]
    }
    return [item for item in items if item.key in drawn]


def _rank(seed: int, key: str) -> bytes:
    return hashlib.blake2b(f"{seed}:{key}".encode("utf-8", "replace"), digest_size=16).digest()
