"""A set's statistics as tables: questions by every dimension, cross tables, lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from viva.analysis.wording import percent
from viva.build.options import cut
from viva.build.statistics.lengths import QUANTILES, Cross, Lengths
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, Column, Kind, Table, fields, figure, places


class Counts(Struct, frozen=True):
    """Questions by one dimension: value → how many."""

    dimension: str
    values: tuple[tuple[str, int], ...]


class SetStatistics(Struct, frozen=True, kw_only=True):
    """Everything about one set. `measure`: what lengths are counted in."""

    set: str
    language: str
    questions: int
    fingerprint: str
    field: str
    measure: str
    counts: tuple[Counts, ...]
    crosses: tuple[Cross, ...]
    lengths: tuple[Lengths, ...]


_VALUE = cut(60)
_SHARE = Kind(lambda share: percent(share, 1))
_MEAN, _QUANTILE = figure(".1f"), figure(",.4g")
_FIGURES = (
    *(Column(name, name, kind) for name, kind in (("texts", COUNT), ("mean", _MEAN), ("sd", _MEAN), ("least", COUNT))),
    *(
        Column("median" if at == 2 else f"{percent(share, 0)} %", f"quantiles.{at}", _QUANTILE, f"quantile {share:g}")
        for at, share in enumerate(QUANTILES)
    ),
    Column("most", "most", COUNT),
)
_LENGTHS = (Column("", "group", _VALUE, "group"), *_FIGURES, *fields("", "empty", "edges", "counts"))
"""Of lengths; only data have the histogram."""


def _tables(one: SetStatistics) -> Iterator[Table]:
    """Yield counts, cross tables and lengths of a set."""
    share = Column("per cent", lambda row: row[1] / one.questions, _SHARE, None)
    for counts in one.counts:
        columns = (Column(counts.dimension, "0", _VALUE), Column("questions", "1", COUNT), share)
        yield Table(f"{one.set}: {one.questions:,} questions by {counts.dimension}", columns, counts.values)
    for cross in one.crosses:
        values = (Column(_VALUE.text(name), f"1.{at}", COUNT, name) for at, name in enumerate(cross.columns))
        total = Column("all", lambda row: sum(row[1]), COUNT, None)
        sums = tuple(map(sum, zip(*(counts for _, counts in cross.rows), strict=True)))
        yield Table(
            f"{one.set}: {cross.first} by {cross.second}",
            (Column(cross.first, "0", _VALUE), *values, total),
            (*cross.rows, ("all", sums)),
        )
    if one.lengths:
        yield Table(f"{one.set}: length of the {one.field}, in {one.measure}", _LENGTHS, one.lengths)


_SETS = fields("", "set", "language", "questions", "fingerprint", "field", "measure")
_FIGURE = places("set", "language", "kind", "first", "first_value", "second", "second_value", "figure")


def findings(found: Sequence[SetStatistics], drawing: Drawing) -> Findings[Sequence[SetStatistics]]:
    """Return counts, cross tables and lengths of every set; `rows` has one a figure: set, language, kind, the values
    it is of, the figure."""
    rows = [(one.set, one.language, *cells) for one in found for cells in _cells(one)]
    return Findings(
        found=found,
        shown=[*(table for one in found for table in _tables(one)), Table("Sets", _SETS, found)],
        rows=Table("Figures", _FIGURE, rows),
        notes=[
            "Words are what blanks part; in Chinese characters are counted, without blanks. Quantiles are "
            "interpolated, and empty texts are left out.",
            *(f"signature: set:{one.set}={one.fingerprint}|lang:{one.language}|field:{one.field}" for one in found),
        ],
        drawing=drawing,
    )


def _cells(one: SetStatistics) -> Iterator[Sequence[object]]:
    for counts in one.counts:
        for value, count in counts.values:
            yield "questions", counts.dimension, value, "", "", count
    for cross in one.crosses:
        for row, values in cross.rows:
            for column, count in zip(cross.columns, values, strict=True):
                yield "questions", cross.first, row, cross.second, column, count
    read = [(column.name, column.getter()) for column in _FIGURES]
    for lengths in one.lengths:
        for name, get in read:
            yield "length", f"{one.field}, {one.measure}", lengths.group, "figure", name, get(lengths)
