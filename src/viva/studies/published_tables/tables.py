"""Printing of the papers' tables, with sources and contradictions."""

from __future__ import annotations

from operator import itemgetter

from msgspec.structs import replace

from viva.published import Kind as RowKind
from viva.published import Size
from viva.published import Table as PublishedTable
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, FIGURE, NAME, TEXT, Column, Kind, Table, fields, figure, item

WIDTH = 1000
"""Characters a line if the output is no terminal: wider than any table of a paper."""
FEW = 6
"""The most rows for which a wide table is transposed."""
KINDS: dict[RowKind, str] = {
    "model": "",
    "baseline": "baseline",
    "human": "people",
    "average": "mean of rows",
    "ablation": "ablation",
    "run": "run",
}


_LIST = (
    Column("benchmark", "benchmark", NAME), Column("table", "name"), Column("about", "title"),
    Column("rows", lambda table: len(table.entries), COUNT), Column("notes", lambda table: len(table.notes), COUNT),
    Column("where", "source.table"),
)  # fmt: skip
_ABOUT = fields("", "benchmark", "name", "title", "source", "columns", "notes")
UNITS = {"%": figure(".2f"), "coefficient": figure(".3f"), "points": figure("+.2f"), "billions": figure("g")}
"""Unit → format of figures; all others are counts."""
_FLUSH = {"kind", "access", "family", "type", "domain", "base", "area"}
"""Columns of text that are left-aligned."""


def table_of(table: PublishedTable, *, turn: bool = False) -> Table:
    """Return a table as printed; `turn`: transpose it if it has few rows and many columns."""
    shown = table.columns
    named = [column.label for column in shown if column.label.startswith(("overall", "Overall", "average", "Average"))]
    headline = (named or [column.label for column in shown[:1]])[-1:]
    columns = (
        Column("", "name", NAME, key="model"), *_before(table), *fields("size", "total", "active", form="g"),
        *(Column(column.label, item("figures", column.name), UNITS.get(column.unit, figure(",.0f")), key=column.name,
                 keep=column.label in headline, form="g") for column in shown),
    )  # fmt: skip
    made = Table(f"{table.title} · {table.benchmark} {table.name}", columns, table.entries)
    if not turn or len(table.entries) > FEW or len(shown) <= FEW:
        return made
    header, *rows = zip(*(made.header, *made.texts()), strict=True)
    across = (Column(name, itemgetter(place), FIGURE if place else NAME) for place, name in enumerate(header))
    return replace(made, columns=tuple(across), rows=rows)


def _before(table: PublishedTable) -> list[Column]:
    """Return the columns between name and figures: kind, words (printed only where they differ), size."""
    columns = list(fields("", "kind"))
    if any(KINDS.get(entry.kind) for entry in table.entries):
        columns.append(Column("kind", lambda entry: KINDS.get(entry.kind, ""), key=None))
    words = dict.fromkeys(word for entry in table.entries for word in entry.words)
    for name in words:
        differ = len({entry.words.get(name, "") for entry in table.entries}) > 1
        title = name.replace("_", " ") if differ else None
        columns.append(Column(title, item("words", name, ""), TEXT if title in _FLUSH else FIGURE, key=name))
    if any(entry.size for entry in table.entries) and not any(column.title == "parameters" for column in columns):
        columns.append(Column("billions", "size", Kind(size_text), key=None))
    return columns


def closing(table: PublishedTable) -> list[str]:
    """Return lines on source, unit and notes."""
    units = dict.fromkeys(column.unit for column in table.columns)
    words = {"%": "per cent", "billions": "billions of parameters"}
    lines = [f"Source of {table.name}: {table.source.cited}, {table.source.url}"]
    lines.append(f"Figures as printed: {', '.join(words.get(unit, unit) for unit in units)}; a dash: not published.")
    if any(before.title == "billions" for before in _before(table)):
        lines.append("Billions of parameters: as stated or as the name says; of a mixture of experts all / active.")
    return lines + [f"Note: {note}" for note in table.notes]


def size_text(size: Size) -> str:
    """Return `70`, `46.7 / 12.9` (all / active)."""
    return f"{size.total:g}" if size.active == size.total else f"{size.total:g} / {size.active:g}"


def findings(printed: tuple[PublishedTable, ...], drawing: Drawing) -> Findings[tuple[PublishedTable, ...]]:
    """Return the tables; `rows` has the rows of a single table, with the columns' own names and figures as printed, as
    `viva correlate` and `viva scaling` read them.
    """

    tables, notes = [table_of(whole) for whole in printed], [line for whole in printed for line in closing(whole)]
    turned = [table_of(whole, turn=True) for whole in printed]
    names = ", ".join(f"{whole.benchmark} {whole.name}" for whole in printed[:8])
    several = f"CSV or a frame holds one table, and here are {len(printed)}: name one of {names}" if tables[1:] else ""
    return Findings(
        found=printed, shown=[*tables, Table("Tables", _ABOUT, printed)],
        rows=Table("Rows", (), ()) if several else tables[0], notes=notes, terminal=(turned, notes), wide=WIDTH,
        undivided=several, drawing=drawing,
    )  # fmt: skip


def listing(
    tables: tuple[PublishedTable, ...], drawing: Drawing, *, notes: bool
) -> Findings[tuple[PublishedTable, ...]]:
    """Return a list of the tables, one row each; `notes`: with the notes on them."""
    made = Table("Published tables", _LIST, tables)
    lines = [f"{whole.name}: {note}" for whole in tables for note in whole.notes] if notes else [_MORE]
    return Findings(
        found=tables, shown=[made, Table("Tables", _ABOUT, tables)], rows=made, notes=lines, wide=WIDTH, drawing=drawing
    )


_MORE = "`viva published BENCHMARK` also shows the notes on its tables, `viva published BENCHMARK TABLE` a table."
