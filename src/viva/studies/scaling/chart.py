"""Scores over size: models as points with their intervals, fitted curves with their bands, predictions as diamonds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from viva.analysis.sizes.scaling import Fit, predict
from viva.analysis.sizes.scalinggroups import Group, Point
from viva.render.theme import daggers, ends, layered, mark_of, one_exam, plot, subtitle, tips
from viva.studies.scaling.tables import NAMES, Scaling, break_text, size_text

if TYPE_CHECKING:
    import altair

STEPS = 80
"""Points of a drawn curve."""
BANDS = 4
"""Groups up to which bands are drawn: more of them hide each other."""
FURTHER = 20
"""How many times beyond the largest size a curve is drawn to where it reaches a score."""
_SIZE = "parameters, billions (log scale)"
_SCORE = "score, per cent"


def drawing(found: Sequence[Scaling]) -> altair.TopLevelMixin:
    """The chart of the only table or exam. Raises VivaError for several."""
    one_exam([one.title for one in found])
    return chart(found[0])


def chart(found: Scaling) -> altair.TopLevelMixin:
    """The chart of one table or exam. Sizes in billions on a log axis, scores in per cent."""
    import altair as alt

    groups = [group for group in found.groups if group.fits]
    names = [group.name for group in groups]
    size = alt.X("size:Q", title=_SIZE.replace("parameters", f"{found.parameters} parameters")).scale(
        type="log", nice=False, padding=24
    )
    score = alt.Y("score:Q", title=_SCORE).scale(zero=False)
    colour = alt.Color(
        "group:N", title=None, sort=names, legend=alt.Legend(symbolLimit=0, symbolOpacity=1) if len(names) > 1 else None
    )
    layers: list[Any] = []
    curves = [row for group in groups for fit in group.fits for row in _curve(group, fit)]
    if len(groups) <= BANDS and any(row["low"] is not None for row in curves):
        band = plot(row for row in curves if row["low"] is not None).mark_area(opacity=0.13)
        low = alt.Y("low:Q", title=_SCORE)
        layers.append(band.encode(x=size, y=low, y2="high:Q", color=colour, detail="fit:N"))
    dash = alt.StrokeDash("fit:N", title="curve") if len({row["fit"] for row in curves}) > 1 else alt.Undefined
    line = plot(curves).mark_line().encode(
        x=size, y=score, color=colour, strokeDash=dash, detail="fit:N", tooltip=["group:N", "fit:N"]
    )  # fmt: skip
    layers.append(line)
    points = [row for group in groups for row in _points(group)]
    layers += _bars(points, size, colour, opacity=0.45)
    layers += _spans(groups, size, score, colour)
    layers += _references(found, score)
    layers.append(_dots(points, size, score, colour))
    layers += daggers(plot(points), x=size, y=score)
    layers += _predicted(groups, size, score, colour)
    layers += _breaks(groups, size, colour)
    return layered(*layers, title="Scores over size", below=subtitle(points, found.title), height=380)


def _spans(groups: list[Group], size: Any, score: Any, colour: Any) -> list[Any]:
    """Of every mixture of experts the parameters from those that a token passes through to all of them."""

    rows = [
        {"group": group.name, "size": point.span[0], "total": point.span[1], "score": 100 * point.score,
         "model": point.model, "said": f"{size_text(point.span[0])} of {size_text(point.span[1])}"}
        for group in groups
        for point in (*group.points, *group.held_out)
        if point.span
    ]  # fmt: skip
    if not rows:
        return []
    shown = tips("model:N", ("said:N", "active"))
    rules = plot(rows).mark_rule(strokeDash=[2, 3], strokeWidth=1.5)
    return [rules.encode(x=size, x2="total:Q", y=score, color=colour, tooltip=shown)]


def _references(found: Scaling, score: Any) -> list[Any]:
    """The models that the curves are to reach: lines over all sizes, with their names and intervals."""
    import altair as alt

    rows = [
        {"model": point.model, "score": 100 * point.score, **ends(point),
         "name": f"{point.model} {100 * point.score:.2f}"}
        for point in found.references
    ]  # fmt: skip
    if not rows:
        return []
    base = plot(rows)
    ranged = [row for row in rows if row["low"] is not None]
    bands = plot(ranged).mark_rect(opacity=0.06, color="gray")
    layers: list[Any] = [bands.encode(y=alt.Y("low:Q", title=_SCORE), y2="high:Q")] if ranged else []
    layers.append(base.mark_rule(color="gray", strokeWidth=1.2).encode(y=score, tooltip=["name:N"]))
    named = base.mark_text(align="left", baseline="bottom", dx=4, dy=-2, fontSize=10, color="gray")
    layers.append(named.encode(x=alt.value(0), y=score, text="name:N"))
    return layers


def _dots(points: list[dict[str, Any]], size: Any, score: Any, colour: Any) -> Any:
    import altair as alt

    shown = tips("model:N", "group:N", ("said:N", "size"), ("score:Q", _SCORE, ".2f"), "role:N")
    base = plot(points).encode(x=size, y=score, color=colour, tooltip=shown)
    return alt.layer(
        base.transform_filter("datum.role === 'fitted'").mark_circle(size=60, opacity=0.9),
        base.transform_filter("datum.role !== 'fitted'").mark_point(size=60, filled=False),
    )


def _predicted(groups: list[Group], size: Any, score: Any, colour: Any) -> list[Any]:

    rows = [
        {
            "group": group.name,
            "fit": NAMES[one.kind],
            "size": one.prediction.size,
            "said": size_text(one.prediction.size),
            "score": 100 * one.prediction.score,
            **ends(one.prediction),
        }
        for group in groups
        for one in group.forecasts
    ]
    if not rows:
        return []
    shown = tips(
        "group:N",
        "fit:N",
        ("said:N", "predicted for"),
        ("score:Q", _SCORE, ".2f"),
        ("low:Q", "95 % from", ".2f"),
        ("high:Q", "to", ".2f"),
    )
    diamonds = plot(rows).mark_point(shape="diamond", size=130, filled=True)
    return [*_bars(rows, size, colour, strokeWidth=2), diamonds.encode(x=size, y=score, color=colour, tooltip=shown)]


def _bars(rows: list[dict[str, Any]], size: Any, colour: Any, **look: Any) -> list[Any]:
    """The intervals of those rows that have one."""
    import altair as alt

    ranged = [row for row in rows if row["low"] is not None]
    bars = plot(ranged).mark_rule(**look)
    return [bars.encode(x=size, y=alt.Y("low:Q", title=_SCORE), y2="high:Q", color=colour)] if ranged else []


def _breaks(groups: list[Group], size: Any, colour: Any) -> list[Any]:

    rows = [
        {"group": group.name, "size": group.segments.at, "break": break_text(group.segments)}
        for group in groups
        if group.segments
    ]
    if not rows:
        return []
    rules = plot(rows).mark_rule(strokeDash=[3, 3])
    return [rules.encode(x=size, color=colour, tooltip=["group:N", "break:N"])]


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
    for role, points in (("fitted", group.points), ("held out", group.held_out)):
        for point in points:
            yield {"group": group.name, "role": role, **_point(point)}


def _point(point: Point) -> dict[str, Any]:
    return {
        "model": point.model,
        "size": point.size,
        "said": size_text(point.size),
        "score": 100 * point.score,
        **ends(point),
        **mark_of(complete=not point.partial),
    }
