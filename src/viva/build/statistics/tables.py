"""A set's statistics as tables: questions by every dimension, cross tables, lengths."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.wording import percent
from viva.build.statistics.lengths import QUANTILES, Cross, Lengths
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid
from viva.visible import one_line


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


def _of(one: SetStatistics) -> list[Grid]:
    tables = [
        Grid(
            f"{one.set}: {one.questions:,} questions by {counts.dimension}",
            (counts.dimension, "questions", "per cent"),
            tuple((_shown(value), f"{count:,}", percent(count / one.questions, 1)) for value, count in counts.values),
        )
        for counts in one.counts
    ]
    for cross in one.crosses:
        rows = [(_shown(row), *(f"{count:,}" for count in values), f"{sum(values):,}") for row, values in cross.rows]
        sums = [sum(values[at] for _, values in cross.rows) for at in range(len(cross.columns))]
        rows.append(("all", *(f"{count:,}" for count in sums), f"{sum(sums):,}"))
        header = (cross.first, *map(_shown, cross.columns), "all")
        tables.append(Grid(f"{one.set}: {cross.first} by {cross.second}", header, tuple(rows)))
    if one.lengths:
        header = (
            *("", "texts", "mean", "sd", "least"),
            *("median" if share == 0.5 else f"{percent(share, 0)} %" for share in QUANTILES),
            "most",
        )
        rows = [
            (
                *(_shown(lengths.group), f"{lengths.texts:,}", f"{lengths.mean:.1f}", f"{lengths.sd:.1f}"),
                f"{lengths.least:,}",
                *(f"{value:,.4g}" for value in lengths.quantiles),
                f"{lengths.most:,}",
            )
            for lengths in one.lengths
        ]
        tables.append(Grid(f"{one.set}: length of the {one.field}, in {one.measure}", header, tuple(rows)))
    return tables


def _shown(value: str) -> str:
    return one_line(value, 60) or "(none)"


@dataclass(frozen=True, repr=False)
class SetTables(StudyResult):
    """The statistics of every set."""

    found: tuple[SetStatistics, ...]
    drawing: Drawing = None

    def tables(self) -> list[Grid]:
        """Counts, cross tables and lengths."""
        return [grid for one in self.found for grid in _of(one)]

    def closing(self) -> list[str]:
        """Notes and signatures."""
        lines = [
            "Words are what blanks part; in Chinese characters are counted, without blanks. Quantiles are "
            "interpolated, and empty texts are left out."
        ]
        return lines + [
            f"signature: set:{one.set}={one.fingerprint}|lang:{one.language}|field:{one.field}" for one in self.found
        ]

    def records(self) -> Records:
        """A row a figure: set, language, kind, the values it is of, the figure."""
        header = ("set", "language", "kind", "first", "first_value", "second", "second_value", "figure")
        return header, [(one.set, one.language, *cells) for one in self.found for cells in _cells(one)]

    def data(self) -> object:
        """Everything."""
        return self.found


def _cells(one: SetStatistics) -> Iterator[Sequence[object]]:
    for counts in one.counts:
        for value, count in counts.values:
            yield "questions", counts.dimension, value, "", "", count
    for cross in one.crosses:
        for row, values in cross.rows:
            for column, count in zip(cross.columns, values, strict=True):
                yield "questions", cross.first, row, cross.second, column, count
    for lengths in one.lengths:
        figures = {"texts": lengths.texts, "mean": lengths.mean, "sd": lengths.sd, "least": lengths.least}
        figures |= {f"quantile {share:g}": value for share, value in zip(QUANTILES, lengths.quantiles, strict=True)}
        for name, figure in (figures | {"most": lengths.most}).items():
            yield "length", f"{one.field}, {one.measure}", lengths.group, "figure", name, figure
