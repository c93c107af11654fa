"""Scores over training: a table of checkpoints, a table of curves, and both as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from viva.analysis.estimate import UNSURE, Estimate
from viva.analysis.training import Point, Training
from viva.render.findings import Drawing, Findings
from viva.render.result import RANGE
from viva.render.table import (
    ESTIMATE,
    NAME,
    PERCENT,
    POINTS,
    Column,
    Kind,
    P,
    Table,
    counted,
    fields,
    figure,
    item,
    short_number,
)
from viva.visible import some

_NONE = Estimate()


class Row(NamedTuple):
    """A checkpoint, and its estimate with the most answers."""

    point: Point
    largest: Estimate


class Cell(NamedTuple):
    """A checkpoint's score on a curve."""

    training: Training
    point: Point
    name: str
    cell: Estimate


def training_tables(course: Training) -> Iterator[Table]:
    """Yield a row a checkpoint, then a row a curve."""
    rows = [Row(point, max(point.cells.values(), key=lambda cell: cell.n, default=_NONE)) for point in course.points]
    checkpoints = (
        Column("checkpoint", "point.checkpoint", NAME),
        Column(course.axis.removeprefix("training "), "point.at", _AXIS, key="at"),
        counted([row.largest for row in rows], "largest"),
        *(Column(curve.name, item("point.cells", curve.name), ESTIMATE) for curve in course.curves),
    )
    yield Table(f"Checkpoints · {course.exam}", checkpoints, rows)
    yield Table(f"Over training · {course.exam}", _CURVE, course.curves)


_AXIS = Kind(short_number)
_CURVE = (
    Column("curve", "name", NAME),
    Column("first", "first", PERCENT),
    Column("last", "last", PERCENT),
    Column(
        "change",
        lambda change: None if change.last is None or change.first is None else change.last - change.first,
        POINTS,
    ),
    Column("best", "best", PERCENT),
    Column("best at", "best_at", _AXIS),
    Column("Kendall's tau", "tau", figure(".3f"), key="tau"),
    Column("p", "p", P),
)
_DATA = (
    *fields("training", "exam"), *fields("point", "checkpoint"), *fields("training", "axis"),
    *fields("point", "at", form=".12g"), *fields("", name="curve"),
    *fields("cell", "n", "mean", "low", "high", "floor", "ceiling", "sd", "unanswered"),
)  # fmt: skip


def findings(trainings: tuple[Training, ...], notes: Sequence[str], drawing: Drawing) -> Findings[tuple[Training, ...]]:
    """Return the checkpoints and curves of every exam; `rows` has one a checkpoint and curve: shares of 1."""
    cells = [
        Cell(course, point, name, cell)
        for course in trainings
        for point in course.points
        for name, cell in point.cells.items()
    ]
    legends = dict.fromkeys(line for course in trainings for line in legend(course))
    return Findings(
        found=trainings, shown=[table for course in trainings for table in training_tables(course)],
        rows=Table("Scores", _DATA, cells), notes=[*legends, *notes], drawing=drawing,
    )  # fmt: skip


def legend(course: Training) -> list[str]:
    """Return notes on how to read the tables, and on what they leave out."""
    lines = ["Per cent with 95 % intervals over questions, as in the run's own tables. "
             f"Kendall's tau is the score's with {course.axis}."]  # fmt: skip
    for point in course.points:
        partial = [name for name, cell in point.cells.items() if not cell.complete]
        if partial:
            lines.append(
                f"{UNSURE} {point.checkpoint} on {course.exam}: some answers are missing or not graded "
                f"({some(partial, 4)}); its means leave them out."
            )
    if any(cell.ranged for point in course.points for cell in point.cells.values()):
        lines.append(f"{UNSURE} after a range: {RANGE}. It is no point of a curve.")
    if any(point.at == 0 for point in course.points) and any(point.at > 0 for point in course.points):
        lines.append(f"A logarithmic axis has no 0: the checkpoint at 0 {course.axis} is in the tables only.")
    return lines
