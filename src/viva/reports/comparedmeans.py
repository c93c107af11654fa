"""Printed means compared: a published row against another, as tables, data, and what a chart draws."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from viva.io.tables import CsvText
from viva.published import Table
from viva.reports.grids import WORDS, grids_terminal
from viva.reports.printing import formats
from viva.reports.result import Grid, signed
from viva.reports.text import json_text
from viva.visible import csv_safe


class Published(Struct, frozen=True, kw_only=True):
    """One published row against another. Per cent, as printed; differences in points."""

    first: str
    second: str
    what: str
    """In what the second differs: a setting, or what it was trained for."""
    figures: dict[str, tuple[float, float, float]]
    """Column → the first's, the second's, the difference."""


def labels_of(found: Sequence[Published], one: Table) -> dict[str, str]:
    """The columns that are told, by name."""
    names = dict.fromkeys(name for pair in found for name in pair.figures)
    labels = {column.name: column.label for column in one.columns}
    return {name: labels[name] for name in names}


def means_grid(found: Sequence[Published], one: Table) -> Grid:
    """The second's figure and its difference, a row a pair."""
    labels = labels_of(found, one)
    rows = tuple(
        (
            pair.first, pair.second, pair.what,
            *(f"{pair.figures[name][1]:.2f} ({signed(pair.figures[name][2])})" if name in pair.figures else "–"
              for name in labels),
        )
        for pair in found
    )  # fmt: skip
    title = f"Published · {one.benchmark} · the second, and its difference from the first in points"
    return Grid(title, ("first", "second", "of", *labels.values()), rows)


def _told(found: Sequence[Published], one: Table, notes: Sequence[str]) -> tuple[list[Grid], Sequence[str]]:
    return [means_grid(found, one)], notes


def as_terminal(
    found: Sequence[Published], one: Table, notes: Sequence[str], *, width: int | None = None, colour: bool = False
) -> str:
    """A table for a terminal."""
    words = {*WORDS, "first", "second", "of"}
    return grids_terminal(*_told(found, one, notes), width=width, colour=colour, words=words)


def as_json(found: Sequence[Published], one: Table, notes: Sequence[str]) -> str:
    """Everything, as plain data."""
    return json_text({"comparisons": list(found), "source": one.source, "notes": list(notes)})


def as_csv(found: Sequence[Published], one: Table, notes: Sequence[str]) -> str:
    """A row a pair and column. Per cent."""
    rows = CsvText(["first_name", "second_name", "of", "column", "first", "second", "difference"])
    for pair in found:
        for name, figures in pair.figures.items():
            rows.add([*map(csv_safe, (pair.first, pair.second, pair.what)), name, *figures])
    return rows.text()


FORMATS = formats(_told, as_csv=as_csv, as_json=as_json)
