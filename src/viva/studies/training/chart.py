"""Chart of scores over training tokens (or steps): a curve for each format with 95 % intervals as bands."""

from __future__ import annotations

from collections.abc import Sequence

from viva.analysis.training import Training
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, Layer, curves, figures, one_exam, subtitle
from viva.render.table import short_number

DECADE = 10**0.5
"""The smallest span of training drawn on a logarithmic axis: half a decade."""


BILLIONS = "replace(format(datum.value, '~s'), 'G', 'B')"
"""Tick labels with B for billions, where D3 has G."""


def training_chart(every: Sequence[Training]) -> Drawn:
    """Return a chart of one exam's curves. Raises VivaError for several. On a logarithmic axis a checkpoint at 0 is
    left out.
    """
    one_exam([course.exam for course in every])
    first = every[0]
    span = [point.at for point in first.points if point.at > 0]
    logarithmic = len(set(span)) > 1 and max(span) / min(span) >= DECADE
    rows = [
        {
            "curve": curve.name,
            "checkpoint": point.checkpoint,
            "_at": point.at,
            first.axis: short_number(point.at),
            **figures(cell),
        }
        for curve in first.curves
        for point in first.points
        if (point.at > 0 or not logarithmic)
        and (cell := point.cells.get(curve.name)) is not None
        and cell.mean is not None
    ]
    scale = {"type": "log", "nice": False, "padding": 16} if logarithmic else {}
    across = Axis(
        "_at", first.axis + (" (log scale)" if logarithmic else ""), scale,
        {"labelExpr": BILLIONS, "labelSeparation": 14, "grid": False},
    )  # fmt: skip
    return curves(
        [Layer("band", rows), Layer("line", rows), Layer("dots", rows)], across, Axis("score", PER_CENT),
        title="Scores over training", below=[first.exam, subtitle(rows, "95 % intervals shaded")],
        kinds=Kinds("curve", [curve.name for curve in first.curves]),
    )  # fmt: skip
