"""Combinations of levels to ask: all, or a balanced fraction; and judges as one more factor."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence

from viva.designs import JUDGE, Design, Factor

_TRIALS, _STARTS = 400, 4


def with_judges(design: Design | None, judges: Sequence[str]) -> Design:
    """Return a design with each cell repeated under every judge, judges changing fastest; without a design, of judges
    alone.
    """
    factors, cells = (design.factors, design.cells) if design else ((), ((),))
    crossed = tuple((*cell, judge) for cell in cells for judge in range(len(judges)))
    return Design((*factors, Factor(JUDGE, tuple(judges))), crossed)


def factorial(sizes: Sequence[int], cells: int | None = None) -> tuple[tuple[int, ...], ...]:
    """Return all combinations of levels, or `cells` of them with levels as balanced as possible.

    A fraction is a nearly orthogonal array: every level of a factor occurs equally often (or once more), and the sum
    over pairs of cells of the squared (weighted) number of equal levels, J2 of Xu (Technometrics 44, 2002), is made
    small by exchanges from several starts. The same arguments always give the same cells.
    """
    if cells is None or cells >= math.prod(sizes):
        return tuple(itertools.product(*map(range, sizes)))
    draw = random.Random(f"{sizes}/{cells}")
    design = min(
        (_exchanged(sizes, cells, draw) for _ in range(_STARTS)), key=lambda candidate: _coincidences(candidate, sizes)
    )
    # Relabelling a factor's levels keeps the balance, and makes the first cell that of a plain run.
    columns = [[(level - column[0]) % size for level in column] for column, size in zip(design, sizes, strict=True)]
    return tuple(sorted(zip(*columns, strict=True)))


def _exchanged(sizes: Sequence[int], cells: int, draw: random.Random) -> list[list[int]]:
    """Return columns of balanced levels, improved by exchanges of two entries of a column as long as that helps."""
    columns = [[number % size for number in range(cells)] for size in sizes]
    for column in columns[1:]:
        draw.shuffle(column)
    best = _coincidences(columns, sizes)
    for _ in range(_TRIALS):
        column = draw.choice(columns)
        first, second = draw.randrange(cells), draw.randrange(cells)
        column[first], column[second] = column[second], column[first]
        now = _coincidences(columns, sizes)
        if now > best:
            column[first], column[second] = column[second], column[first]
        best = min(best, now)
    return columns


def _coincidences(columns: Sequence[Sequence[int]], sizes: Sequence[int]) -> int:
    """Return J2: the sum, over pairs of cells, of the squared sum of sizes of factors in which their levels are
    equal.
    """
    cells = [*zip(*columns, strict=True)]
    return sum(
        sum(size for size, left, other in zip(sizes, first, second, strict=True) if left == other) ** 2
        for first, second in itertools.combinations(cells, 2)
    )
