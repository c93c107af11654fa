"""Charts of agreement: a confusion table, the judge against the people's mean, and the measures with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.analysis.raters.agreement import Agreement, Confusion, Spot
from viva.analysis.raters.ratings import Kind, Measure
from viva.errors import VivaError, option
from viva.render.measures import NAMES, measure_text
from viva.render.plots import Axis, Drawn, Layer, cells, curves, dots, together
from viva.visible import one_line

MOST = 20
"""The most reports in one chart."""
_SIDE, _WIDE = 280, 380
"""Width in pixels of a square plot, and of the measures."""
_UNBOUNDED: tuple[Kind, ...] = ("bias", "distance")
"""Measures in the marks' unit, not coefficients."""


def agreement_chart(reports: Sequence[Agreement]) -> Drawn:
    """Return a chart of the reports, one below the other. Raises VivaError for none, and for more than `MOST`."""
    if not 0 < len(reports) <= MOST:
        raise VivaError(
            f"draws 1 to {MOST} reports, and here are {len(reports):,}: leave out {option('by')}", field="chart"
        )
    return together(list(map(_report, reports)))


def _report(report: Agreement) -> Drawn:
    """Return the available parts: the squares, the people among each other, the judge against them."""
    squares = [_marks(report.table)] if report.table else []
    if report.spots:
        squares.append(_spots(report.spots, report.judge or ""))
    parts = [_measures(f"{report.judge} against the {report.word}", report.judged)] if report.judged else []
    if len(report.people) > 1 or not parts:
        parts.insert(0, _measures(f"{len(report.people)} {report.word}", report.among))
    if squares:
        parts.insert(0, together(squares, columns=2))
    title = f"Agreement · {report.title}" if report.title else "Agreement of raters"
    return together(parts, title)


def _marks(table: Confusion) -> Drawn:
    """Return the confusion table: counts in cells, darker for more; the diagonal is framed."""
    scale = [f"{mark:g}" for mark in table.scale]
    rows = [
        {"down": scale[down], "across": scale[across], "items": count, "same": down == across}
        for down, counts in reversed(list(enumerate(table.counts)))
        for across, count in enumerate(counts)
    ]
    titles = {"down": one_line(table.rows, 40), "across": one_line(table.columns, 40)}
    return cells(
        rows, "across", "down", Axis("items", "items", {"domain": [0, max(map(max, table.counts))]}), ",",
        title="Marks given by both", titles=titles, framed="same", slant=0, width=_SIDE, height=_SIDE,
    )  # fmt: skip


def _spots(spots: Sequence[Spot], judge: str) -> Drawn:
    """Return a dot for each pair of mean human mark and judge's mark, its area the number of items; the dashed line is
    equality.
    """
    judge = one_line(judge, 40)
    rows = [{"people": spot.human, "judge": spot.judge, "items": spot.count} for spot in spots]
    marks = [mark for spot in spots for mark in (spot.human, spot.judge)]
    even = [{"people": end, "judge": end} for end in (min(marks), max(marks))]
    return curves(
        [Layer("dashes", even), Layer("areas", rows)],
        Axis("people", "people (mean)", {"padding": 16}), Axis("judge", judge, {"padding": 16}),
        title="Judge against mean human", width=_SIDE, height=_SIDE,
    )  # fmt: skip


def _measures(title: str, measures: Sequence[Measure]) -> Drawn:
    """Return a dot with its interval and figures for each measure, on a scale from 0 or -1 to 1."""
    rows: list[dict[str, Any]] = [
        {
            "measure": NAMES[measure.kind],
            "value": measure.value,
            "low": measure.low,
            "high": measure.high,
            "text": measure_text(measure),
        }
        for measure in measures
        if measure.kind not in _UNBOUNDED
    ]
    least = -1 if any((bound or 0) < 0 for row in rows for bound in (row["value"], row["low"])) else 0
    return dots(
        rows, "measure", Axis("value", None, {"domain": [least, 1], "clamp": True}), title=title,
        below="lines: 95 % intervals", width=_WIDE,
    )  # fmt: skip
