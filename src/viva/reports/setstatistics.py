"""A set's statistics as tables: questions by every dimension, cross tables, lengths."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from viva.analysis.textlengths import QUANTILES, Cross, Lengths
from viva.io.tables import CsvText
from viva.reports.grids import WORDS, grids_terminal
from viva.reports.printing import formats
from viva.reports.result import Grid, percent
from viva.reports.text import json_text
from viva.visible import csv_safe, one_line


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


def grids(found: Sequence[SetStatistics]) -> list[Grid]:
    """The tables of every set."""
    return [grid for one in found for grid in _of(one)]


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


def closing(found: Sequence[SetStatistics]) -> list[str]:
    """How to read it."""
    lines = [
        "Words are what blanks part; in Chinese characters are counted, without blanks. Quantiles are interpolated, "
        "and empty texts are left out."
    ]
    return lines + [
        f"signature: set:{one.set}={one.fingerprint}|lang:{one.language}|field:{one.field}" for one in found
    ]


def _told(found: Sequence[SetStatistics]) -> tuple[list[Grid], list[str]]:
    return grids(found), closing(found)


def as_terminal(found: Sequence[SetStatistics], *, width: int | None = None, colour: bool = False) -> str:
    """Tables for a terminal."""
    return grids_terminal(*_told(found), width=width, colour=colour, words=WORDS)


def as_csv(found: Sequence[SetStatistics]) -> str:
    """A row a figure: set, language, kind, the values it is of, the figure."""
    table = CsvText(["set", "language", "kind", "first", "first_value", "second", "second_value", "figure"])
    for one in found:
        head = [csv_safe(one.set), one.language]
        for counts in one.counts:
            for value, count in counts.values:
                table.add([*head, "questions", csv_safe(counts.dimension), csv_safe(value), "", "", count])
        for cross in one.crosses:
            for row, values in cross.rows:
                for column, count in zip(cross.columns, values, strict=True):
                    parts = [cross.first, row, cross.second, column]
                    table.add([*head, "questions", *map(csv_safe, parts), count])
        for lengths in one.lengths:
            figures = {"texts": lengths.texts, "mean": lengths.mean, "sd": lengths.sd, "least": lengths.least}
            figures |= {f"quantile {share:g}": value for share, value in zip(QUANTILES, lengths.quantiles, strict=True)}
            for name, figure in (figures | {"most": lengths.most}).items():
                said = f"{one.field}, {one.measure}"
                table.add([*head, "length", csv_safe(said), csv_safe(lengths.group), "figure", name, figure])
    return table.text()


def as_json(found: Sequence[SetStatistics]) -> str:
    """Everything, as plain data."""
    return json_text(found)


FORMATS = formats(_told, as_csv=as_csv, as_json=as_json)
