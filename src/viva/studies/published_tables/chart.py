"""Charts of a published table: counts as bars, few figures a model as dots, many as a heat map with runs outlined."""

from __future__ import annotations

from collections.abc import Sequence

from viva.errors import VivaError
from viva.published import Table
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, bars, category, cells, dots

FEW = 4
"""The most columns drawn as dots in a row for each model; more are a heat map."""


def chart(tables: Sequence[Table], *, listing: bool = False) -> Drawn:
    """Return a chart of the only table's figures in its main unit. Raises VivaError for several, and for a list."""
    if listing or len(tables) != 1:
        raise VivaError(f"one table is drawn, and here are {len(tables)}: name one of them")
    (table,) = tables
    unit = table.columns[0].unit
    rows = [
        {"row": entry.name, "column": column.label, "value": entry.figures[column.name], "run": entry.kind == "run"}
        for entry in table.entries
        for column in table.columns
        if column.unit == unit and column.name in entry.figures
    ]
    title, below = table.title, f"{table.benchmark}, {table.source.table}"
    columns = list(dict.fromkeys(str(row["column"]) for row in rows))
    if unit == "questions":
        kinds = Kinds("column", columns, category())
        return bars(rows, "row", Axis("value", unit), kinds, title=title, below=below)
    value = Axis("value", {"%": PER_CENT}.get(unit, unit))
    if len(columns) <= FEW:
        return dots(rows, "row", value, title=title, below=below, kinds=Kinds("column", columns))
    return cells(rows, "column", "row", value, ".0f", title=title, below=below, framed="run", slant=-60)
