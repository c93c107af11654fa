"""Tables in a terminal: on one screen, as a command prints them unless everything is asked for, or whole, in frames.

On a screen every table gives way by the same rules. Columns that do not fit are left out and named, first those that
say so (`Column.drop`), then counts of outcomes and bounds, then from the right; no cell with a figure is ever broken.
Where rows would be left out only because cells are folded, columns are left out in their place.
Tables share the lines of the screen; those that an option asked for give way last (`Table.asked`). Of a table that is
cut the first rows are shown and the last where it sums up.
"""

from __future__ import annotations

import io
import os.path
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from viva.analysis.wording import UNSURE
from viva.render.table import Table
from viva.visible import escape_invisible, plural

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as RichTable

LINES = 40
"""Lines of a screen."""
NOTES = 10
"""Lines below the tables, of these."""
WIDTH = 120
"""Columns where nobody says how wide it may be: in a pipe."""
LEAST = 6
"""Rows that a table shows at least; where even these do not fit, it is named alone."""
_ASKED = 3
"""Lines of rows that a table still shows which was asked for, before it is named alone."""
_WHOLE = 200
"""Columns of whole tables where nobody says how wide they may be."""
_GAP = 2
_WORDS = 16
"""Characters that a column of words keeps in a frame: names may break, figures not."""
_PAIR = 2
"""Columns of a table that cannot be told in fewer."""
_NAME = 24
"""Characters that a name keeps: a longer one is shortened in its middle, since names differ at their ends."""
_SHORT = 12
"""A name of so many is not shortened."""
_SHORTEST = 8
_MISSING = re.compile(
    r"\b[Ll]eft out\b|^[†§]|\bnot tested\b|\bmissing\b|\bcut off\b|\bwith care\b|\bdefects in the data\b"
)
_FIRST = re.compile(r"\bnot the published sets?\b|: the score is\b|\bbest constant answer\b")
_ENDING = 5
"""Words in which notes end that say the same of something else."""
SUMS_UP = ("overall", "average", "all", "total", "mean")


class _Fitted(Struct, frozen=True):
    """A table set in columns: its lines, a list a row, and what was left out."""

    header: list[str]
    rows: list[list[str]]
    spans: list[tuple[int, int, str]]
    """From where to where on a line a column lies, with its colour."""
    dropped: list[str]
    """Lines that name the columns left out."""
    sums_up: bool
    """Whether the last row does."""


def screen_terminal(
    tables: Sequence[Table],
    closing: Sequence[str],
    *,
    width: int | None = None,
    colour: bool = False,
    lines: int = LINES,
    more: str = "--all",
) -> str:
    """Return tables and the lines below them in one screen; `more` says what shows the rest."""
    from rich.text import Text

    wide = width or WIDTH
    console = _console(wide, colour=colour)
    notes = _notes(closing, wide, more)
    texts = list(map(_cells, tables))
    fitted = [_fit(table, cells, wide, more) for table, cells in zip(tables, texts, strict=True)]
    heads = [folded(one_lined(table.title), wide).splitlines() for table in tables]
    shares = _shares(tables, fitted, heads, lines - len(notes))
    fitted = [_all_rows(*each, wide, more) for each in zip(tables, texts, fitted, shares, strict=True)]
    shares = _shares(tables, fitted, heads, lines - len(notes))
    shown = {table.legend for table, share in zip(tables, shares, strict=True) if share}
    useless = {table.legend for table in tables} - shown
    useful = [line for line in closing if line not in useless]
    notes = _notes(useful, wide, more, len(notes)) if len(useful) < len(closing) else notes

    def show(line: str, style: str = "") -> None:
        console.print(Text(line.rstrip(), style=style), soft_wrap=True)

    for table, fit, head, share in zip(tables, fitted, heads, shares, strict=True):
        if not share:
            continue
        for line in head:
            show(line, "bold")
        for line in fit.header:
            show(line, "dim underline" if line is fit.header[-1] else "dim")
        for at in _shown(fit, share):
            if at is None:
                left = len(fit.rows) - len(_shown(fit, share)) + 1
                show(f"… {plural(left, 'more row')} ({more})", "dim")
                continue
            published = at >= len(fit.rows) - table.dim
            for line in fit.rows[at]:
                text = Text(line, style="dim" if published else "")
                for start, end, style in () if published else fit.spans:
                    text.stylize(style, start, end)
                if not published:
                    text.highlight_regex(rf"\S*{UNSURE}", "yellow")
                    text.highlight_regex(r"\+\S+\*", "green")
                    text.highlight_regex(r"−\S+\*", "red")
                console.print(text, soft_wrap=True)
        for line in fit.dropped:
            show(line, "dim")
        show("")
    hidden = [table.title for table, share in zip(tables, shares, strict=True) if not share]
    if hidden:
        named = "; ".join(map(one_lined, hidden))
        show(_line(f"{plural(len(hidden), 'more table')} ({more}): {named}", wide), "dim")
        show("")
    for line in notes:
        show(line)
    return _printed(console).rstrip() + "\n"


def tables_terminal(
    tables: Sequence[Table], closing: Sequence[str], *, width: int | None = None, colour: bool = False
) -> str:
    """Return whole tables in frames, `closing` line by line below."""
    from rich.text import Text

    console = _console(width or _WHOLE, colour=colour)

    def whole(line: str) -> str:  # a file or a pipe has as much place as it takes
        return folded(one_lined(line), width) if width else one_lined(line)

    for table in tables:
        console.print(Text(whole(table.title), style="bold"), soft_wrap=True)
        console.print(_framed(table, console.width))
    for line in closing:
        console.print(Text(whole(line)), soft_wrap=True)
    return _printed(console)


def _framed(table: Table, wide: int) -> RichTable:
    """Return a table in its frame; where its columns do not fit, each row is lines of a name and a value."""
    from rich.cells import cell_len
    from rich.table import Table as RichTable
    from rich.text import Text

    flush, plain, grid = table.flush, _cells(table), RichTable()
    widths = None
    for cells in (aligned(plain, flush), plain):
        if widths := _widths(cells, flush, wide):
            break
    if widths is None:
        grid.show_header = False
        for row in plain[1:]:
            for pair in zip(plain[0], row, strict=True):
                grid.add_row(*map(Text, pair))
            grid.add_section()
        return grid

    def right(cell: str, width: int) -> str:
        return "\n".join(" " * (width - cell_len(line)) + line for line in folded(cell, width).splitlines())

    for name, left, width in zip(cells[0], flush, widths, strict=True):
        grid.add_column(Text(name, justify="left" if left else "right"), overflow="fold", width=width)
    for row in cells[1:]:
        fitted = zip(row, flush, widths, strict=True)
        grid.add_row(*(Text(folded(cell, width) if left else right(cell, width)) for cell, left, width in fitted))
    return grid


def _cells(table: Table) -> list[list[str]]:
    """Header and rows as texts."""
    return [[one_lined(cell) for cell in row] for row in (table.header, *table.texts())]


def _shrink(widths: dict[int, int], floors: Iterable[Mapping[int, int]], capacity: int) -> None:
    """Take from the widest column until all fit: to the first floors, then to the next."""
    for floor in floors:
        while sum(widths.values()) > capacity and any(widths[at] > floor[at] for at in widths):
            widths[max(widths, key=lambda at: (widths[at] > floor[at], widths[at]))] -= 1


def _console(wide: int, *, colour: bool) -> Console:
    from rich.console import Console

    return Console(
        file=io.StringIO(), width=wide, force_terminal=colour, color_system="standard" if colour else None,
        highlight=False,
    )  # fmt: skip


def _printed(console: Console) -> str:
    """Return all that was printed, no blanks where lines end."""
    lines = cast("io.StringIO", console.file).getvalue().splitlines()
    return "\n".join(line.rstrip() for line in lines) + "\n"


def _line(text: str, wide: int) -> str:
    """Return the beginning of a text that fits one line, whole words."""
    if len(text) <= wide:
        return text
    return f"{folded(text, wide - 2).splitlines()[0]} …"


def _notes(closing: Sequence[str], wide: int, more: str, lines: int = NOTES) -> list[str]:
    """Return whole notes, as many as there are lines for; the others are counted.

    What the numbers are not comes first and is always there, then what is missing, then how to read it.
    """
    shown: list[str] = []
    left = 0
    ranked = sorted(_one_of_each(closing, more), key=lambda note: (not _FIRST.search(note), not _MISSING.search(note)))
    for number, note in enumerate(ranked):
        found = folded(one_lined(note), wide).splitlines()
        if number and len(shown) + len(found) > lines - 1 and not _FIRST.search(note):
            left += 1
        else:
            shown += found
    return [*shown, f"{plural(left, 'more note')} ({more})."] if left else shown


def _one_of_each(notes: Sequence[str], more: str) -> list[str]:
    """Of notes that end in the same words, and so say the same of several models or pairs, the first."""
    alike: dict[tuple[str, ...], list[str]] = {}
    for note in notes:
        words = note.split()
        ending = tuple(words[-_ENDING:]) if len(words) > _ENDING else (note,)
        alike.setdefault(ending, []).append(note)
    return [
        f"{same[0]} {plural(len(same) - 1, 'more note')} like this ({more})." if len(same) > 1 else same[0]
        for same in alike.values()
    ]


def _shares(
    tables: Sequence[Table], fitted: Sequence[_Fitted], heads: Sequence[Sequence[str]], capacity: int
) -> list[int]:
    """Return how many lines of rows each table has: as many as it wants, or evenly; 0 for tables that are only
    named.
    """
    frames = [len(head) + len(fit.header) + len(fit.dropped) + 1 for head, fit in zip(heads, fitted, strict=True)]
    wants = [sum(map(len, fit.rows)) for fit in fitted]
    least = [min(want, LEAST + 1) for want in wants]
    kept = list(range(len(tables)))

    def spare() -> int:  # of those left out a line says it
        return capacity - 2 * (len(kept) < len(tables)) - sum(frames[at] for at in kept)

    while len(kept) > 1 and sum(least[at] for at in kept) > spare():
        if all(tables[at].asked for at in kept) and max(least) > _ASKED:
            least = [min(one, _ASKED) for one in least]
        else:
            kept.remove(max(kept, key=lambda at: (not tables[at].asked, at)))
    shares = [least[at] if at in kept else 0 for at in range(len(tables))]
    for cap in range(LEAST + 1, max(wants, default=0) + 1):
        tried = [min(want, cap) if at in kept else 0 for at, want in enumerate(wants)]
        if sum(tried) > spare():
            break
        shares = tried
    for at in kept:  # what an even share leaves over goes to the first that can use it
        over = spare() - sum(shares)
        if over > 0:
            shares[at] += min(over, wants[at] - shares[at])
    return shares


def _shown(fit: _Fitted, share: int) -> list[int | None]:
    """Return which rows are shown, None where some are left out: in so many lines, and one row at least."""
    heights = [len(row) for row in fit.rows]
    if sum(heights) <= share:
        return [*range(len(heights))]
    last = len(heights) - 1
    keeps = last > 0 and fit.sums_up
    spare = share - 1 - (heights[last] if keeps else 0)
    shown: list[int | None] = []
    for at, height in enumerate(heights[:-1] if keeps else heights):
        spare -= height
        if spare < 0 and shown:
            break
        shown.append(at)
    return [*shown, None, *([last] if keeps else [])]


def _all_rows(table: Table, cells: Sequence[Sequence[str]], fit: _Fitted, share: int, wide: int, more: str) -> _Fitted:
    """Return the table with as few columns less as make all its rows fit `share` lines; as it is where none do."""
    if not len(fit.rows) <= share < sum(map(len, fit.rows)):
        return fit
    for fewer in range(1, len(cells[0])):
        tried = _fit(table, cells, wide, more, fewer)
        frame = len(tried.header) + len(tried.dropped) - len(fit.header) - len(fit.dropped)
        if sum(map(len, tried.rows)) + frame <= share:
            return tried
    return fit


def _fit(table: Table, texts: Sequence[Sequence[str]], wide: int, more: str, fewer: int = 0) -> _Fitted:
    """Return a table, its header and rows as texts, in so many columns of a terminal; `fewer`: so many of its own are
    left out in any case.
    """
    from rich.cells import cell_len

    flush, kinds = table.flush, [column.kind for column in table.printed]
    cells = [list(row) for row in texts]
    kept = list(range(len(kinds)))
    heads, whole, parts = _measured(cells)
    names = {at for at, kind in enumerate(kinds) if kind.name}
    pairs = [at for at in sorted(names) if kinds[at].pair]  # two columns of the same names
    short = {at: _shortened([row[at] for row in cells[1:]]) for at in names.difference(pairs)}
    both = _shortened([row[at] for at in pairs for row in cells[1:]])
    short |= {at: both[place * len(table.rows) : (place + 1) * len(table.rows)] for place, at in enumerate(pairs)}
    least = {at: max(head, parts[at] if flush[at] else whole[at]) for at, head in enumerate(heads)}
    for at in names:
        least[at] = max(heads[at], min(whole[at], _NAME, max([_SHORT, *map(cell_len, short[at])])))
    order = _order(table)
    dropped: list[int] = []
    while order and (_total(least, kept) > wide or len(dropped) < fewer):
        dropped.append(order.pop(0))
        kept.remove(dropped[-1])
    cut = (names, {at for at, left in enumerate(flush) if left})  # words are cut where nothing else is left
    floors = [{at: _SHORTEST if at in which else least[at] for at in kept} for which in cut]
    least = {at: least[at] for at in kept}
    _shrink(least, floors, wide - _GAP * (len(kept) - 1))
    while _total(least, kept) > wide and len(kept) > 1:
        dropped.append(kept.pop())
    least[0] = min(least[0], wide)
    _align(cells, flush, kept, least, wide)
    widths = {at: max(least[at], whole[at], cell_len(cells[0][at])) for at in kept}
    floors = [{at: max(least[at], whole[at]) for at in kept}, least]  # headings break first
    _shrink(widths, floors, wide - _GAP * (len(kept) - 1))
    narrow = {at for at in names.intersection(kept) if widths[at] < whole[at]}
    for at in narrow.union(pairs) if narrow.intersection(pairs) else narrow:
        if at in kept:
            for row, name in zip(cells[1:], short[at], strict=True):
                row[at] = name
    starts = {at: sum(widths[one] + _GAP for one in kept[:place]) for place, at in enumerate(kept)}
    spans = [(starts[at], starts[at] + widths[at], kinds[at].style) for at in kept if kinds[at].style]

    def lines(row: list[str], *, header: bool = False) -> list[str]:
        columns = {at: _broken(row[at], widths[at], name=not header and at in names) for at in kept}
        height = max(map(len, columns.values()), default=1)
        found = []
        for number in range(height):
            texts = []
            for at in kept:
                column = columns[at]
                place = number - (height - len(column) if header else 0)
                text = column[place] if 0 <= place < len(column) else ""
                blank = " " * (widths[at] - cell_len(text))
                texts.append(text + blank if flush[at] else blank + text)
            found.append((" " * _GAP).join(texts))
        return found

    sums_up = texts[-1][0].casefold().startswith(SUMS_UP)
    missing = ", ".join(cells[0][at] for at in sorted(dropped))
    left_out = folded(f"not shown in {wide} columns ({more}): {missing}", wide).splitlines() if dropped else []
    return _Fitted(lines(cells[0], header=True), [lines(row) for row in cells[1:]], spans, left_out, sums_up)


def _total(widths: Mapping[int, int], kept: Sequence[int]) -> int:
    """Return columns of the terminal that these columns take."""
    return sum(widths[at] + _GAP for at in kept) - _GAP


def _align(
    cells: list[list[str]], flush: Sequence[bool], kept: Sequence[int], widths: dict[int, int], wide: int
) -> None:
    """Put decimal points below each other in those of the columns that have place for it."""
    from rich.cells import cell_len

    points = aligned(cells, flush)[1:]
    for at in kept:
        longer = max([widths[at], *(cell_len(row[at]) for row in points)])
        if not flush[at] and _total(widths, kept) - widths[at] + longer <= wide:
            widths[at] = longer
            for row, point in zip(cells[1:], points, strict=True):
                row[at] = point[at]


def _shortened(names: Sequence[str]) -> list[str]:
    """Return names without their providers (`openai/`), where they stay different, and without what all models begin
    with and all names end in after a ` · `.
    """
    whole = list(dict.fromkeys(names))
    models, rests = zip(*(name.partition(" · ")[::2] for name in whole), strict=True) if whole else ((), ())
    plain = [model.rpartition("/")[2] for model in models]
    if len({*zip(plain, rests, strict=True)}) < len(whole):
        plain = list(models)
    common = os.path.commonprefix(plain) if len(set(plain)) > 1 else ""  # noqa: RUF071
    begin = max(common.rfind(mark) for mark in "/-_: ") + 1
    endings = [rest.split(" · ") if rest else [] for rest in rests]
    while all(endings) and len(whole) > 1 and len({ending[-1] for ending in endings}) == 1:
        endings = [ending[:-1] for ending in endings]
    short = {}
    for name, model, text, ending, rest in zip(whole, models, plain, endings, rests, strict=True):
        cut = "…" if len(text) - begin < len(model) else ""
        less = "…" if len(" · ".join(ending)) < len(rest) else ""
        short[name] = " · ".join([f"{cut}{text[begin:]}", *ending]) + less
    return [short[name] for name in names]


def _order(table: Table) -> list[int]:
    """In which order columns give way; the first never does."""
    columns = table.printed
    named = sorted((at for at, column in enumerate(columns) if column.drop), key=lambda at: columns[at].drop)
    words = (at for at, column in enumerate(columns) if column.kind.yields)
    right = range(len(columns) - 1, 0, -1)
    return [at for at in dict.fromkeys((*named, *words, *right)) if at and not columns[at].keep]


def _broken(text: str, wide: int, *, name: bool) -> list[str]:
    """Return a cell's lines: broken between its parts, a name shortened in its middle."""
    from rich.cells import cell_len

    if name and cell_len(text) > wide:
        head = tail = ""
        for at in range(len(text)):  # a character in front, one behind, as long as there is place
            longer = (text[: at // 2 + 1], text[len(text) - (at + 1) // 2 :] if at else "")
            if cell_len("".join(longer)) + 1 > wide:
                break
            head, tail = longer
        return [f"{head}…{tail}"]
    return folded(text, wide).splitlines() or [""]


def one_lined(text: str) -> str:
    """Return a text as a terminal shows it, with blanks for tabs, which have no width that is known here."""
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
    """Return cells below a header, in columns of figures filled up behind so that decimal points are below each other;
    not where that takes more than `_FILL` blanks, as of a range among means, which would lead away from the header.
    """
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
    """Return the parts of a cell between which it may break: an interval is one, and so is an outcome with its
    count.
    """
    return _UNIT.findall(text)


def folded(text: str, wide: int) -> str:
    """Return a text in lines of at most `wide` columns: broken between its parts, never in one that has place; one that
    has none after a hyphen or a stroke, else where the line ends.
    """
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
    """Yield the parts of a line, each with what stands before it: a blank, or nothing within a word that is cut."""
    from rich.cells import cell_len, chop_cells

    for unit in units(line):
        for word in unit.split() if cell_len(unit) > wide else [unit]:
            for place, part in enumerate(_STROKE.split(word) if cell_len(word) > wide else [word]):
                for number, piece in enumerate(chop_cells(part, wide) if cell_len(part) > wide else [part]):
                    yield "" if place or number else " ", piece


def _widths(shown: Sequence[Sequence[str]], left: Sequence[bool], capacity: int) -> list[int] | None:
    """Return columns as wide as their texts, or narrower: to where no figure breaks in the middle. None: that does not
    fit.
    """
    from rich.cells import cell_len

    heads, cells, parts = _measured(shown)
    widths = {at: max(cell_len(head), cells[at]) for at, head in enumerate(shown[0])}
    words = map(max, heads, parts)
    least = [min(word, _WORDS) if flush else word for word, flush in zip(words, left, strict=True)]
    capacity -= 3 * len(widths) + 1  # borders, and a blank on either side
    if len(widths) > _PAIR and sum(least) > capacity:
        return None
    floors = (map(max, least, cells), least)  # headings break first
    _shrink(widths, map(dict, map(enumerate, floors)), capacity)
    return list(widths.values())


def _measured(cells: Sequence[Sequence[str]]) -> tuple[list[int], list[int], list[int]]:
    """Return how wide the longest word of each header is, the longest line below it, and the longest part of one."""
    from rich.cells import cell_len

    def longest(parts: Iterable[str]) -> int:
        return max(map(cell_len, parts), default=0)

    columns = list(zip(*cells, strict=True))
    return (
        [longest(column[0].split()) for column in columns],
        [longest(line for text in column[1:] for line in text.splitlines()) for column in columns],
        [longest(part for text in column[1:] for part in units(text)) for column in columns],
    )
