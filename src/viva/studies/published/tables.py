"""The papers' tables, printed: with where they stand and what contradicts itself in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec.structs import replace

from viva.errors import VivaError, flag
from viva.published import Column, Entry, Kind, Size, Table
from viva.render.grids import WORDS, grids_terminal
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid

if TYPE_CHECKING:
    import polars as pl

SHOWN = 17
"""Columns right of the names that a terminal table has at most: the widest table of a paper has so many."""
WIDTH = 250
"""Characters a line, where it is no terminal that reads."""
FEW = 6
"""So many rows stand beside each other where there is much to tell of each."""
KINDS: dict[Kind, str] = {
    "model": "",
    "baseline": "baseline",
    "human": "people",
    "average": "mean of rows",
    "ablation": "ablation",
    "run": "run",
}


def listed(tables: Sequence[Table]) -> Grid:
    """A list of the published tables, one row each."""
    rows = tuple(
        (table.benchmark, table.name, table.title, f"{len(table.entries):,}", str(len(table.notes)), table.source.table)
        for table in tables
    )
    return Grid("Published tables", ("benchmark", "table", "about", "rows", "notes", "where"), rows)


def table_grid(table: Table, *, most: int | None = None) -> Grid:
    """A table as printed, `most` columns of it; with few rows and many columns it is turned round."""
    before = _before(table)
    turned = most is not None and len(table.entries) <= FEW and len(table.columns) > FEW
    columns = table.columns if turned else table.columns[: _column_count(table, most)]
    lines = [["", *before, *(column.label for column in columns)]]
    for row, entry in enumerate(table.entries):
        said = [texts[row] for texts in before.values()]
        lines.append([entry.name, *said, *(figure_text(entry, column) for column in columns)])
    if turned:
        lines = [list(line) for line in zip(*lines, strict=True)]
    header, *rows = map(tuple, lines)
    named = tuple(name for name in header if name.startswith(("overall", "Overall", "average", "Average")))
    headline = named or tuple(column.label for column in columns[:1])
    return Grid(f"{table.title} · {table.benchmark} {table.name}", header, tuple(rows), keep=headline[-1:])


def _before(table: Table) -> dict[str, list[str]]:
    """Header → a text a row, of the columns between name and figures: kind, words that differ, size."""
    found: dict[str, list[str]] = {}
    if any(KINDS.get(entry.kind) for entry in table.entries):
        found["kind"] = [KINDS.get(entry.kind, "") for entry in table.entries]
    for name in _words(table):
        texts = [entry.words.get(name, "") for entry in table.entries]
        if len(set(texts)) > 1:
            found[name.replace("_", " ")] = texts
    if any(entry.size for entry in table.entries) and "parameters" not in found:
        found["billions"] = [size_text(entry.size) for entry in table.entries]
    return found


def _column_count(table: Table, most: int | None) -> int:
    """How many columns of figures there are to be shown."""
    return len(table.columns) if most is None else max(FEW, most - len(_before(table)))


def closing(table: Table, *, most: int | None = None) -> list[str]:
    """Source, unit, notes, and what a narrow table leaves out."""
    units = dict.fromkeys(column.unit for column in table.columns)
    said = {"%": "per cent", "billions": "billions of parameters"}
    lines = [f"Source of {table.name}: {table.source.cited}, {table.source.url}"]
    lines.append(f"Figures as printed: {', '.join(said.get(unit, unit) for unit in units)}; a dash: not published.")
    if "billions" in _before(table):
        lines.append("Billions of parameters: as stated or as the name says; of a mixture of experts all / active.")
    left = table.columns[_column_count(table, most) :] if len(table.entries) > FEW else ()
    if left:
        labels = ", ".join(column.label for column in left)
        lines.append(
            f"{len(left)} more columns, with {flag('format')} csv or for a few rows ({flag('model', 'NAME')}): "
            f"{labels}."
        )
    return lines + [f"Note: {note}" for note in table.notes]


def figure_text(entry: Entry, column: Column) -> str:
    """A figure with the decimals that its unit is printed with; a dash where none was published."""
    value = entry.figures.get(column.name)
    if value is None:
        return "–"
    if column.unit == "%":
        return f"{value:.2f}"
    if column.unit == "coefficient":
        return f"{value:.3f}"
    if column.unit == "points":
        return f"{value:+.2f}"
    return f"{value:g}" if column.unit == "billions" else f"{value:,.0f}"


def size_text(size: Size | None) -> str:
    """`70`, `46.7 / 12.9` (all / active), a dash where it is not known."""
    if size is None:
        return "–"
    return f"{size.total:g}" if size.active == size.total else f"{size.total:g} / {size.active:g}"


def _record(table: Table, entry: Entry, words: Sequence[str]) -> Sequence[object]:
    size = ("", "") if entry.size is None else (f"{entry.size.total:g}", f"{entry.size.active:g}")
    figures = [f"{entry.figures[column.name]:g}" if column.name in entry.figures else "" for column in table.columns]
    return entry.name, entry.kind, *(entry.words.get(word, "") for word in words), *size, *figures


@dataclass(frozen=True, repr=False)
class PublishedTables(StudyResult):
    """Published tables, or a list of them."""

    found: tuple[Table, ...]
    listing: bool = False
    """Whether it only says which tables there are."""
    notes: bool = True
    """Whether a list has the notes on its tables."""
    drawing: Drawing = None
    words = WORDS | {
        "table", "about", "where", "kind", "access", "family", "type", "domain", "base", "expert_in", "area",
    }  # fmt: skip

    def _tables(self, most: int | None = None) -> list[Grid]:
        return [listed(self.found)] if self.listing else [table_grid(one, most=most) for one in self.found]

    def _closing(self, most: int | None = None) -> list[str]:
        if not self.listing:
            return [line for one in self.found for line in closing(one, most=most)]
        if self.notes:
            return [f"{one.name}: {note}" for one in self.found for note in one.notes]
        return [
            "`viva published BENCHMARK` also shows the notes on its tables, `viva published BENCHMARK TABLE` a table."
        ]

    def tables(self) -> list[Grid]:
        """Every table with all its columns."""
        return self._tables()

    def closing(self) -> list[str]:
        """Source, unit and notes of every table."""
        return self._closing()

    def to_terminal(self, width: int | None = None, *, colour: bool = False) -> str:
        """The columns that fit on a terminal."""
        grids, lines = self._tables(SHOWN), self._closing(SHOWN)
        return grids_terminal(grids, lines, width=width or WIDTH, colour=colour, words=self.words)

    def records(self) -> Records:
        """A row a row, in the columns' own names, figures as printed: what `viva correlate` and `viva scaling` read; or
        the list."""
        if self.listing:
            (grid,) = self.tables()
            return grid.header, grid.rows
        if len(self.found) > 1:
            names = ", ".join(f"{one.benchmark} {one.name}" for one in self.found[:8])
            raise VivaError(f"CSV or a frame holds one table, and here are {len(self.found)}: name one of {names}")
        (table,) = self.found
        words = _words(table)
        header = ("model", "kind", *words, "total", "active", *(column.name for column in table.columns))
        return header, [_record(table, entry, words) for entry in table.entries]

    def to_frame(self) -> pl.DataFrame:
        """The rows of the one table, or the list."""
        import polars as pl

        figures = {"total", "active", *(column.name for one in self.found for column in one.columns)}
        frame = super().to_frame()
        return frame.with_columns(pl.col(figures.intersection(frame.columns)).cast(pl.Float64, strict=False))

    def data(self) -> object:
        """The tables; of a list, without their rows."""
        tables = [replace(one, entries=()) for one in self.found] if self.listing else list(self.found)
        return {"tables": tables}


def _words(table: Table) -> list[str]:
    return list(dict.fromkeys(word for entry in table.entries for word in entry.words))
