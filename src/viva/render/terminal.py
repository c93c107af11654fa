"""Tables in a terminal's frames, and how cells break into lines there."""

from __future__ import annotations

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from operator import gt
from typing import TYPE_CHECKING

from viva.render.table import Table
from viva.visible import escape_invisible

if TYPE_CHECKING:
    from rich.console import JustifyMethod

_NAME = 16
"""Characters that a column of words keeps on a narrow terminal: names may break, figures not."""
_PAIR = 2
"""Columns of a table that cannot be told in fewer."""


def tables_terminal(
    tables: Sequence[Table], closing: Sequence[str], *, width: int | None = None, colour: bool = False
) -> str:
    """Tables for a terminal, `closing` line by line below. Model text reaches it through `visible`, never as markup."""
    from rich.cells import cell_len
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 200,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )

    def whole(line: str) -> str:  # a file or a pipe has as much place as it takes
        return folded(one_lined(line), width) if width else one_lined(line)

    def right(cell: str, wide: int) -> str:
        return "\n".join(" " * (wide - cell_len(line)) + line for line in folded(cell, wide).splitlines())

    for found in tables:
        plain = [[one_lined(cell) for cell in row] for row in (found.header, *found.texts())]
        left = found.flush
        shown = aligned(plain, left)
        widths = _widths(shown, left, console.width)
        if widths is None and shown != plain:
            shown, widths = plain, _widths(plain, left, console.width)
        grid = RichTable()
        if widths is None:  # a row is told as lines
            grid.show_header = False
            for row in shown[1:]:
                for name, value in zip(shown[0], row, strict=True):
                    grid.add_row(Text(name), Text(value))
                grid.add_section()
        else:
            for name, flush, wide in zip(shown[0], left, widths, strict=True):
                side: JustifyMethod = "left" if flush else "right"
                grid.add_column(Text(name, justify=side), justify="left", overflow="fold", width=wide)
            for row in shown[1:]:
                fitted = zip(row, left, widths, strict=True)
                texts = (folded(cell, wide) if flush else right(cell, wide) for cell, flush, wide in fitted)
                grid.add_row(*map(Text, texts))
        console.print(Text(whole(found.title), style="bold"), soft_wrap=True)
        console.print(grid)
        if found.drawn is not None:
            console.print(Text(f"\n{found.drawn}" if found.drawn else ""), soft_wrap=True)
    for line in closing:
        console.print(Text(whole(line)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def one_lined(text: str) -> str:
    """A text as a terminal shows it, with blanks for tabs, which have no width that is known here."""
    return escape_invisible(text).replace("\t", " ")


_UNIT = re.compile(
    r"(?:[a-z]+ ){1,3}\d[\d.,]*(?!\S)"  # an outcome and its count
    r"|\d{4}-\d\d-\d\d \d\d:\d\d(?!\S)"  # a date and its time
    r"|\S*\[[^\]\n]*\]\S*"  # an interval
    r"|\([^)\n]{1,24}\)\S*|\S+"
)


_STROKE = re.compile(r"(?<=[-/_|])(?=\w)")
"""Where a word may be cut."""
_DECIMAL = re.compile(r"\D{0,3}[\d,]+(?=\.\d|$)|–(?=†?$)")
"""A figure up to its decimal point, or a dash for none."""
_FILL = 4


def aligned(shown: list[list[str]], left: Sequence[bool]) -> list[list[str]]:
    """Cells below a header, in columns of figures filled up behind so that decimal points are below each other; not
    where that takes more than `_FILL` blanks, as of a range among means, which would lead away from the header."""
    from rich.cells import cell_len

    columns = [list(column) for column in zip(*shown, strict=False)]
    for column, flush in zip(columns, left, strict=True):
        cells = {text: _DECIMAL.match(text) for text in column[1:] if text}
        tails = {text: cell_len(text[point.end() :]) for text, point in cells.items() if point}
        if flush or len(tails) < len(cells) or max(tails.values(), default=0) - min(tails.values(), default=0) > _FILL:
            continue
        column[1:] = [text and text + " " * (max(tails.values()) - tails[text]) for text in column[1:]]
    return [list(row) for row in zip(*columns, strict=True)]


def units(text: str) -> list[str]:
    """The parts of a cell between which it may break: an interval is one, and so is an outcome with its count."""
    return _UNIT.findall(text)


def folded(text: str, wide: int) -> str:
    """A text in lines of at most `wide` columns: broken between its parts, never in one that has place; one that has
    none after a hyphen or a stroke, else where the line ends."""
    from rich.cells import cell_len

    lines: list[str] = []
    for line in text.splitlines() or [""]:
        if cell_len(line) <= wide:
            lines.append(line)
            continue
        lines.append("")
        for gap, part in _pieces(line, wide):
            longer = f"{lines[-1]}{gap}{part}".strip()
            if cell_len(longer) <= wide or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(part)
    return "\n".join(lines)


def _pieces(line: str, wide: int) -> Iterator[tuple[str, str]]:
    """The parts of a line, each with what stands before it: a blank, or nothing within a word that is cut."""
    from rich.cells import cell_len, chop_cells

    for unit in units(line):
        for word in unit.split() if cell_len(unit) > wide else [unit]:
            for place, part in enumerate(_STROKE.split(word) if cell_len(word) > wide else [word]):
                for number, piece in enumerate(chop_cells(part, wide) if cell_len(part) > wide else [part]):
                    yield "" if place or number else " ", piece


def _widths(shown: Sequence[Sequence[str]], left: Sequence[bool], capacity: int) -> list[int] | None:
    """Columns as wide as their texts, or narrower: to where no figure breaks in the middle. None: that does not fit."""
    from rich.cells import cell_len

    def longest(parts: Iterable[str]) -> int:
        return max(map(cell_len, parts), default=0)

    columns = list(zip(*shown, strict=True))
    widths = [longest(line for text in column for line in text.splitlines()) for column in columns]
    words = [
        max(longest(column[0].split()), longest(part for text in column[1:] for part in units(text)))
        for column in columns
    ]
    least = [min(word, _NAME) if flush else word for word, flush in zip(words, left, strict=True)]
    capacity -= 3 * len(columns) + 1  # borders, and a blank on either side
    if len(columns) > _PAIR and sum(least) > capacity:
        return None
    cells = [longest(line for text in column[1:] for line in text.splitlines()) for column in columns]
    for floor in (list(map(max, least, cells)), least):  # headings break first
        while sum(widths) > capacity and any(map(gt, widths, floor)):
            widths[max(range(len(widths)), key=lambda at: (widths[at] > floor[at], widths[at]))] -= 1
    return widths
