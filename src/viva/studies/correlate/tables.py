"""Correlations of columns, as tables and as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from viva.analysis.correlation import Coefficient, Kind, Outlier, Pair
from viva.analysis.estimate import UNSURE
from viva.render.findings import Drawing, Findings
from viva.render.measures import MEASURE
from viva.render.table import COUNT, SIDE, Column, P, Table, fields, figure, places
from viva.visible import some

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
_NAMED = 6
"""The most rows named in a sentence."""


class Correlations(Struct, frozen=True, kw_only=True):
    """The pairs of one table."""

    title: str
    pairs: tuple[Pair, ...]
    partial: tuple[str, ...] = ()
    """Rows whose figures are means with missing answers."""
    labels: Mapping[str, str] = {}
    """Column → its label in charts, if it has one."""


class Row(NamedTuple):
    """A row of a table: a coefficient of a pair, or an outlier."""

    found: Correlations
    pair: Pair
    each: Coefficient
    """The coefficient; for an outlier, the first one."""
    outlier: Outlier | None = None


def _outlying(row: Row) -> str:
    """Return the outlier's name, with † if its figures have missing answers."""
    name = row.outlier.row if row.outlier else ""
    return f"{name} {UNSURE}" if name in row.found.partial else name


_PAIR = (Column("first", "pair.first", SIDE, keep=True), Column("second", "pair.second", SIDE, keep=True))
_FIGURE, _COEFFICIENT = figure(".4g"), figure(".3f")
_COLUMNS = (
    *_PAIR,
    Column("coefficient", lambda row: NAMES[row.each.kind], keep=True),
    Column("value", "each", MEASURE, keep=True),
    Column("p", "each.p", P),
    Column("rows", "pair.n", COUNT, drop=1),
)
_LEANING = (
    *_COLUMNS[:3],
    Column("lowest", "each.leaning.low", _COEFFICIENT, keep=True),
    Column("lowest without", "each.leaning.low_without", drop=2),
    Column("highest", "each.leaning.high", _COEFFICIENT, keep=True),
    Column("highest without", "each.leaning.high_without", drop=1),
)
_OUTLIERS = (
    *_PAIR,
    Column("row", _outlying, keep=True),
    Column("in the first", "outlier.first", _FIGURE, drop=3),
    Column("in the second", "outlier.second", _FIGURE, drop=2),
    Column("expected", "outlier.expected", _FIGURE, drop=1),
    Column("off", "outlier.t", figure("+.1f"), keep=True),
    Column("p", "outlier.p", P, keep=True),
)
_MATCHED = places("row", "first", "second")
"""Columns of the rows behind a pair, in data."""
_DATA = (
    *fields("found", title="table"), *fields("pair", "first", "second", "n", "left_out"),
    Column(None, lambda row: sum(name in row.found.partial for name, *_ in row.pair.rows), key="partial_rows"),
    *fields("each", "kind", "value", "p", "low", "high"),
    *fields("each.leaning", low="lowest", low_without="lowest_without", high="highest", high_without="highest_without"),
    *fields("pair", "families"),
)  # fmt: skip


def findings(
    correlations: tuple[Correlations, ...], notes: Sequence[str], drawing: Drawing
) -> Findings[tuple[Correlations, ...]]:
    """Return the coefficients of all tables with intervals and p, then the influence of single rows, and outliers;
    `rows` has one for each pair and coefficient. `notes`: on the figures' origin.
    """
    every = [(correlated, pair) for correlated in correlations for pair in correlated.pairs]
    rows = [Row(correlated, pair, each) for correlated, pair in every for each in pair.coefficients]
    titled = (
        ("Correlation", _COLUMNS, rows),
        ("Without one row", _LEANING, [row for row in rows if row.each.leaning]),
        ("Far from the line", _OUTLIERS,
         [Row(rows_of, pair, pair.coefficients[0], outlier) for rows_of, pair in every for outlier in pair.outliers]),
    )  # fmt: skip
    shown = [
        Table(f"{title} · {correlated.title}", columns, own)
        for title, columns, of_all in titled
        for correlated in correlations
        if (own := [row for row in of_all if row.found is correlated])
    ]
    shown += [
        Table(f"Rows · {correlated.title} · {pair.first}, {pair.second}", _MATCHED, pair.rows)
        for correlated, pair in every
    ]
    by_family = any(row.pair.families for row in rows)
    legend = LEGEND.format(*(_FAMILIES if by_family else _ROWS))
    return Findings(
        found=correlations, shown=shown, rows=Table("Correlations", _DATA, rows),
        notes=[*notes, legend, *notes_on(correlations)], drawing=drawing,
    )  # fmt: skip


def notes_on(correlations: Sequence[Correlations]) -> list[str]:
    """Return notes on outliers, rows left out, and undefined coefficients."""
    notes: list[str] = (
        [OUTLIERS] if any(pair.outliers for correlated in correlations for pair in correlated.pairs) else []
    )
    for correlated in correlations:
        if correlated.partial:
            named = some(correlated.partial, _NAMED)
            notes.append(
                f"{UNSURE} {correlated.title}: the means of {len(correlated.partial):,} rows leave out what "
                f"was not scored: {named}."
            )
        for pair in correlated.pairs:
            where = f"{pair.first} and {pair.second} ({correlated.title})"
            if pair.left_out:
                notes.append(f"{where}: {pair.left_out:,} rows lack one of the two and are left out.")
            if pair.of("kendall").value is None:
                notes.append(f"{where}: no coefficient; it takes three rows, and figures that differ, in each column.")
    return notes
