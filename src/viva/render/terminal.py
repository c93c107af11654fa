"""Tables in a terminal: cut to one screen, a command's default, or whole, in frames.

On a screen all tables are cut by the same rules. Columns that do not fit are left out and named, first those marked so
(`Column.drop`), then counts of outcomes and bounds, then from the right; no cell with a figure is ever broken. Where
rows would be left out only because cells are folded, columns are left out instead. Tables share the lines of the
screen; those requested by an option are cut last (`Table.asked`). A cut table shows its first rows, and the last if it
sums up.
"""

from __future__ import annotations

import io
import os.path
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, islice
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from viva.analysis.estimate import UNSURE
from viva.render.table import Kind, Table
from viva.visible import escape_invisible, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

LINES = 40
"""Lines of a screen."""
NOTES = 10
"""Lines of the screen for notes below the tables."""
WIDTH = 120
"""Width in columns where it is unknown: in a pipe."""
LEAST = 6
"""The fewest rows of a shown table; if even these do not fit, only its title is listed."""
_ASKED = 3
"""The fewest lines of rows of a table requested by an option, before only its title is listed."""
_WHOLE = 200
"""Width in columns of whole tables where it is unknown."""
_GAP = 2
_WORDS = 16
"""The least characters of a column of words in a frame: names may break, figures not."""
_PAIR = 2
"""Tables of at most this many columns are never split into lines of name and value."""
_NAME = 24
"""The least characters of a long name, which is shortened in its middle, since names differ at their ends."""
_SHORT = 12
"""The most characters of names that are never shortened."""
_SHORTEST = 8
_MISSING = re.compile(
    r"\b[Ll]eft out\b|^[†§]|\bnot tested\b|\bmissing\b|\bcut off\b|\bwith care\b|\bdefects in the data\b"
)
_FIRST = re.compile(r"\bnot the published sets?\b|: the score is\b|\bbest constant answer\b")
_ENDING = 5
"""Number of last words in which notes agree that say the same of several things."""
SUMS_UP = ("overall", "average", "all", "total", "mean")


class _TextColumn(Struct, eq=False):
    """A column during layout for a terminal."""

    cells: list[str]
    """The header, then the rows."""
    kind: Kind
    flush: bool
    head: int
    """The longest word of the header."""
    whole: int
    """The longest line of the cells."""
    part: int
    """The longest unbreakable part of the cells."""
    least: int = 0
    width: int = 0
    short: Sequence[str] = ()
    """Of names: the shortened cells, for use where they do not fit."""

    def lines(self, row: int, *, cut: bool = False) -> list[str]:
        """Return a cell's lines, filled up to the column's width; `cut`: a name is shortened in its middle."""
        text = self.cells[row]
        broken = _shorter(text, self.width) if cut else folded(text, self.width).splitlines() or [""]
        blanks = (" " * (self.width - width_of(line)) for line in broken)
        return [line + blank if self.flush else blank + line for line, blank in zip(broken, blanks, strict=True)]


def _text_columns(table: Table, *, pointed: bool = False) -> list[_TextColumn]:
    columns = []
    for column, flush, texts in zip(
        table.printed, table.flush, zip(table.header, *table.texts(), strict=True), strict=True
    ):
        head, *cells = map(one_lined, texts)
        cells = _pointed(cells) if pointed and not flush else cells
        lines, parts = (
            (line for cell in cells for line in cell.splitlines()),
            (part for cell in cells for part in units(cell)),
        )
        columns.append(
            _TextColumn([head, *cells], column.kind, flush, _longest(head.split()), _longest(lines), _longest(parts))
        )
    return columns


class _Fitted(Struct, frozen=True, eq=False):
    """A table laid out in columns: its lines, a list for each row, and what was left out."""

    table: Table
    title: list[str]
    header: list[str]
    rows: list[list[str]]
    spans: list[tuple[int, int, str]]
    """Start, end and colour of each column on a line."""
    dropped: list[str]
    """Lines that name the columns left out."""
    sums_up: bool
    """Whether the last row sums up the others."""

    @property
    def height(self) -> int:
        """Lines of all rows."""
        return sum(map(len, self.rows))

    @property
    def frame(self) -> int:
        """Lines around them."""
        return len(self.title) + len(self.header) + len(self.dropped) + 1


def screen_terminal(
    tables: Sequence[Table],
    closing: Sequence[str],
    *,
    width: int | None = None,
    colour: bool = False,
    lines: int = LINES,
    more: str = "--all",
) -> str:
    """Return tables and notes in one screen; `more`: the option that shows the rest."""
    from rich.text import Text

    wide = width or WIDTH
    console = _console(wide, colour=colour)
    notes = _notes(closing, wide, more)
    fitted = [_fit(table, wide, more) for table in tables]
    shares = _shares(fitted, lines - len(notes))
    fitted = [_all_rows(fit, share, wide, more) for fit, share in zip(fitted, shares, strict=True)]
    shares = _shares(fitted, lines - len(notes))
    shown = {table.legend for table, share in zip(tables, shares, strict=True) if share}
    useless = {table.legend for table in tables} - shown
    useful = [line for line in closing if line not in useless]
    notes = _notes(useful, wide, more, len(notes)) if len(useful) < len(closing) else notes

    def show(line: str, style: str = "") -> None:
        console.print(Text(line.rstrip(), style=style), soft_wrap=True)

    for fit, share in zip(fitted, shares, strict=True):
        if not share:
            continue
        for line in fit.title:
            show(line, "bold")
        for line in fit.header:
            show(line, "dim underline" if line is fit.header[-1] else "dim")
        for place in (shown_rows := _shown(fit, share)):
            if place is None:
                show(f"… {plural(len(fit.rows) - len(shown_rows) + 1, 'more row')} ({more})", "dim")
                continue
            published = place >= len(fit.rows) - fit.table.dim
            for line in fit.rows[place]:
                text = Text(line, style="dim" if published else "")
                for start, end, style in () if published else fit.spans:
                    text.stylize(style, start, end)
                for pattern, style in () if published else _COLOURS:
                    text.highlight_regex(pattern, style)
                console.print(text, soft_wrap=True)
        for line in (*fit.dropped, ""):
            show(line, "dim")
    if hidden := [one_lined(table.title) for table, share in zip(tables, shares, strict=True) if not share]:
        show(_line(f"{plural(len(hidden), 'more table')} ({more}): {'; '.join(hidden)}", wide), "dim")
        show("")
    for line in notes:
        show(line)
    return _printed(console).rstrip() + "\n"


_COLOURS = ((rf"\S*{UNSURE}", "yellow"), (r"\+\S+\*", "green"), (r"−\S+\*", "red"))
"""Patterns of marked figures → colours."""


def tables_terminal(
    tables: Sequence[Table], closing: Sequence[str], *, width: int | None = None, colour: bool = False
) -> str:
    """Return whole tables in frames, `closing` line by line below."""
    from rich.text import Text

    console = _console(width or _WHOLE, colour=colour)

    def show(line: str, style: str = "") -> None:  # a file or a pipe is as wide as needed
        console.print(Text(folded(one_lined(line), width) if width else one_lined(line), style=style), soft_wrap=True)

    for table in tables:
        show(table.title, "bold")
        console.print(_framed(table, console.width))
    for line in closing:
        show(line)
    return _printed(console)


def _framed(table: Table, wide: int) -> RichTable:
    """Return a table in its frame; if its columns do not fit, each row becomes lines of a name and a value. Figures are
    never broken.
    """
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable()
    for pointed in (True, False):
        columns = _text_columns(table, pointed=pointed)
        for column in columns:
            longest = max(column.head, column.part)
            column.least = min(longest, _WORDS) if column.flush else longest
        capacity = wide - 3 * len(columns) - 1  # borders, and a blank on either side
        if len(columns) <= _PAIR or sum(column.least for column in columns) <= capacity:
            _widen(columns, capacity)
            for column in columns:
                name = Text(column.cells[0], justify="left" if column.flush else "right")
                grid.add_column(name, overflow="fold", width=column.width)
            for row in range(1, len(table.rows) + 1):
                grid.add_row(*(Text("\n".join(column.lines(row))) for column in columns))
            return grid
    grid.show_header = False
    for row in range(1, len(table.rows) + 1):
        for column in columns:
            grid.add_row(Text(column.cells[0]), Text(column.cells[row]))
        grid.add_section()
    return grid


def _shrink(columns: Sequence[_TextColumn], capacity: int, *floors: Callable[[_TextColumn], int]) -> None:
    """Take from the widest column until all fit: to the first floors, then to the next."""
    for floor in floors:
        while sum(column.width for column in columns) > capacity and (
            loose := [column for column in columns if column.width > floor(column)]
        ):
            max(loose, key=lambda column: column.width).width -= 1


def _widen(columns: Sequence[_TextColumn], capacity: int) -> None:
    """Make columns as wide as their texts, or narrower: headings break first."""
    for column in columns:
        column.width = max(column.least, column.whole, width_of(column.cells[0]))
    _shrink(columns, capacity, lambda column: max(column.least, column.whole), lambda column: column.least)


def _console(wide: int, *, colour: bool) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(), width=wide, force_terminal=colour, color_system="standard" if colour else None,
        highlight=False,
    )  # fmt: skip


def _printed(console: Console) -> str:
    """Return the printed text without trailing blanks."""
    lines = cast("io.StringIO", console.file).getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(text: str, wide: int) -> str:
    """Return the beginning of a text that fits one line, whole words."""
    if len(text) <= wide:
        return text
    return f"{folded(text, wide - 2).splitlines()[0]} …"


def _notes(closing: Sequence[str], wide: int, more: str, lines: int = NOTES) -> list[str]:
    """Return whole notes, as many as fit into `lines`, and the number of the others.

    Caveats on the numbers come first and are always shown, then what is missing, then how to read the tables.
    """
    shown: list[str] = []
    left = 0
    ranked = sorted(_one_of_each(closing, more), key=lambda note: (not _FIRST.search(note), not _MISSING.search(note)))
    for number, note in enumerate(ranked):
        folded_note = folded(one_lined(note), wide).splitlines()
        if number and len(shown) + len(folded_note) > lines - 1 and not _FIRST.search(note):
            left += 1
        else:
            shown += folded_note
    return [*shown, f"{plural(left, 'more note')} ({more})."] if left else shown


def _one_of_each(notes: Sequence[str], more: str) -> list[str]:
    """Return the first of notes that end in the same words, and so say the same of several models or pairs."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for note in notes:
        words = note.split()
        ending = tuple(words[-_ENDING:]) if len(words) > _ENDING else (note,)
        alike.setdefault(ending, []).append(note)
    return [
        f"{same[0]} {plural(len(same) - 1, 'more note')} like this ({more})." if len(same) > 1 else same[0]
        for same in alike.values()
    ]


def _shares(fitted: Sequence[_Fitted], capacity: int) -> list[int]:
    """Return the number of lines for each table's rows: all that it needs, or an even share; 0 for tables listed by
    title.
    """
    kept, cap = list(fitted), LEAST + 1

    def spare(cap: int) -> int:  # a line for the number of rows left out
        return capacity - 2 * (len(kept) < len(fitted)) - sum(fit.frame + min(fit.height, cap) for fit in kept)

    while len(kept) > 1 and spare(cap) < 0:
        given = [fit for fit in kept if not fit.table.asked]
        if given or cap == _ASKED:
            kept.remove((given or kept)[-1])
        else:
            cap = _ASKED
    for more in range(LEAST + 1, max((fit.height for fit in fitted), default=0) + 1):
        if spare(more) < 0:
            break
        cap = more
    shares: list[int] = []
    over = spare(cap)
    for fit in fitted:  # the remainder goes to the first that can use it
        extra = max(0, min(over, fit.height - cap)) if fit in kept else 0
        shares.append(min(fit.height, cap) + extra if fit in kept else 0)
        over -= extra
    return shares


def _shown(fit: _Fitted, share: int) -> list[int | None]:
    """Return the rows shown in `share` lines, at least one; None for a gap."""
    heights = [len(row) for row in fit.rows]
    if sum(heights) <= share:
        return [*range(len(heights))]
    last = [len(heights) - 1] if fit.sums_up and len(heights) > 1 else []
    spare = share - 1 - sum(heights[index] for index in last)
    ends = accumulate(heights[: len(heights) - len(last)])
    return [*range(max(1, sum(end <= spare for end in ends))), None, *last]


def _all_rows(fit: _Fitted, share: int, wide: int, more: str) -> _Fitted:
    """Return the table with as few columns dropped as make all rows fit `share` lines; unchanged if none do."""
    if len(fit.rows) <= share < fit.height:
        for fewer in range(1, len(fit.table.printed)):
            tried = _fit(fit.table, wide, more, fewer)
            if tried.height + tried.frame <= share + fit.frame:
                return tried
    return fit


def _fit(table: Table, wide: int, more: str, fewer: int = 0) -> _Fitted:
    """Return a table laid out in `wide` columns of a terminal; `fewer`: number of its columns dropped in any case."""
    columns = _text_columns(table)
    sums_up = columns[0].cells[-1].casefold().startswith(SUMS_UP)
    names = [column for column in columns if column.kind.name]
    for group in (
        [column for column in names if column.kind.pair],
        *([column] for column in names if not column.kind.pair),
    ):
        short = iter(_shortened([name for column in group for name in column.cells[1:]]))
        for column in group:
            column.short = list(islice(short, len(table.rows)))
    for column in columns:
        longest = min(column.part, _NAME) if column.flush else column.whole  # a path may break, figures not
        if column.kind.name:
            longest = min(column.whole, _NAME, max(_SHORT, _longest(column.short)))
        column.least = column.width = max(column.head, longest)
    kept, order = list(columns), _order(table)

    def over() -> int:
        return sum(column.width + _GAP for column in kept) - _GAP - wide

    while order and (over() > 0 or len(columns) - len(kept) < fewer):
        kept.remove(columns[order.pop(0)])
    capacity = wide - _GAP * (len(kept) - 1)
    _shrink(  # words are cut as the last resort
        kept, capacity, lambda column: _SHORTEST if column.kind.name else column.least,
        lambda column: _SHORTEST if column.flush else column.least,
    )  # fmt: skip
    while over() > 0 and len(kept) > 1:
        kept.pop()
    for column in kept:  # align decimal points if they fit
        pointed = column.cells[1:] if column.flush else _pointed(column.cells[1:])
        longer = max(0, _longest(pointed) - column.width)
        if not column.flush and over() + longer <= 0:
            column.width += longer
            column.cells[1:] = pointed
        column.least = min(column.width, wide)
    _widen(kept, wide - _GAP * (len(kept) - 1))
    narrow = [column for column in kept if column.kind.name and column.width < column.whole]
    for column in kept:
        if column in narrow or (column.kind.pair and any(other.kind.pair for other in narrow)):
            column.cells[1:] = column.short
    starts = accumulate((column.width + _GAP for column in kept), initial=0)
    spans = [
        (start, start + column.width, column.kind.style)
        for start, column in zip(starts, kept, strict=False)
        if column.kind.style
    ]

    def lines(row: int) -> list[str]:
        blocks = [column.lines(row, cut=row > 0 and column.kind.name) for column in kept]
        height = max(map(len, blocks))
        for column, block in zip(kept, blocks, strict=True):
            blank = [" " * column.width] * (height - len(block))
            block[:] = [*block, *blank] if row else [*blank, *block]
        return [(" " * _GAP).join(texts) for texts in zip(*blocks, strict=True)]

    missing = ", ".join(column.cells[0] for column in columns if column not in kept)
    left_out = folded(f"not shown in {wide} columns ({more}): {missing}", wide).splitlines() if missing else []
    header, *rows = map(lines, range(len(table.rows) + 1))
    return _Fitted(table, folded(one_lined(table.title), wide).splitlines(), header, rows, spans, left_out, sums_up)


def _shortened(names: Sequence[str]) -> list[str]:
    """Return names without providers (`openai/`) if they stay different, and without the prefix common to all models
    and endings after a ` · ` common to all names.
    """
    parts = {name: name.split(" · ") for name in names}
    plain = {name: model.rpartition("/")[2] for name, (model, *_) in parts.items()}
    if len({(plain[name], *rest) for name, (_, *rest) in parts.items()}) < len(parts):
        plain = {name: model for name, (model, *_) in parts.items()}
    common = os.path.commonprefix([*plain.values()]) if len({*plain.values()}) > 1 else ""  # noqa: RUF071
    begin = max(common.rfind(mark) for mark in "/-_: ") + 1
    same = 0
    while len(parts) > 1 and min(map(len, parts.values())) > same + 1:
        if len({each[-1 - same] for each in parts.values()}) > 1:
            break
        same += 1
    short = {}
    for name, (model, *rest) in parts.items():
        text = plain[name][begin:]
        cut = "…" if len(text) < len(model) else ""
        short[name] = " · ".join([f"{cut}{text}", *rest[: len(rest) - same]]) + ("…" if same else "")
    return [short[name] for name in names]


def _order(table: Table) -> list[int]:
    """Return the order in which columns are dropped; the first never is."""

    def rank(index: int) -> tuple[int, int, int]:
        drop, yields = table.printed[index].drop, table.printed[index].kind.yields
        return (0, drop, index) if drop else (1, 0, index) if yields else (2, 0, -index)

    return sorted((index for index, column in enumerate(table.printed) if index and not column.keep), key=rank)


def _shorter(text: str, wide: int) -> list[str]:
    """Return a name in one line, shortened in its middle if it does not fit."""
    if width_of(text) <= wide:
        return text.splitlines() or [""]
    tried = (f"{text[: (n + 1) // 2]}…{text[len(text) - n // 2 :]}" for n in range(min(wide, len(text)) - 1, 0, -1))
    return [next((short for short in tried if width_of(short) <= wide), "…")]


def one_lined(text: str) -> str:
    """Return a text as a terminal shows it, with blanks for tabs, whose width is unknown."""
    return escape_invisible(text).replace("\t", " ")


def width_of(text: str) -> int:
    """Return the width of a text in columns of a terminal."""
    from rich.cells import cell_len

    return cell_len(text)


def _longest(texts: Iterable[str]) -> int:
    return max(map(width_of, texts), default=0)


_UNIT = re.compile(
    r"(?:[a-z]+ ){1,3}\d[\d.,]*(?!\S)"  # an outcome and its count
    r"|\d{4}-\d\d-\d\d \d\d:\d\d(?!\S)"  # a date and its time
    r"|\S*\[[^\]\n]*\]\S*"  # an interval
    r"|\([^)\n]{1,24}\)\S*|\S+"
)


_STROKE = re.compile(r"(?<=[-/_|])(?=\w)")
"""Places where a word may be cut."""
_DECIMAL = re.compile(r"\D{0,3}[\d,]+(?=\.\d|$)|–(?=†?$)")
"""A figure up to its decimal point, or a dash for none."""
_FILL = 4


def _pointed(cells: list[str]) -> list[str]:
    """Return figures padded at the end to align decimal points; unchanged if some cells are no figures, or if it takes
    more than `_FILL` blanks (a range among means), which would move them away from the header.
    """
    tails = {text: width_of(text[point.end() :]) for text in cells if (point := _DECIMAL.match(text))}
    longest = max(tails.values(), default=0)
    if len(tails) < len({*filter(None, cells)}) or longest - min(tails.values(), default=0) > _FILL:
        return cells
    return [text and text + " " * (longest - tails[text]) for text in cells]


def units(text: str) -> list[str]:
    """Return the unbreakable parts of a cell: an interval is one, and so is an outcome with its count."""
    return _UNIT.findall(text)


def folded(text: str, wide: int) -> str:
    """Return a text in lines of at most `wide` columns, broken between parts; a part that is too long is broken after a
    hyphen or a stroke, else at the end of the line.
    """
    lines: list[str] = []
    for line in text.splitlines() or [""]:
        if width_of(line) <= wide:
            lines.append(line)
            continue
        lines.append("")
        for gap, part in _pieces(line, wide):
            longer = f"{lines[-1]}{gap}{part}".strip()
            if width_of(longer) <= wide or not lines[-1]:
                lines[-1] = longer
            else:
                lines.append(part)
    return "\n".join(lines)


def _pieces(line: str, wide: int) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line, each with its separator: a blank, or "" within a word that is cut."""
    from rich.cells import chop_cells

    for unit in units(line):
        for word in unit.split() if width_of(unit) > wide else [unit]:
            for place, part in enumerate(_STROKE.split(word) if width_of(word) > wide else [word]):
                for number, piece in enumerate(chop_cells(part, wide) if width_of(part) > wide else [part]):
                    yield "" if place or number else " ", piece
