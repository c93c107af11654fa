"""Printed means compared: a published row against another, as tables, data, and what a chart draws."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from viva.published import Table as PublishedTable
from viva.render.findings import Drawing, Findings
from viva.render.table import Column, Kind, Table, fields, item, places, signed
from viva.studies.compare.tables import SIDES


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


def labels_of(found: Sequence[Published], one: PublishedTable) -> dict[str, str]:
    """Return the columns that are told, by name."""
    names = dict.fromkeys(name for pair in found for name in pair.figures)
    labels = {column.name: column.label for column in one.columns}
    return {name: labels.get(name, name) for name in names}


def findings(
    found: tuple[Published, ...], one: PublishedTable, notes: Sequence[str], drawing: Drawing
) -> Findings[tuple[Published, ...]]:
    """Return the second's figure and its difference, a row a pair; `rows` has a row a pair, part and column. Per cent.
    """  # fmt: skip
    columns = (
        *SIDES, Column("of", "what"), *((Column("part", "part"),) if any(pair.part for pair in found) else ()),
        *(Column(label, item("figures", name), _FIGURE)
          for name, label in labels_of(found, one).items()),
    )  # fmt: skip
    title = f"Published · {one.benchmark} · the second, and its difference from the first in points"
    rows = [
        (pair.first, pair.second, pair.what, pair.part, name, *figures)
        for pair in found
        for name, figures in pair.figures.items()
    ]
    names = ("first_name", "second_name", "of", "part", "column", "first", "second", "difference")
    return Findings(
        found=found,
        shown=[Table(title, columns, found), Table("Source", fields("", *one.source.__struct_fields__), [one.source])],
        rows=Table("Differences", places(*names), rows), notes=notes, drawing=drawing,
    )  # fmt: skip


_FIGURE = Kind(lambda figures: f"{figures[1]:.2f} ({signed(figures[2])})")
