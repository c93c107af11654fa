"""Designs of experiments: factors that vary between answers, and the combinations that are asked."""

from __future__ import annotations

import math
from typing import Annotated, Literal

from msgspec import Meta, Struct

FactorName = Literal["prompt", "order", "exemplars", "system", "seed", "judge"]
JUDGE: FactorName = "judge"
"""The factor of the judges, varied after answering: no question is asked differently for it."""
MOST_CELLS = 500
"""Most cells of one design: each costs an answer to every question."""
_LEVELS = {
    "prompt": "prompts", "order": "orders of options", "exemplars": "draws of exemplars", "system": "system texts",
    "seed": "seeds", "judge": "judges",
}  # fmt: skip
Level = Annotated[int, Meta(ge=0, lt=MOST_CELLS)]


class Factor(Struct, frozen=True):
    """A factor of a design. `levels` are names; the first is the one of a run without a design."""

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
        """Whether every cell has an existing level of every factor, no factor is repeated, and none is the judge."""
        names = {factor.name for factor in self.factors}
        sizes = [len(factor.levels) for factor in self.factors]
        fits = (len(cell) == len(sizes) and all(map(int.__lt__, cell, sizes)) for cell in self.cells)
        return JUDGE not in names and len(names) == len(self.factors) and all(fits)

    def cell(self, sample: int) -> dict[FactorName, int]:
        """Return the level of each factor in a sample."""
        levels = self.cells[sample % len(self.cells)]
        return {factor.name: level for factor, level in zip(self.factors, levels, strict=True)}

    def named(self, sample: int) -> dict[str, str]:
        """Return the name of each factor's level in a sample."""
        return {factor.name: factor.levels[self.cell(sample)[factor.name]] for factor in self.factors}

    def answer_name(self, sample: int, samples: int) -> str:
        """Return which of a question's `samples` answers it is, for people: `prompt base, order 2`."""
        again = [f"sample {sample // len(self.cells)}"] if samples > len(self.cells) else []
        return ", ".join([*(f"{factor} {level}" for factor, level in self.named(sample).items()), *again])

    @property
    def summary(self) -> str:
        """`prompt3.order4`, with the number of cells where not all are asked: `prompt3.order4.in6`."""
        factors = ".".join(f"{factor.name}{len(factor.levels)}" for factor in self.factors)
        whole = math.prod(len(factor.levels) for factor in self.factors)
        return factors if len(self.cells) == whole else f"{factors}.in{len(self.cells)}"

    @property
    def words(self) -> str:
        """`6 combinations of 3 prompts × 2 orders`, for people."""
        factors = " × ".join(f"{len(factor.levels)} {_LEVELS[factor.name]}" for factor in self.factors)
        return factors if self.factors[0].name == JUDGE else f"{len(self.cells)} combinations of {factors}"
