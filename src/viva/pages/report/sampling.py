"""Which items a report shows where they are too many: a seeded sample of every exam, model and outcome."""

from __future__ import annotations

import random
from collections.abc import Hashable, Sequence


def shares(sizes: Sequence[int], wanted: int) -> list[int]:
    """How many to take of each stratum: in proportion, by largest remainders, and at least one of each that is there.

    Where there are more strata than wanted items, every one still gives one: rare outcomes are what readers look for.
    """
    total = sum(sizes)
    if total <= wanted:
        return list(sizes)
    taken = [max(1, size * wanted // total) if size else 0 for size in sizes]
    by_remainder = sorted(range(len(sizes)), key=lambda at: (-(sizes[at] * wanted % total), at))
    while sum(taken) < wanted:
        for at in by_remainder:
            if sum(taken) < wanted and taken[at] < sizes[at]:
                taken[at] += 1
    while sum(taken) > wanted and max(taken) > 1:
        taken[taken.index(max(taken))] -= 1
    return taken


def stratified(strata: Sequence[Hashable], wanted: int, seed: int) -> set[int] | None:
    """The places of a sample of `wanted` items, each stratum in proportion; None where all fit. Deterministic."""
    if len(strata) <= wanted:
        return None
    places: dict[Hashable, list[int]] = {}
    for place, stratum in enumerate(strata):
        places.setdefault(stratum, []).append(place)
    draw = random.Random(seed)
    chosen: set[int] = set()
    for found, count in zip(places.values(), shares([len(one) for one in places.values()], wanted), strict=True):
        chosen.update(draw.sample(found, count))
    return chosen
