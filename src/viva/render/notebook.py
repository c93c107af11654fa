"""Tables as HTML for a notebook's cell: no scripts, no style sheets; every text made visible, then escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from viva.render.table import Table
from viva.visible import escape_invisible

LONGEST = 2000
"""Characters of one cell."""


def tables_html(tables: Sequence[Table], closing: Sequence[str]) -> str:
    """Return tables, and `closing` line by line below."""
    lines = [line for table in tables for line in _table(table)]
    lines += [f'<p style="font-size:smaller;margin:.2em 0">{_safe(line)}</p>' for line in closing]
    return '<div style="max-width:100%;overflow-x:auto">' + "\n".join(lines) + "</div>"


def _table(table: Table) -> Iterator[str]:
    sides = ["left" if flush else "right" for flush in table.flush]
    yield f'<table><caption style="text-align:left;font-weight:bold">{_safe(table.title)}</caption><thead><tr>'
    yield "".join(_cell("th", side, name) for side, name in zip(sides, table.header, strict=True))
    yield "</tr></thead><tbody>"
    for row in table.texts():
        yield f"<tr>{''.join(_cell('td', side, cell) for side, cell in zip(sides, row, strict=True))}</tr>"
    yield "</tbody></table>"


def _cell(kind: str, side: str, text: str) -> str:
    return f'<{kind} style="text-align:{side}">{_safe(text)}</{kind}>'


def _safe(text: str) -> str:
    return escape(escape_invisible(text[:LONGEST]))
