"""Scores over training: a table of checkpoints, curves as characters, and as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from viva.analysis.estimate import Estimate
from viva.analysis.training import Curve, Training
from viva.analysis.wording import UNSURE, cell_text, percent
from viva.render.grids import WORDS, grids_terminal
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.result import RANGE, counted
from viva.render.screen import LINES, screen_terminal
from viva.render.table import Grid, p_text
from viva.render.textchart import Dot, Series, short_number, sparkline, text_chart

if TYPE_CHECKING:
    import polars as pl


_NONE = Estimate()
_CHART = 72
"""Columns that curves need on a screen."""


def training_grids(found: Training) -> list[Grid]:
    """A row a checkpoint, then a row a curve."""
    unit = found.axis.removeprefix("training ")
    largest = [max(point.cells.values(), key=lambda cell: cell.n, default=_NONE) for point in found.points]
    counts_of, counts = counted(largest)
    checkpoints = Grid(
        f"Checkpoints · {found.exam}",
        ("checkpoint", unit, counts_of, *(curve.name for curve in found.curves)),
        tuple(
            (
                point.checkpoint,
                short_number(point.at),
                count,
                *(cell_text(point.cells[c.name]) if c.name in point.cells else "–" for c in found.curves),
            )
            for point, count in zip(found.points, counts, strict=True)
        ),
    )
    means = [cell.mean for point in found.points for cell in point.cells.values() if cell.mean is not None]
    low, high = (min(means), max(means)) if means else (0.0, 1.0)
    header = ("curve", "over training", "first", "last", "change", "best", "best at", "Kendall's tau", "p")
    curves = Grid(
        f"Over training · {found.exam}",
        header,
        tuple(_curve_row(curve, found, low, high) for curve in found.curves),
    )
    return [checkpoints, curves]


def _curve_row(curve: Curve, found: Training, low: float, high: float) -> tuple[str, ...]:
    values = [point.cells[curve.name].mean if curve.name in point.cells else None for point in found.points]
    change = None if curve.last is None or curve.first is None else curve.last - curve.first
    return (
        curve.name,
        sparkline(values, low, high),
        percent(curve.first),
        percent(curve.last),
        "–" if change is None else f"{100 * change:+.2f}",
        percent(curve.best),
        "–" if curve.best_at is None else short_number(curve.best_at),
        "–" if curve.tau is None else f"{curve.tau:.3f}",
        p_text(curve.p),
    )


def legend(found: Training) -> list[str]:
    """How to read it, and what it leaves out."""
    lines = ["Per cent with 95 % intervals over questions, as in the run's own tables. "
             f"Kendall's tau is the score's with {found.axis}."]  # fmt: skip
    for point in found.points:
        partial = [name for name, cell in point.cells.items() if not cell.complete]
        if partial:
            lines.append(
                f"{UNSURE} {point.checkpoint} on {found.exam}: some answers are missing or not graded "
                f"({', '.join(partial[:4])}{', …' if len(partial) > 4 else ''}); its means leave them out."
            )
    if any(cell.ranged for point in found.points for cell in point.cells.values()):
        lines.append(f"{UNSURE} after a range: {RANGE}. It is no point of a curve.")
    if any(point.at == 0 for point in found.points) and any(point.at > 0 for point in found.points):
        lines.append(f"A logarithmic axis has no 0: the checkpoint at 0 {found.axis} is in the tables only.")
    return lines


def series(found: Training) -> list[Series]:
    """The curves as a chart takes them."""
    curves: list[Series] = []
    for curve in found.curves:
        cells = [(point.at, point.cells[curve.name]) for point in found.points if curve.name in point.cells]
        dots = tuple(Dot(at, cell.mean) for at, cell in cells if cell.mean is not None)
        curves.append(Series(curve.name, dots))
    return curves


@dataclass(frozen=True, repr=False)
class Trainings(StudyResult):
    """The checkpoints of every exam."""

    found: tuple[Training, ...]
    notes: tuple[str, ...]
    drawing: Drawing = None
    words = WORDS | {"checkpoint", "curve", "over training"}

    def tables(self) -> list[Grid]:
        """Checkpoints and curves of every exam."""
        return [grid for one in self.found for grid in training_grids(one)]

    def closing(self) -> list[str]:
        """Legends, and what was left out."""
        return [*list(dict.fromkeys(line for one in self.found for line in legend(one))), *self.notes]

    def to_terminal(self, width: int | None = None, *, colour: bool = False) -> str:
        """Tables and charts, exam after exam."""
        text = ""
        for one in self.found:
            text += grids_terminal(training_grids(one), [], width=width, colour=colour, words=self.words)
            chart = text_chart(series(one), one.axis)
            text += f"\n{chart}\n" if chart else "\n"
        return text + grids_terminal([], self.closing(), width=width, colour=colour).lstrip("\n")

    def to_screen(self, width: int | None = None, *, colour: bool = False) -> str:
        """The checkpoints in one screen, with the curves of one exam."""
        (one, *others) = self.found
        chart = text_chart(series(one), one.axis) if not others and (width or 80) >= _CHART else ""
        lines = LINES - len(chart.splitlines()) - bool(chart)
        text = screen_terminal(*self.overview(), width=width, colour=colour, words=self.words, lines=lines)
        return f"{chart}\n{text}" if chart else text

    def records(self) -> Records:
        """A row a checkpoint and curve: shares of 1."""
        measures = ("n", "mean", "low", "high", "floor", "ceiling", "sd", "unanswered")
        return ("exam", "checkpoint", "axis", "at", "curve", *measures), [
            (
                *(one.exam, point.checkpoint, one.axis, f"{point.at:.12g}", name),
                *(getattr(cell, measure) for measure in measures),
            )
            for one in self.found
            for point in one.points
            for name, cell in point.cells.items()
        ]

    def to_frame(self) -> pl.DataFrame:
        """A row a checkpoint and curve: shares of 1."""
        import polars as pl

        return super().to_frame().with_columns(pl.col("at").cast(pl.Float64))

    def data(self) -> object:
        """Checkpoints, curves and notes."""
        return {"exams": list(self.found), "notes": list(self.notes)}
