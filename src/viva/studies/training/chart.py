"""Scores over training: a curve a format with 95 % intervals as bands, over training tokens (or steps)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.training import Training
from viva.render.textchart import short_number
from viva.render.theme import PER_CENT, daggers, ends, mark_of, one_exam, plot, subtitle, tips

if TYPE_CHECKING:
    import altair

DECADE = 10**0.5
"""From this span on, training is drawn on a logarithmic axis: half a decade."""


MOST_TOGETHER = 6
"""Curves of one panel; of more each has a small one of its own, all on the same axes."""
_COLUMNS, _PANEL = 3, (200, 130)
BILLIONS = "replace(format(datum.value, '~s'), 'G', 'B')"
"""Tick labels as people speak of training tokens; D3 says giga."""


def training_chart(every: Sequence[Training]) -> altair.TopLevelMixin:
    """One exam's curves; VivaError for several. A checkpoint at 0 has no place on a logarithm, and is in the tables."""
    import altair as alt

    one_exam([one.exam for one in every])
    found = every[0]
    span = [point.at for point in found.points if point.at > 0]
    logarithmic = len(set(span)) > 1 and max(span) / min(span) >= DECADE
    rows = [
        {
            "curve": curve.name,
            "checkpoint": point.checkpoint,
            "at": point.at,
            "said": short_number(point.at),
            "score": 100 * cell.mean,
            **ends(cell),
            "n": cell.n,
            **mark_of(complete=cell.complete),
        }
        for curve in found.curves
        for point in found.points
        if (point.at > 0 or not logarithmic)
        and (cell := point.cells.get(curve.name)) is not None
        and cell.mean is not None
    ]
    said = found.axis + (" (log scale)" if logarithmic else "")
    across = alt.X("at:Q", title=said, axis=alt.Axis(labelExpr=BILLIONS, labelSeparation=14, grid=False))
    across = across.scale(type="log", nice=False, padding=16) if logarithmic else across.scale(zero=False)
    score = alt.Y("score:Q", title=PER_CENT).scale(zero=False)
    colour = alt.Color(
        "curve:N",
        title=None,
        sort=[curve.name for curve in found.curves],
        legend=alt.Legend(symbolLimit=0, symbolOpacity=1),
    )
    shown = tips(
        "curve:N",
        "checkpoint:N",
        ("said:N", found.axis),
        ("score:Q", "score, per cent", ".2f"),
        ("low:Q", "95 % from", ".2f"),
        ("high:Q", "to", ".2f"),
        ("n:Q", "answers", ","),
    )
    base = plot(rows)
    ranged = base.transform_filter("isValid(datum.low)").mark_area(opacity=0.12)
    layers: list[Any] = [
        ranged.encode(x=across, y=alt.Y("low:Q", title=PER_CENT), y2="high:Q"),
        base.mark_line().encode(x=across, y=score),
        base.mark_circle(size=45, opacity=1).encode(x=across, y=score, tooltip=shown),
        *daggers(base, x=across, y=score),
    ]
    title = alt.Title("Scores over training", subtitle=[found.exam, subtitle(rows, "95 % intervals shaded")])
    if len(found.curves) > MOST_TOGETHER:
        panel = alt.Facet("curve:N", title=None, sort=[curve.name for curve in found.curves])
        small = alt.layer(*layers).properties(width=_PANEL[0], height=_PANEL[1])
        return small.facet(facet=panel, columns=_COLUMNS).properties(title=title)
    return alt.layer(*(layer.encode(color=colour) for layer in layers)).properties(
        title=title, width="container", height=360
    )
