"""Designs of experiments: what is varied from one answer to the next, and which combinations of it are asked."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from typing import Annotated, Literal

from msgspec import Meta, Struct

FactorName = Literal["prompt", "order", "exemplars", "system", "seed", "judge"]
JUDGE: FactorName = "judge"
"""Not asked for: who marks an answer can be varied once it is there."""
MOST_CELLS = 500
"""Combinations of one design: more are more answers to each question than anybody pays for."""
_LEVELS = {
    "prompt": "prompts", "order": "orders of options", "exemplars": "draws of exemplars", "system": "system texts",
    "seed": "seeds", "judge": "judges",
}  # fmt: skip
_TRIALS, _STARTS = 400, 4
Level = Annotated[int, Meta(ge=0, lt=MOST_CELLS)]


class Factor(Struct, frozen=True):
    """Something that is varied. `levels` are names; the first is what a run that varies nothing asks."""

    name: FactorName
    levels: Annotated[tuple[str, ...], Meta(min_length=2, max_length=MOST_CELLS)]


class Design(Struct, frozen=True):
    """The factors, and the cells in which every question is asked: a level (from 0) of each factor.

    Sample s of a question is asked in cell s modulo the number of cells, so that the first samples cover all cells. The
    first cell has level 0 of everything.
    """

    factors: Annotated[tuple[Factor, ...], Meta(min_length=1, max_length=5)]
    cells: Annotated[tuple[tuple[Level, ...], ...], Meta(min_length=2, max_length=MOST_CELLS)]

    @property
    def sound(self) -> bool:
        """Whether every cell has a level of every factor that exists, no factor is there twice, and none is the judge,
        of whom no question knows."""
        names = {factor.name for factor in self.factors}
        sizes = [len(factor.levels) for factor in self.factors]
        fits = (len(cell) == len(sizes) and all(map(int.__lt__, cell, sizes)) for cell in self.cells)
        return JUDGE not in names and len(names) == len(self.factors) and all(fits)

    def cell(self, sample: int) -> dict[FactorName, int]:
        """The level of each factor in a sample."""
        levels = self.cells[sample % len(self.cells)]
        return {factor.name: level for factor, level in zip(self.factors, levels, strict=True)}

    def named(self, sample: int) -> dict[str, str]:
        """The same by the levels' names."""
        return {factor.name: factor.levels[self.cell(sample)[factor.name]] for factor in self.factors}

    def answer_name(self, sample: int, samples: int) -> str:
        """Which of a question's `samples` answers it is, for people: `prompt base, order 2`."""
        again = [f"sample {sample // len(self.cells)}"] if samples > len(self.cells) else []
        return ", ".join([*(f"{factor} {level}" for factor, level in self.named(sample).items()), *again])

    @property
    def summary(self) -> str:
        """`prompt3.order4`, and the number of cells where not all are asked: `prompt3.order4.in6`."""
        said = ".".join(f"{factor.name}{len(factor.levels)}" for factor in self.factors)
        whole = math.prod(len(factor.levels) for factor in self.factors)
        return said if len(self.cells) == whole else f"{said}.in{len(self.cells)}"

    @property
    def words(self) -> str:
        """`6 combinations of 3 prompts × 2 orders`, for people."""
        said = " × ".join(f"{len(factor.levels)} {_LEVELS[factor.name]}" for factor in self.factors)
        return said if self.factors[0].name == JUDGE else f"{len(self.cells)} combinations of {said}"


def with_judges(design: Design | None, judges: Sequence[str]) -> Design:
    """A design with every one of its cells once under each judge, who change first; of judges alone where there is
    none."""
    factors, cells = (design.factors, design.cells) if design else ((), ((),))
    crossed = tuple((*cell, judge) for cell in cells for judge in range(len(judges)))
    return Design((*factors, Factor(JUDGE, tuple(judges))), crossed)


def factorial(sizes: Sequence[int], cells: int | None = None) -> tuple[tuple[int, ...], ...]:
    """Return all combinations of levels, or `cells` of them in which levels are as balanced as can be.

    A fraction is a nearly orthogonal array: every level of a factor is there equally often (or once more), and the sum
    over pairs of cells of the squared (weighted) number of equal levels, J2 of Xu (Technometrics 44, 2002), is made
    small by exchanges from several starts. The same arguments always give the same cells.
    """
    if cells is None or cells >= math.prod(sizes):
        return tuple(itertools.product(*map(range, sizes)))
    draw = random.Random(f"{sizes}/{cells}")
    found = min((_exchanged(sizes, cells, draw) for _ in range(_STARTS)), key=lambda one: _coincidences(one, sizes))
    # Relabelling the levels of a factor keeps its balance: the first cell is the one that a plain run asks.
    columns = [[(level - column[0]) % size for level in column] for column, size in zip(found, sizes, strict=True)]
    return tuple(sorted(zip(*columns, strict=True)))


def _exchanged(sizes: Sequence[int], cells: int, draw: random.Random) -> list[list[int]]:
    """Columns of balanced levels, improved by exchanges of two entries of a column as long as that helps."""
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
    """J2: over pairs of cells, the square of the sum of sizes of factors in which they have the same level."""
    cells = [*zip(*columns, strict=True)]
    return sum(
        sum(size for size, one, other in zip(sizes, first, second, strict=True) if one == other) ** 2
        for first, second in itertools.combinations(cells, 2)
    )
