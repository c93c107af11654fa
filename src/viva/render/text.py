"""Text as LaTeX, Markdown, CSV and JSON have it: nothing of it may break a table or run."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from viva.io.tables import CsvText
from viva.shipped import shipped_table
from viva.visible import csv_safe, escape_invisible, escaped

_LATEX = shipped_table(__file__, "latex.toml", dict[str, str])


def latex(text: str) -> str:
    """Text that LaTeX prints as it is, in one line: an empty one would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(escape_invisible(text).split()))


def markdown(text: str) -> str:
    """Text that a Markdown table cell shows as it is."""
    text = escape_invisible(text)
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def json_text(content: object) -> str:
    """JSON to read, and to print to a terminal: indented, with invisible characters as escapes."""
    return escaped(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, with nothing that a spreadsheet would run."""
    table = CsvText(header)
    table.add_all([csv_safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return table.text()
