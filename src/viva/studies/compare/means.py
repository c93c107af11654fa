"""Printed means compared: a published row against another, as tables, data, and what a chart draws."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.published import Table
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid, signed


class Published(Struct, frozen=True, kw_only=True):
    """One published row against another. Per cent, as printed; differences in points."""

    first: str
    second: str
    what: str
    """In what the second differs: a setting, or what it was trained for."""
    figures: dict[str, tuple[float, float, float]]
    """Column → the first's, the second's, the difference."""
    part: str = ""
    """Of which part of the set, where a pair has a row for each: its columns are no table's then."""


def labels_of(found: Sequence[Published], one: Table) -> dict[str, str]:
    """The columns that are told, by name."""
    names = dict.fromkeys(name for pair in found for name in pair.figures)
    labels = {column.name: column.label for column in one.columns}
    return {name: labels.get(name, name) for name in names}


def means_grid(found: Sequence[Published], one: Table) -> Grid:
    """The second's figure and its difference, a row a pair."""
    labels = labels_of(found, one)
    parts = any(pair.part for pair in found)
    rows = tuple(
        (
            pair.first, pair.second, pair.what, *([pair.part] if parts else []),
            *(f"{pair.figures[name][1]:.2f} ({signed(pair.figures[name][2])})" if name in pair.figures else "–"
              for name in labels),
        )
        for pair in found
    )  # fmt: skip
    title = f"Published · {one.benchmark} · the second, and its difference from the first in points"
    return Grid(title, ("first", "second", "of", *(["part"] if parts else []), *labels.values()), rows)


@dataclass(frozen=True, repr=False)
class PublishedComparisons(StudyResult):
    """Rows of a published table compared."""

    found: tuple[Published, ...]
    table: Table
    notes: tuple[str, ...]
    drawing: Drawing = None
    words = WORDS | {"first", "second", "of", "part"}

    def tables(self) -> list[Grid]:
        """One table: a row a pair."""
        return [means_grid(self.found, self.table)]

    def closing(self) -> list[str]:
        """What the figures cannot say, and where they stand."""
        return list(self.notes)

    def records(self) -> Records:
        """A row a pair, part and column. Per cent."""
        return ("first_name", "second_name", "of", "part", "column", "first", "second", "difference"), [
            (pair.first, pair.second, pair.what, pair.part, name, *figures)
            for pair in self.found
            for name, figures in pair.figures.items()
        ]

    def data(self) -> object:
        """Pairs, their source and notes."""
        return {"comparisons": list(self.found), "source": self.table.source, "notes": list(self.notes)}
