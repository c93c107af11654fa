"""Charts of scores over size: models as points with intervals, fitted curves with bands, predictions as diamonds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from viva.analysis.sizes.scaling import Fit, Prediction, predict
from viva.analysis.sizes.scalinggroups import Group, Point
from viva.render.plots import Axis, Drawn, Kinds, Layer, curves, ends, mark_of, one_exam, subtitle
from viva.studies.scaling.tables import NAMES, Scaling, break_text, size_text

STEPS = 80
"""Points of a drawn curve."""
BANDS = 4
"""The most groups with bands: more of them hide each other."""
FURTHER = 20
"""A curve is drawn up to this multiple of the largest size to show where it reaches a score."""
FITTED = "fitted"
_SIZE = "parameters, billions (log scale)"


def drawing(scalings: Sequence[Scaling]) -> Drawn:
    """Return the chart of the only table or exam. Raises VivaError for several."""
    one_exam([source.title for source in scalings])
    return chart(scalings[0])


def chart(source: Scaling) -> Drawn:
    """Return the chart of one table or exam. Sizes in billions on a log axis, scores in per cent."""
    groups = [group for group in source.groups if group.fits]
    fitted = [row for group in groups for fit in group.fits for row in _curve(group, fit)]
    points = [row for group in groups for row in _points(group)]
    predicted = [
        {
            "group": group.name,
            "fit": NAMES[forecast.kind],
            "_size": forecast.prediction.size,
            **_measured(forecast.prediction),
        }
        for group in groups
        for forecast in group.forecasts
    ]
    references = [
        {"name": f"{point.model} {100 * point.score:.2f}", "model": point.model, **_measured(point)}
        for point in source.references
    ]
    breaks = [
        {"group": group.name, "_size": group.segments.at, "break": break_text(group.segments)}
        for group in groups
        if group.segments
    ]
    layers = [
        Layer("band", fitted if len(groups) <= BANDS else ()),
        Layer("line", fitted),
        Layer("bars", points),
        Layer("spans", points, "isValid(datum.total)"),
        Layer("levels", references),
        Layer("dots", points, f"datum.role === '{FITTED}'"),
        Layer("rings", points, f"datum.role !== '{FITTED}'"),
        Layer("bars", predicted),
        Layer("diamonds", predicted),
        Layer("breaks", breaks),
    ]
    sizes = Axis("_size", f"{source.parameters} {_SIZE}", {"type": "log", "nice": False, "padding": 24})
    return curves(
        layers, sizes, Axis("score", "score, per cent"), title="Scores over size", below=subtitle(points, source.title),
        kinds=Kinds("group", [group.name for group in groups]), detail="fit",
    )  # fmt: skip


def _curve(group: Group, fit: Fit) -> Iterator[dict[str, Any]]:
    """Yield a curve's points from the smallest size to the largest fitted, held out or predicted one."""
    known = [fit.smallest, fit.largest, *(point.size for point in group.held_out)]
    known += [forecast.prediction.size for forecast in group.forecasts]
    within = FURTHER * max(known)
    known += [reached.reach.size for reached in group.reached if reached.reach.size and reached.reach.size <= within]
    sizes = np.geomspace(min(known), max(known), STEPS)
    if fit.kind == "segments":  # with a point exactly at the kink
        sizes = np.union1d(sizes, [fit.parameters[3]])
    for size in sizes:
        prediction = predict(fit, float(size))
        yield {
            "group": group.name,
            "fit": NAMES[fit.kind],
            "_size": float(size),
            "score": 100 * prediction.curve,
            **ends(prediction),
        }


def _points(group: Group) -> Iterator[dict[str, Any]]:
    for role, points in ((FITTED, group.points), ("held out", group.held_out)):
        for point in points:
            active, total = point.span or (point.size, None)
            yield {
                "group": group.name,
                "role": role,
                "model": point.model,
                "_size": point.size,
                "total": total,
                "active": f"{size_text(active)} of {size_text(total)}" if total else "",
                **_measured(point),
                **mark_of(complete=not point.partial),
            }


def _measured(point: Point | Prediction) -> dict[str, Any]:
    """Return the score of a model or of a prediction, with its interval and size."""
    return {"score": 100 * point.score, "size": size_text(point.size), **ends(point)}
