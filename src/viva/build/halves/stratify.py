"""Draw a share of a set by strata: quotas in exact arithmetic, then the items.

A stratum is a cell: one value of every dimension. Each cell's exact share is rounded up or down, all cells jointly
(controlled rounding, Cox 1987): the total is exact, every value of every dimension is less than one question off its
share wherever that is possible, and of all such roundings the one with the largest remainders is taken. Where
dimensions do not conflict, this is the method of largest remainders.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from fractions import Fraction
from math import ceil, floor
from typing import Any, TypeVar

from msgspec import Struct

Cell = tuple[str, ...]
Name = TypeVar("Name")
_APART = 1_000.0
"""Cost of being one question off in a dimension: more than all remainders together can gain."""
_SCALE = 1_000.0
"""Factor of all costs: the solver treats differences below 1e-6 as equal, and remainders may be that close."""


def largest_remainders(counts: Mapping[Cell, int], share: Fraction, seed: int = 0) -> dict[Cell, int]:
    """Return each cell's quota, rounded to add up to the total; the seed ranks equal remainders."""
    exact = {cell: share * count for cell, count in counts.items()}
    return rounded_shares(exact, _rounded(share * sum(counts.values())), lambda cell: _rank(seed, *cell))


def rounded_shares(exact: Mapping[Name, Fraction | float], total: int, rank: Callable[[Name], Any]) -> dict[Name, int]:
    """Round shares to whole numbers with this total: what rounding down leaves goes to the largest remainders.

    Of equal remainders the lowest `rank` comes first, then the first name.
    """
    floors = {name: floor(share) for name, share in exact.items()}
    order = sorted(exact, key=lambda name: (floors[name] - exact[name], rank(name)))
    for name in order[: total - sum(floors.values())]:
        floors[name] += 1
    return floors


def _rounded(number: Fraction) -> int:
    """Round to the nearest whole number, a half upwards."""
    return floor(number + Fraction(1, 2))


def quotas(counts: Mapping[Cell, int], share: Fraction, seed: int = 0) -> dict[Cell, int]:
    """Return how many of each cell to draw, every dimension in proportion as well (see above)."""
    import numpy as np
    from scipy.optimize import Bounds, LinearConstraint, milp

    plain = largest_remainders(counts, share, seed)
    lower = {cell: floor(share * count) for cell, count in counts.items()}
    # Ordered by the seed: of equally good roundings, the solver's choice depends on the order of its columns.
    open_cells = sorted((cell for cell in counts if share * counts[cell] != lower[cell]), key=lambda c: _rank(seed, *c))
    depth = len(next(iter(counts), ()))
    if depth < 2 or not open_cells:
        return plain
    ups = sum(plain.values()) - sum(lower.values())
    totals: Counter[tuple[int, str]] = Counter()
    floors: Counter[tuple[int, str]] = Counter()
    for cell, count in counts.items():
        for place in enumerate(cell):
            totals[place] += count
            floors[place] += lower[cell]
    places = sorted(totals)
    columns, slack = len(open_cells), len(places)
    # Two slack variables per value: how far below its share rounded down, and above its share rounded up.
    remainders = [float(share * counts[cell] - lower[cell]) for cell in open_cells]
    gains = np.array(remainders) + 1e-6 * (1 - np.arange(columns) / columns)
    costs = _SCALE * np.concatenate((-gains, np.full(2 * slack, _APART)))
    counted = np.array([[float(cell[depth] == value) for cell in open_cells] for depth, value in places])
    slacks = np.eye(slack)
    binary = np.repeat((1.0, 0.0), (columns, 2 * slack))
    matrix = np.vstack((np.hstack((counted, slacks, -slacks)), binary))
    low = [floor(share * totals[place]) - floors[place] for place in places] + [ups]
    high = [ceil(share * totals[place]) - floors[place] for place in places] + [ups]
    solved = milp(
        costs,
        constraints=LinearConstraint(matrix, low, high),
        integrality=binary,
        bounds=Bounds(0, np.where(binary, 1.0, np.inf)),
        options={"mip_rel_gap": 0.0, "time_limit": 60.0},
    )
    if solved.x is None:
        return plain
    chosen = {cell for cell, value in zip(open_cells, solved.x[:columns], strict=True) if value > 0.5}
    return {cell: lower[cell] + (cell in chosen) for cell in counts}


class Drawn(Struct, frozen=True):
    """The positions drawn, the quotas, and cell → how many were not drawn of a quota that could not be filled."""

    chosen: frozenset[int]
    quotas: dict[Cell, int]
    short: dict[Cell, int]


def draw(
    cells: Sequence[Cell],
    share: Fraction,
    *,
    seed: int = 0,
    names: Sequence[str] | None = None,
    groups: Collection[Collection[int]] = (),
) -> Drawn:
    """Draw a random share of the items by cell. The unique `names` are ranked by the seed, so that order does not
    matter.

    Items of one of the `groups` are drawn together or not at all: a group is drawn with the share as its probability
    while every quota has room for it, and more groups only if single items are too few for the total.
    """
    called = names if names is not None else [str(number) for number in range(len(cells))]
    wanted = quotas(Counter(cells), share, seed)
    left = dict(wanted)
    ranks = [_rank(seed, "item", name) for name in called]
    ordered = sorted((sorted(group) for group in groups), key=lambda group: min(ranks[index] for index in group))
    chosen: set[int] = set()

    def take(members: Collection[int]) -> None:
        chosen.update(members)
        for member in members:
            left[cells[member]] -= 1

    for group in ordered:
        dice = int.from_bytes(_rank(seed, "group", *sorted(called[question] for question in group))[:8], "big") / 2**64
        need = Counter(cells[question] for question in group)
        if dice < share and all(left[cell] >= count for cell, count in need.items()):
            take(group)
    bound = {member for group in ordered for member in group}
    for place in sorted(range(len(cells)), key=lambda question: ranks[question]):
        if place not in bound and left[cells[place]] > 0:
            take([place])
    # If only groups are left, some are drawn although a cell exceeds its share: the total has priority.
    for group in ordered:
        if len(group) <= sum(left.values()) and not chosen & set(group):
            take(group)
    return Drawn(frozenset(chosen), wanted, {cell: count for cell, count in left.items() if count > 0})


def connected(count: int, pairs: Collection[tuple[int, int]]) -> list[list[int]]:
    """Return the connected components of `pairs`, each sorted; positions in no pair are left out."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    paired = sorted({member for pair in pairs for member in pair})
    if not paired:
        return []
    heads, tails = zip(*pairs, strict=True)
    _, labels = connected_components(coo_array(([True] * len(heads), (heads, tails)), shape=(count, count)), False)
    groups: defaultdict[int, list[int]] = defaultdict(list)
    for member in paired:
        groups[int(labels[member])].append(member)
    return list(groups.values())


def _rank(seed: int, *parts: str) -> bytes:
    """Return a sort key by seed that is the same on every machine."""
    content = "\x1f".join((str(seed), *parts)).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(content, digest_size=16).digest()
