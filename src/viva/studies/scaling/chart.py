"""Scores over size: models as points with their intervals, fitted curves with their bands, predictions as diamonds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viva.analysis.sizes.scaling import Fit, Prediction, predict
from viva.analysis.sizes.scalinggroups import Group, Point
from viva.render.plots import Axis, Kinds, Layer, curves
from viva.render.theme import ends, mark_of, one_exam, subtitle
from viva.studies.scaling.tables import NAMES, Scaling, break_text, size_text

if TYPE_CHECKING:
    from viva.render.plots import Drawn

STEPS = 80
"""Points of a drawn curve."""
BANDS = 4
"""Groups up to which bands are drawn: more of them hide each other."""
FURTHER = 20
"""How many times beyond the largest size a curve is drawn to where it reaches a score."""
FITTED = "fitted"
_SIZE = "parameters, billions (log scale)"
_SCORE = ("score:Q", "score, per cent", ".2f")
_TIPS = ("model:N", "group:N", ("said:N", "size"), _SCORE, "role:N")


def drawing(found: Sequence[Scaling]) -> Drawn:
    """Return the chart of the only table or exam. Raises VivaError for several."""
    one_exam([one.title for one in found])
    return chart(found[0])


def chart(found: Scaling) -> Drawn:
    """Return the chart of one table or exam. Sizes in billions on a log axis, scores in per cent."""
    groups = [group for group in found.groups if group.fits]
    fitted = [row for group in groups for fit in group.fits for row in _curve(group, fit)]
    points = [row for group in groups for row in _points(group)]
    predicted = [
        {"group": group.name, "fit": NAMES[one.kind], "size": one.prediction.size, **_measured(one.prediction)}
        for group in groups
        for one in group.forecasts
    ]
    references = [{"name": f"{point.model} {100 * point.score:.2f}", **_measured(point)} for point in found.references]
    breaks = [
        {"group": group.name, "size": group.segments.at, "break": break_text(group.segments)}
        for group in groups
        if group.segments
    ]
    ranged = (("low:Q", "95 % from", ".2f"), ("high:Q", "to", ".2f"))
    layers = [
        Layer("band", fitted if len(groups) <= BANDS else ()),
        Layer("line", fitted, ("group:N", "fit:N")),
        Layer("bars", points),
        Layer("spans", points, ("model:N", ("active:N", "active")), "isValid(datum.total)"),
        Layer("levels", references, ("name:N", *ranged)),
        Layer("dots", points, _TIPS, f"datum.role === '{FITTED}'"),
        Layer("rings", points, _TIPS, f"datum.role !== '{FITTED}'"),
        Layer("bars", predicted),
        Layer("diamonds", predicted, ("group:N", "fit:N", ("said:N", "predicted for"), _SCORE, *ranged)),
        Layer("breaks", breaks, ("group:N", "break:N")),
    ]
    sizes = Axis("size", f"{found.parameters} {_SIZE}", {"type": "log", "nice": False, "padding": 24})
    return curves(
        layers, sizes, Axis("score", _SCORE[1]), title="Scores over size", below=subtitle(points, found.title),
        kinds=Kinds("group", [group.name for group in groups]), detail="fit",
    )  # fmt: skip


def _curve(group: Group, fit: Fit) -> Iterator[dict[str, Any]]:
    """From the smallest size to the largest that is fitted, held out or predicted."""
    known = [fit.smallest, fit.largest, *(point.size for point in group.held_out)]
    known += [one.prediction.size for one in group.forecasts]
    within = FURTHER * max(known)
    known += [one.reach.size for one in group.reached if one.reach.size and one.reach.size <= within]
    sizes = np.geomspace(min(known), max(known), STEPS)
    if fit.kind == "segments":  # a kink is drawn where it is
        sizes = np.union1d(sizes, [fit.parameters[3]])
    for size in sizes:
        said = predict(fit, float(size))
        yield {
            "group": group.name,
            "fit": NAMES[fit.kind],
            "size": float(size),
            "score": 100 * said.curve,
            **ends(said),
        }


def _points(group: Group) -> Iterator[dict[str, Any]]:
    for role, points in ((FITTED, group.points), ("held out", group.held_out)):
        for point in points:
            active, total = point.span or (point.size, None)
            yield {
                "group": group.name,
                "role": role,
                "model": point.model,
                "size": point.size,
                "total": total,
                "active": f"{size_text(active)} of {size_text(total)}" if total else "",
                **_measured(point),
                **mark_of(complete=not point.partial),
            }


def _measured(one: Point | Prediction) -> dict[str, Any]:
    """Return the score of a model or of a prediction, with its interval and size."""
    return {"score": 100 * one.score, "said": size_text(one.size), **ends(one)}
