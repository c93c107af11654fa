"""How columns go together, as tables and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from msgspec import Struct

from viva.analysis.correlation import KINDS, Coefficient, Kind, Leaning, Pair
from viva.analysis.wording import UNSURE
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.result import Grid, p_text

NAMES: dict[Kind, str] = {"kendall": "Kendall's tau-b", "pearson": "Pearson's r", "spearman": "Spearman's rho"}
LEGEND = (
    "[…]: {}; p: two-sided, against no association. Both take {}. Without one row: the lowest and the highest value of "
    "the coefficient with any one row taken out, and which row that is."
)
_ROWS = ("Fisher's 95 % interval", "the rows as drawn independently, which models of one family are not")
_FAMILIES = (
    "95 % interval on the scale of Fisher's z, leaving out each family in turn",
    "families as drawn, not models",
)
OUTLIERS = (
    "Far from the line: rows more than two standard errors from the second column's line over the first, drawn through "
    "the other rows; p times the number of rows, so that of many rows one may lie far off by chance."
)
_PAIR = ("first", "second")
"""Columns that say which two columns of figures a row is about."""
_NAMED = 6
"""Rows that a sentence names."""


class Correlations(Struct, frozen=True, kw_only=True):
    """The pairs of one table."""

    title: str
    pairs: tuple[Pair, ...]
    partial: tuple[str, ...] = ()
    """Rows whose figures are means that leave something out."""
    labels: Mapping[str, str] = {}
    """What a chart calls a column that has a label."""


def correlation_grids(found: Correlations) -> list[Grid]:
    """The coefficients with intervals and p, then what single rows make of them."""
    rows = tuple(
        (pair.first, pair.second, NAMES[kind], *_texts(pair.of(kind)), f"{pair.n:,}")
        for pair in found.pairs
        for kind in KINDS
    )
    header = (*_PAIR, "coefficient", "value", "p", "rows")
    grids = [Grid(f"Correlation · {found.title}", header, rows, drop=("rows",), keep=header[:-2])]
    leaning = tuple(
        (pair.first, pair.second, NAMES[one.kind], *_leaning(one.leaning))
        for pair in found.pairs
        for one in pair.coefficients
        if one.leaning is not None
    )
    if leaning:
        names = (*_PAIR, "coefficient", "lowest", "lowest without", "highest", "highest without")
        drop, keep = ("highest without", "lowest without"), (*_PAIR, "coefficient", "lowest", "highest")
        grids.append(Grid(f"Without one row · {found.title}", names, leaning, drop=drop, keep=keep))
    far = tuple(
        (pair.first, pair.second, _row(one.row, found), f"{one.first:.4g}", f"{one.second:.4g}", f"{one.expected:.4g}",
         f"{one.t:+.1f}", p_text(one.p))
        for pair in found.pairs
        for one in pair.outliers
    )  # fmt: skip
    if far:
        columns = (*_PAIR, "row", "in the first", "in the second", "expected", "off", "p")
        grids.append(
            Grid(
                f"Far from the line · {found.title}", columns, far,
                drop=("expected", "in the second", "in the first"), keep=(*_PAIR, "row", "off", "p"),
            )
        )  # fmt: skip
    return grids


def _row(name: str, found: Correlations) -> str:
    return f"{name} {UNSURE}" if name in found.partial else name


def notes_on(found: Sequence[Correlations]) -> list[str]:
    """What outliers are, rows that were left out, and coefficients that there are none of."""
    notes: list[str] = [OUTLIERS] if any(pair.outliers for one in found for pair in one.pairs) else []
    for one in found:
        if one.partial:
            named = ", ".join(one.partial[:_NAMED]) + (", …" if one.partial[_NAMED:] else "")
            notes.append(
                f"{UNSURE} {one.title}: the means of {len(one.partial):,} rows leave out what was not scored: {named}."
            )
        for pair in one.pairs:
            where = f"{pair.first} and {pair.second} ({one.title})"
            if pair.left_out:
                notes.append(f"{where}: {pair.left_out:,} rows lack one of the two and are left out.")
            if pair.of("kendall").value is None:
                notes.append(f"{where}: no coefficient; it takes three rows, and figures that differ, in each column.")
    return notes


def _texts(one: Coefficient) -> tuple[str, str]:
    if one.value is None:
        return "–", "–"
    between = "" if one.low is None else f" [{one.low:.3f}, {one.high:.3f}]"
    return f"{one.value:.3f}{between}", p_text(one.p)


def _leaning(one: Leaning) -> tuple[str, str, str, str]:
    return f"{one.low:.3f}", one.low_without, f"{one.high:.3f}", one.high_without


@dataclass(frozen=True, repr=False)
class CorrelationTables(StudyResult):
    """The correlations of every table."""

    found: tuple[Correlations, ...]
    more: tuple[str, ...] = ()
    """Notes of where the figures come from."""
    drawing: Drawing = None
    words = WORDS | {*_PAIR, "row", "lowest without", "highest without", "coefficient"}

    def tables(self) -> list[Grid]:
        """The coefficients of all tables, then what single rows make of them, and outliers."""
        ranks = zip_longest(*map(correlation_grids, self.found))
        return [grid for grids in ranks for grid in grids if grid is not None]

    def closing(self) -> list[str]:
        """The legend and the notes."""
        by_family = any(pair.families for one in self.found for pair in one.pairs)
        return [*self.more, LEGEND.format(*(_FAMILIES if by_family else _ROWS)), *notes_on(self.found)]

    def records(self) -> Records:
        """A row a pair and coefficient, unrounded."""
        leaning = ("lowest", "lowest_without", "highest", "highest_without")
        header = ("table", "first", "second", "n", "left_out", "partial_rows", "kind", "value", "p", "low", "high")
        return (*header, *leaning, "families"), [
            (*(one.title, pair.first, pair.second, pair.n, pair.left_out, partial), *_figures(each), pair.families)
            for one in self.found
            for pair in one.pairs
            for partial in [sum(row in one.partial for row, *_ in pair.rows)]
            for each in pair.coefficients
        ]

    def data(self) -> object:
        """Pairs and notes."""
        return {"tables": list(self.found), "notes": [*notes_on(self.found), *self.more]}


def _figures(each: Coefficient) -> Sequence[object]:
    lean = each.leaning
    last = (lean.low, lean.low_without, lean.high, lean.high_without) if lean else (None, None, None, None)
    return each.kind, each.value, each.p, each.low, each.high, *last
