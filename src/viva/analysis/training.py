"""Scores of a model over its training: one point a checkpoint, one curve a format, as in SynEval's Figure 5.

A curve is a column of the exam's own table of models (SynEval: TF, MC, FITB accuracy, FITB F1, OA), or the mean over
the answers that share one value of a tag. Means, intervals and bounds are those of the run's own tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.breakdown import Breakdown
from viva.analysis.columns import Columns
from viva.analysis.correlation import coefficient
from viva.analysis.estimate import Estimate
from viva.types import Aggregate, TableSpec

Lines = dict[str, tuple[Aggregate, ...]]
"""Curve → the lines whose answers it averages."""


class Point(Struct, frozen=True, kw_only=True):
    """One checkpoint: its name, training so far, and its scores by curve."""

    checkpoint: str
    at: float
    """Training tokens (or steps, as the axis says); 0 is before training."""
    cells: dict[str, Estimate]


class Curve(Struct, frozen=True, kw_only=True):
    """Summary of a curve. Shares of 1; None where there are too few points."""

    name: str
    first: float | None
    last: float | None
    best: float | None
    best_at: float | None
    tau: float | None
    """Kendall's tau-b of score against training: 1 where it never falls."""
    p: float | None


class Training(Struct, frozen=True, kw_only=True):
    """All checkpoints on one exam, in the order of training."""

    exam: str
    axis: str
    """The unit of `Point.at`: "training tokens"."""
    points: tuple[Point, ...]
    curves: tuple[Curve, ...]


def parts_of(scores: Columns, tag: str) -> list[str]:
    """Return the values that a tag has, in the order of their first answer; empty for a tag that nothing has."""
    return list(scores.tags[tag].values) if tag in scores.tags else []


def by_tag(scores: Columns, tag: str, headline: Aggregate) -> Lines:
    """Return a curve for each value of a tag, and the headline's; all are averaged as the headline is."""
    lines: Lines = {
        value: (Aggregate(value, where={tag: (value,)}, over=headline.over),) for value in parts_of(scores, tag)
    }
    name = headline.label if headline.label not in lines else f"{headline.label} (overall)"
    return {**lines, name: (headline,)}


def by_table(layout: TableSpec) -> Lines:
    """Return a curve for each column of a table that has a row a model."""
    (row,) = layout.rows
    return {column.label: (row, column) for column in layout.columns}


def by_rows(layout: TableSpec, headline: Aggregate) -> Lines:
    """Return a curve for each row of a table, averaged as the headline is; a row of everything is the headline."""
    return {row.label: (replace(row, over=headline.over),) if row.where else (headline,) for row in layout.rows}


def measured(scores: Columns, lines: Lines, attempts: str) -> dict[str, Estimate]:
    """Return one model's scores on one exam by curve. `attempts`: how several answers count in the exam's headline."""
    breakdown = Breakdown(scores, attempts)
    return {name: breakdown.cell(*shared) for name, shared in lines.items()}


def training(exam: str, axis: str, points: Sequence[Point]) -> Training:
    """Sort checkpoints by training (equal ones as they came) and sum up their curves."""
    ordered = sorted(points, key=lambda point: point.at)
    names = dict.fromkeys(name for point in ordered for name in point.cells)
    curves = tuple(_curve(name, ordered) for name in names)
    return Training(exam=exam, axis=axis, points=tuple(ordered), curves=curves)


def _curve(name: str, points: Sequence[Point]) -> Curve:
    known = [
        (point.at, mean) for point in points if name in point.cells and (mean := point.cells[name].mean) is not None
    ]
    if not known:
        return Curve(name=name, first=None, last=None, best=None, best_at=None, tau=None, p=None)
    best_at, best = max(known, key=lambda pair: pair[1])  # max returns the earliest of equals
    tau, p = coefficient("kendall", [trained for trained, _ in known], [mean for _, mean in known]) or (None, None)
    return Curve(name=name, first=known[0][1], last=known[-1][1], best=best, best_at=best_at, tau=tau, p=p)
