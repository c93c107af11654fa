"""Escaping for LaTeX, Markdown, CSV and JSON: no text may break a table or be executed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape

import msgspec

from viva.files import shipped_table
from viva.io.tables import CsvText
from viva.render.table import Table
from viva.visible import csv_safe, escape_invisible, escaped

_LATEX = shipped_table(__file__, "latex.toml", dict[str, str])


def latex(text: str) -> str:
    """Return text escaped for LaTeX, in one line, since an empty line would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(escape_invisible(text).split()))


def markdown(text: str) -> str:
    """Return text escaped for a cell of a Markdown table."""
    text = escape_invisible(text)
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def json_text(content: object) -> str:
    """Return indented JSON that is safe to print: invisible characters are escaped."""
    return escaped(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return rows as CSV, without formulas that a spreadsheet would run."""
    table = CsvText(header)
    table.add_all([csv_safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return table.text()


def tables_markdown(tables: Sequence[Table], closing: Sequence[str]) -> str:
    """Return Markdown tables, `closing` as a list."""
    lines: list[str] = []
    for each_table in tables:
        lines += [f"### {markdown(each_table.title)}", ""]
        lines.append("| " + " | ".join(map(markdown, each_table.header)) + " |")
        lines.append("|" + "|".join("---" if index == 0 else "---:" for index in range(len(each_table.header))) + "|")
        lines += ["| " + " | ".join(map(markdown, row)) + " |" for row in each_table.texts()]
        lines.append("")
    lines += [f"- {markdown(line)}" for line in closing]
    return "\n".join(lines) + "\n"


def tables_latex(tables: Sequence[Table], closing: Sequence[str]) -> str:
    """Return LaTeX tables (booktabs), `closing` as comments."""
    lines: list[str] = ["% needs \\usepackage{booktabs}"]
    for each_table in tables:
        lines += [r"\begin{table}", rf"\caption{{{latex(each_table.title)}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(each_table.header) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(latex, each_table.header)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(latex, row)) + r" \\" for row in each_table.texts()]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    lines += [f"% {' '.join(escape_invisible(line).split())}" for line in closing]
    return "\n".join(lines) + "\n"


TABLE_FORMATS: dict[str, Callable[[Sequence[Table], Sequence[str]], str]] = {
    "markdown": tables_markdown,
    "latex": tables_latex,
}


LONGEST = 2000
"""The most characters of one cell."""


def tables_html(tables: Sequence[Table], closing: Sequence[str]) -> str:
    """Return HTML tables, and `closing` line by line below."""
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
