"""A set's statistics as tables: questions by every dimension, cross tables, how long its texts are."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.build.options import cut
from viva.render.findings import Drawing, Findings
from viva.render.table import COUNT, Column, Kind, Table, fields, figure, places

Measure = Literal["words", "characters"]
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
BINS = 40


class Entry(Struct, frozen=True, kw_only=True):
    """One question: its texts by field, its values by dimension."""

    texts: dict[str, str]
    tags: dict[str, str]


class Lengths(Struct, frozen=True, kw_only=True):
    """The lengths of some texts. `quantiles` are those of QUANTILES, interpolated; `histogram`: edges and counts."""

    group: str
    texts: int
    empty: int
    mean: float
    sd: float
    least: int
    most: int
    quantiles: tuple[float, ...]
    edges: tuple[float, ...]
    counts: tuple[int, ...]


class Cross(Struct, frozen=True, kw_only=True):
    """Questions by two dimensions: per value of the first a row of counts, in the order of `columns`."""

    first: str
    second: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[int, ...]], ...]


def measure_of(language: str) -> Measure:
    """Return "characters" for Chinese, which has no spaces between words, else "words"."""
    return "characters" if language == "zh" else "words"


def length(text: str, measure: Measure) -> int:
    """Count words (separated by whitespace), or characters without whitespace."""
    return len(text.split()) if measure == "words" else len(re.sub(r"\s", "", text))


def lengths(entries: Sequence[Entry], field: str, measure: Measure, group: str = "all") -> Lengths | None:
    """Return the distribution of a field's lengths; None if no entry has a text in it."""
    import numpy as np

    texts = [entry.texts.get(field, "") for entry in entries]
    sizes = np.array([length(text, measure) for text in texts if text.strip()])
    if not len(sizes):
        return None
    least, most = int(sizes.min()), int(sizes.max())
    wide = -(-(most - least + 1) // BINS)  # a whole number of words per bar: otherwise some bars would stay empty
    counts, edges = np.histogram(sizes, bins=np.arange(least, most + wide + 1, wide))
    return Lengths(
        group=group,
        texts=len(sizes),
        empty=len(texts) - len(sizes),
        mean=float(sizes.mean()),
        sd=float(sizes.std(ddof=1)) if len(sizes) > 1 else 0.0,
        least=least,
        most=most,
        quantiles=tuple(float(value) for value in np.quantile(sizes, QUANTILES)),
        edges=tuple(float(edge) for edge in edges),
        counts=tuple(int(count) for count in counts),
    )


def counts(entries: Sequence[Entry], dimension: str) -> list[tuple[str, int]]:
    """Count a dimension's values, in the order of values."""
    return sorted(Counter(entry.tags.get(dimension, "") for entry in entries).items())


def crossed(entries: Sequence[Entry], first: str, second: str) -> Cross:
    """Count questions by pairs of values."""
    pairs = Counter((entry.tags.get(first, ""), entry.tags.get(second, "")) for entry in entries)
    columns = tuple(sorted({column for _, column in pairs}))
    rows = sorted({row for row, _ in pairs})
    return Cross(
        first=first,
        second=second,
        columns=columns,
        rows=tuple((row, tuple(pairs[row, column] for column in columns)) for row in rows),
    )


class Counts(Struct, frozen=True):
    """Questions by one dimension: pairs of value and count."""

    dimension: str
    values: tuple[tuple[str, int], ...]


class SetStatistics(Struct, frozen=True, kw_only=True):
    """Statistics of one set. `measure`: unit of lengths, words or characters."""

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
        Column(
            "median" if index == 2 else f"{percent(share, 0)} %", f"quantiles.{index}", _QUANTILE, f"quantile {share:g}"
        )
        for index, share in enumerate(QUANTILES)
    ),
    Column("most", "most", COUNT),
)
_LENGTHS = (Column("", "group", _VALUE, "group"), *_FIGURES, *fields("", "empty", "edges", "counts"))
"""Columns of lengths; the histogram is only in machine-readable formats."""


def _tables(statistics: SetStatistics) -> Iterator[Table]:
    """Yield a set's tables: counts, cross tables, lengths."""
    share = Column("per cent", lambda row: row[1] / statistics.questions, _SHARE, None)
    for counts in statistics.counts:
        columns = (Column(counts.dimension, "0", _VALUE), Column("questions", "1", COUNT), share)
        yield Table(
            f"{statistics.set}: {statistics.questions:,} questions by {counts.dimension}", columns, counts.values
        )
    for cross in statistics.crosses:
        values = (Column(_VALUE.text(name), f"1.{index}", COUNT, name) for index, name in enumerate(cross.columns))
        total = Column("all", lambda row: sum(row[1]), COUNT, None)
        sums = tuple(map(sum, zip(*(counts for _, counts in cross.rows), strict=True)))
        yield Table(
            f"{statistics.set}: {cross.first} by {cross.second}",
            (Column(cross.first, "0", _VALUE), *values, total),
            (*cross.rows, ("all", sums)),
        )
    if statistics.lengths:
        yield Table(
            f"{statistics.set}: length of the {statistics.field}, in {statistics.measure}", _LENGTHS, statistics.lengths
        )


_SETS = fields("", "set", "language", "questions", "fingerprint", "field", "measure")
_FIGURE = places("set", "language", "kind", "first", "first_value", "second", "second_value", "figure")


def findings(sets: Sequence[SetStatistics], drawing: Drawing) -> Findings[Sequence[SetStatistics]]:
    """Return counts, cross tables and lengths of every set; `rows` has one row per number: set, language, kind,
    dimensions with values, the number."""
    rows = [(statistics.set, statistics.language, *cells) for statistics in sets for cells in _cells(statistics)]
    return Findings(
        found=sets,
        shown=[*(table for statistics in sets for table in _tables(statistics)), Table("Sets", _SETS, sets)],
        rows=Table("Figures", _FIGURE, rows),
        notes=[
            "Words are what blanks part; in Chinese characters are counted, without blanks. Quantiles are "
            "interpolated, and empty texts are left out.",
            *(
                "signature: "
                f"set:{statistics.set}={statistics.fingerprint}|lang:{statistics.language}|field:{statistics.field}"
                for statistics in sets
            ),
        ],
        drawing=drawing,
    )


def _cells(statistics: SetStatistics) -> Iterator[Sequence[object]]:
    for counts in statistics.counts:
        for value, count in counts.values:
            yield "questions", counts.dimension, value, "", "", count
    for cross in statistics.crosses:
        for row, values in cross.rows:
            for column, count in zip(cross.columns, values, strict=True):
                yield "questions", cross.first, row, cross.second, column, count
    read = [(column.name, column.getter()) for column in _FIGURES]
    for lengths in statistics.lengths:
        for name, get in read:
            yield "length", f"{statistics.field}, {statistics.measure}", lengths.group, "figure", name, get(lengths)
