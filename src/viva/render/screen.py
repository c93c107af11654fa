"""One screen: what a command prints unless everything is asked for.

Every table gives way by the same rules. Columns that do not fit are left out and named, first those that say so
(`Column.drop`), then counts of outcomes and bounds, then from the right; no cell with a figure is ever broken. Where
rows would be left out only because cells are folded, columns are left out in their place.
Tables share the lines of the screen; those that an option asked for give way last (`Table.asked`). Of a table that is
cut the first rows are shown and the last where it sums up.
"""

from __future__ import annotations

import io
import os.path
import re
from collections.abc import Collection, Sequence
from operator import gt

from msgspec import Struct

from viva.analysis.wording import UNSURE
from viva.render.table import Table
from viva.render.terminal import aligned, folded, one_lined, units
from viva.visible import plural

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
_GAP = 2
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
    """Tables and the lines below them in one screen; `more` says what shows the rest."""
    from rich.console import Console
    from rich.text import Text

    wide = width or WIDTH
    out = io.StringIO()
    console = Console(
        file=out, width=wide, force_terminal=colour, color_system="standard" if colour else None, highlight=False
    )
    notes = _notes(closing, wide, more)
    texts = [[[one_lined(cell) for cell in row] for row in (table.header, *table.texts())] for table in tables]
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
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().splitlines()) + "\n"


def _line(text: str, wide: int) -> str:
    """The beginning of a text that fits one line, whole words."""
    if len(text) <= wide:
        return text
    return f"{folded(text, wide - 2).splitlines()[0]} …"


def _notes(closing: Sequence[str], wide: int, more: str, lines: int = NOTES) -> list[str]:
    """Whole notes, as many as there are lines for; the others are counted.

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
    """How many lines of rows each table has: as many as it wants, or evenly; 0 for tables that are only named."""
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
    """Which rows are shown, None where some are left out: in so many lines, and one row at least."""
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
    """The table with as few columns less as make all its rows fit `share` lines; as it is where none do."""
    if not len(fit.rows) <= share < sum(map(len, fit.rows)):
        return fit
    for fewer in range(1, len(cells[0])):
        tried = _fit(table, cells, wide, more, fewer)
        frame = len(tried.header) + len(tried.dropped) - len(fit.header) - len(fit.dropped)
        if sum(map(len, tried.rows)) + frame <= share:
            return tried
    return fit


def _fit(table: Table, texts: Sequence[Sequence[str]], wide: int, more: str, fewer: int = 0) -> _Fitted:
    """A table, its header and rows as texts, in so many columns of a terminal; `fewer`: so many of its own are left out
    in any case."""
    from rich.cells import cell_len

    flush, kinds = table.flush, [column.kind for column in table.printed]
    cells = [list(row) for row in texts]
    kept = list(range(len(kinds)))

    def longest(parts: list[str]) -> int:
        return max(map(cell_len, parts), default=0)

    heads = [longest(cells[0][at].split()) for at in kept]
    whole = [longest([line for row in cells[1:] for line in row[at].splitlines()]) for at in kept]
    parts = [longest([part for row in cells[1:] for part in units(row[at])]) for at in kept]
    names = {at for at, kind in enumerate(kinds) if kind.name}
    pairs = [at for at in sorted(names) if kinds[at].pair]  # two columns of the same names
    short = {at: _shortened([row[at] for row in cells[1:]]) for at in names.difference(pairs)}
    both = _shortened([row[at] for at in pairs for row in cells[1:]])
    short |= {at: both[place * len(table.rows) : (place + 1) * len(table.rows)] for place, at in enumerate(pairs)}
    least = [max(head, parts[at] if flush[at] else whole[at]) for at, head in enumerate(heads)]
    for at in names:
        least[at] = max(heads[at], min(whole[at], _NAME, max(_SHORT, longest(short[at]))))
    order = _order(table)
    dropped: list[int] = []
    while order and (_total(least, kept) > wide or len(dropped) < fewer):
        dropped.append(order.pop(0))
        kept.remove(dropped[-1])
    for which in (names, {at for at, left in enumerate(flush) if left}):  # words are cut where nothing else is left
        _narrow(least, which.intersection(kept), kept, wide)
    while _total(least, kept) > wide and len(kept) > 1:
        dropped.append(kept.pop())
    least[0] = min(least[0], wide)
    _align(cells, flush, kept, least, wide)
    widths = {at: max(least[at], whole[at], cell_len(cells[0][at])) for at in kept}
    floors = ({at: max(least[at], whole[at]) for at in kept}, {at: least[at] for at in kept})
    for floor in floors:  # headings break first
        while sum(widths.values()) + _GAP * (len(kept) - 1) > wide and any(map(gt, widths.values(), floor.values())):
            widest = max(kept, key=lambda at: (widths[at] > floor[at], widths[at]))
            widths[widest] -= 1
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


def _total(widths: Sequence[int], kept: Sequence[int]) -> int:
    """Columns of the terminal that these columns take."""
    return sum(widths[at] + _GAP for at in kept) - _GAP


def _narrow(widths: list[int], which: Collection[int], kept: Sequence[int], wide: int) -> None:
    """Take from the widest of some columns until all fit, or these are at their shortest."""
    while _total(widths, kept) > wide and (longer := [at for at in which if widths[at] > _SHORTEST]):
        widths[max(longer, key=widths.__getitem__)] -= 1


def _align(cells: list[list[str]], flush: Sequence[bool], kept: Sequence[int], widths: list[int], wide: int) -> None:
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
    """Names without their providers (`openai/`), where they stay different, and without what all models begin with
    and all names end in after a ` · `."""
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
    """A cell's lines: broken between its parts, a name shortened in its middle."""
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
