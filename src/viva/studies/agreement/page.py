"""Agreement as a piece of HTML, for the experts' own page: tables and pictures, every text escaped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from viva.render.table import Table
from viva.studies.agreement.chart import svg_agreement
from viva.studies.agreement.tables import Reports, score_tables, tables_of
from viva.visible import escape_invisible


def html_agreement(reports: Reports, notes: Sequence[str]) -> str:
    """A section a report: its picture, its tables; then the scores from labels, and what must be known."""
    lines: list[str] = []
    for table in score_tables(reports.scores):
        lines += _table(table)
    for number, one in enumerate(reports.found, 1):
        lines.append(f"<section><h2>{_safe(one.title)}</h2>")
        lines.append(svg_agreement(one, f"agreement-{number}"))
        for table in tables_of(one):
            lines += _table(table)
        lines.append("</section>")
    if notes:
        lines.append("<details><summary>What to know about these figures</summary><ul>")
        lines += [f"<li>{_safe(note)}</li>" for note in notes]
        lines.append("</ul></details>")
    return "\n".join(lines)


def _table(table: Table) -> Iterator[str]:
    yield f"<table><caption>{_safe(table.title)}</caption><thead><tr>"
    yield "".join(f'<th scope="col">{_safe(name)}</th>' for name in table.header)
    yield "</tr></thead><tbody>"
    for first, *rest in table.texts():
        cells = "".join(f"<td>{_safe(cell)}</td>" for cell in rest)
        yield f'<tr><th scope="row">{_safe(first)}</th>{cells}</tr>'
    yield "</tbody></table>"


def _safe(text: str) -> str:
    return escape(escape_invisible(text))
