"""Tables of values: each column defines its value, its printed form, and its name in data.

    WHERE = Column("model", "model", NAME)
    Table("Scores", (WHERE, Column("score", "overall", ESTIMATE), *fields("overall", "mean", "low", "high")), results)

Every printed form, CSV, JSON and the frame are made from such a table (`viva.render.findings`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.estimate import Estimate, cell_text, percent
from viva.types import outcome_name

DASH = "–"
"""Printed for a missing value."""


class Kind(Struct, frozen=True):
    """A kind of values: its printed form, and the layout of its columns on a screen."""

    text: Callable[[Any], str] = str
    """The printed form of a value."""
    none: str = DASH
    """The printed form of None."""
    words: bool = False
    """Whether values are flush left; figures are flush right, aligned on their decimal points."""
    name: bool = False
    """Whether a screen may shorten a long value in its middle."""
    pair: bool = False
    """Whether two such columns have the same names, to be shortened alike."""
    yields: bool = False
    """Whether such a column is left out first where a screen is narrow."""
    folds: bool = False
    """Whether a long word is broken, after hyphens and strokes, before other columns are left out."""
    style: str = ""
    """The colour on a screen."""


def signed(points: float, digits: int = 2) -> str:
    """Return a difference with its sign, nothing with none: `+3.20`, `−0.40`, `0.00`."""
    text = f"{points:+.{digits}f}"
    return minus(text) if float(text) else text[1:]


def minus(text: str) -> str:
    """Return a printed number with the sign for minus: `−0.40`; an exponent keeps its own, `5e-05`."""
    return "−" + text[1:] if text.startswith("-") else text


def between_text(low: float | None, high: float | None) -> str:
    """Return the interval of a difference, given in shares of 1, in points: ` [−4.90, +10.80]`; "" for None."""
    return "" if low is None or high is None else f" [{POINTS.text(low)}, {POINTS.text(high)}]"


def p_text(p: float | None) -> str:
    """Return a p-value as text: `0.031`, `< 0.001`, and a dash for none."""
    return DASH if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def outcomes_text(cell: Estimate) -> str:
    """Return the counts of outcomes as text: `right 812, wrong 500, unparsed 24`."""
    return ", ".join(f"{outcome_name(outcome)} {count:,}" for outcome, count in cell.outcomes.items()) or DASH


def figure(form: str) -> Kind:
    """Return a kind of numbers, printed in a form of `format`: `figure(".3f")`, `figure("+.1f")`."""
    return Kind(lambda value: minus(format(value, form)))


def short_number(value: float) -> str:
    """Return `220B`, `1.5T`, `20k`: at most three digits, as people speak of training tokens."""
    if not math.isfinite(value):
        return str(value)
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size * 0.9995:
            return f"{value / size:.3g}{letter}"
    return f"{value:.3g}"


TEXT = Kind(words=True)
NAME = Kind(words=True, name=True)
SIDE = Kind(words=True, name=True, pair=True)
"""Kind of the columns `first` and `second`: names of contestants or columns."""
FIGURE = Kind()
"""Numbers, or texts of them, as they are."""
COUNT = figure(",")
PERCENT = Kind(percent)
"""Shares of 1, in per cent."""
POINTS = Kind(lambda share: signed(100 * share))
"""Differences of shares of 1, in points of per cent."""
P = Kind(p_text)
ESTIMATE = Kind(cell_text)
OUTCOMES = Kind(outcomes_text, words=True, yields=True)
"""Estimates, printed as the counts of their outcomes."""
Records: TypeAlias = tuple[list[str], Iterable[tuple[Any, ...]]]
"""Column names and rows."""
Getter: TypeAlias = "str | Callable[[Any], Any]"
"""Gets a column's value from a row: a path of attributes and indices (`pair.first`, `2.low`; "" for the row itself), or
a function of the row."""


class Column(Struct, frozen=True):
    """One column. Without a title it is in data only; with `key=None` it is printed only."""

    title: str | None
    value: Getter
    kind: Kind = TEXT
    key: str | None = ""
    """Its name in CSV, JSON and the frame; "" for its title."""
    drop: int = 0
    """A narrow screen drops columns with a number here first, the lowest number before others."""
    keep: bool = False
    """Whether it is never dropped."""
    form: str = ""
    """Format spec of its numbers in CSV; "" for unformatted."""

    @property
    def name(self) -> str | None:
        """The name in data; None for a column that is only printed."""
        return self.key if self.key is None or self.key else self.title

    def getter(self, *, written: bool = False) -> Callable[[Any], Any]:
        """Return the function that gets the value from a row; `written`: as in CSV."""
        get = _path(self.value) if isinstance(self.value, str) else self.value
        if not (written and self.form):
            return get
        return lambda row: None if (value := get(row)) is None else format(value, self.form)


def _path(path: str) -> Callable[[Any], Any]:
    """Return a function that follows a path of attributes and indices (`pair.0`), "" for the row itself; it returns
    None if it meets None on the way.
    """
    if not path:
        return lambda row: row
    first, _, rest = path.partition(".")
    get: Callable[[Any], Any] = itemgetter(int(first)) if first.isdigit() else attrgetter(first)
    then = _path(rest) if rest else None
    return get if then is None else lambda row: None if (value := get(row)) is None else then(value)


def fields(path: str, /, *names: str, form: str = "", **renamed: str) -> tuple[Column, ...]:
    """Return columns for data only: attributes of the object at `path` in a row ("" for the row), by their own names,
    or renamed (`n="answers"`: the attribute `n` is called `answers`).
    """
    begin = f"{path}." if path else ""
    return tuple(
        Column(None, f"{begin}{name}", key=key, form=form) for name, key in ({n: n for n in names} | renamed).items()
    )


def item(path: str, key: Any, default: Any = None) -> Callable[[Any], Any]:
    """Return a function that gets `key` from the mapping at `path` in a row; `default` if missing."""
    get = _path(path)
    return lambda row: None if (value := get(row)) is None else value.get(key, default)


def places(*names: str) -> tuple[Column, ...]:
    """Return columns for data only, of rows that are tuples: their items by these names."""
    return tuple(Column(None, itemgetter(place), key=name) for place, name in enumerate(names))


def counted(cells: Iterable[Estimate], path: str) -> Column:
    """Return the column of `n` of the estimates at `path` in a row. The unit is in the title, or in each cell if units
    differ.
    """
    units = {cell.unit for cell in cells if cell.n}
    if len(units) > 1:
        return Column("n", path, Kind(lambda cell: f"{cell.n:,} {cell.unit}"), key=None)
    return Column(next(iter(units), "answers"), f"{path}.n", COUNT, key=None)


class Table(Struct, frozen=True):
    """A table: title, columns, and rows of any type that the columns can read."""

    title: str
    columns: tuple[Column, ...]
    rows: Sequence[Any]
    legend: str = ""
    """A line below the tables for this one alone: a screen shows it if it shows the table."""
    asked: bool = False
    """Whether an option requested it: such tables are cut last."""
    dim: int = 0
    """Number of last rows that are only for comparison: published ones."""

    @property
    def printed(self) -> tuple[Column, ...]:
        """The printed columns."""
        return tuple(column for column in self.columns if column.title is not None)

    @property
    def header(self) -> tuple[str, ...]:
        """The titles of the printed columns."""
        return tuple(column.title or "" for column in self.printed)

    def filled(self, always: Collection[str] = ()) -> Table:
        """Return the table without empty printed columns; `always`: titles of columns that stay."""
        columns = zip(self.printed, zip(*self.texts(), strict=True), strict=bool(self.rows))
        return replace(self, columns=tuple(column for column, cells in columns if column.title in always or any(cells)))

    @property
    def flush(self) -> list[bool]:
        """Whether each printed column is flush left: words, and the first one."""
        return [not index or column.kind.words for index, column in enumerate(self.printed)]

    def texts(self) -> list[tuple[str, ...]]:
        """Return the printed cells, row by row."""
        read = [(column.getter(), column.kind) for column in self.printed]
        return [
            tuple(kind.none if (value := get(row)) is None else kind.text(value) for get, kind in read)
            for row in self.rows
        ]

    def records(self, *, written: bool = False) -> Records:
        """Return the names of the data's columns, and their values, row by row; `written`: as in CSV."""
        named = [(name, column.getter(written=written)) for column in self.columns if (name := column.name) is not None]
        return [name for name, _ in named], (tuple(get(row) for _, get in named) for row in self.rows)

    def data(self) -> Mapping[str, Any]:
        """Return the table for JSON: its title, and an object for each row."""
        names, rows = self.records()
        return {"title": self.title, "rows": [dict(zip(names, row, strict=True)) for row in rows]}


def crossed(
    title: str,
    corner: str,
    given: Iterable[tuple[str, Mapping[Any, Any]]],
    kind: Kind,
    label: Callable[[Any], str] = str,
) -> Table:
    """Return a table with a column for each mapping in `given`, and a row for each key of any, in order."""
    beside = list(given)
    keys = dict.fromkeys(key for _, cells in beside for key in cells)
    rows = [(label(key), *(cells.get(key) for _, cells in beside)) for key in keys]
    columns = (Column(name, str(place), kind) for place, (name, _) in enumerate(beside, 1))
    return Table(title, (Column(corner, "0", NAME), *columns), rows)
