"""What moves a score, drawn: scores in every cell of a design, and the standard deviation of each source."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.designs import Design
from viva.lab.variation.tables import Contestant
from viva.render.plots import PER_CENT
from viva.render.table import p_text
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

    Panel = altair.LayerChart | altair.FacetChart

_ROW = 18
"""Pixels of a model's row."""
_LABEL = 60
"""Characters of a name on an axis."""
_WIDTH = 400
"""Pixels of a panel beside its labels."""
_BEYOND = 1.3
"""How far the axis of standard deviations goes beyond the largest: few levels have intervals without end."""


def variance_chart(exam: str, design: Design, found: Sequence[Contestant]) -> altair.VConcatChart:
    """Return one exam's models, the best first: a tick a cell, and below it the sources of variance with their
    intervals.
    """
    import altair

    left_out = max(one.left_out for one in found)
    said = [
        design.words,
        "scores: a tick a cell, a point the mean of all;",
        "the line: 95 % interval for other questions and levels",
    ]
    said += [f"without questions of which an answer is missing ({left_out:,} at most)"] if left_out else []
    title = altair.TitleParams(f"{one_line(exam, _LABEL)}: what moves a score", subtitle=said)
    drawn: altair.VConcatChart = altair.vconcat(_cells(design, found), _sources(found), title=title)
    return drawn


def _cells(design: Design, found: Sequence[Contestant]) -> Panel:
    """Return a row a model: its score in each cell, its mean, and the interval for any cells like these."""
    import altair

    ticks: list[dict[str, Any]] = []
    means: list[dict[str, Any]] = []
    for one in found:
        model = one_line(one.model, _LABEL)
        low, high = one.components.interval()
        mean = {"score": 100 * one.components.mean, "low": 100 * max(0.0, low), "high": 100 * min(1.0, high)}
        means.append({"model": model, **mean})
        for cell, score in enumerate(one.cells):
            levels = (f"{factor} {one_line(level, _LABEL)}" for factor, level in design.named(cell).items())
            rank = 1 + sum(other.cells[cell] > score for other in found)
            ticks.append({"model": model, "score": 100 * score, "cell": ", ".join(levels), "rank": rank})
    y = altair.Y("model:N", sort=None, title="model", axis=altair.Axis(labelLimit=240))
    x = altair.X("score:Q", title=f"score ({PER_CENT})", scale=altair.Scale(zero=False))
    base = altair.Chart(altair.InlineData(values=means)).encode(y=y)
    shown = _tips(score="mean over all cells", low="anything else: from", high="to")
    tick = [
        *_tips(score="score"),
        altair.Tooltip("cell:N"),
        altair.Tooltip("rank:Q", title="rank in this cell"),
    ]
    return altair.layer(
        base.mark_rule(strokeWidth=1.5).encode(x=altair.X("low:Q", title=""), x2="high:Q", tooltip=shown),
        altair.Chart(altair.InlineData(values=ticks))
        .mark_point(shape="stroke", filled=False, angle=90, size=120, strokeWidth=2, opacity=0.6)
        .encode(y=y, x=x, tooltip=tick),
        base.mark_point(filled=True, size=60, opacity=1).encode(x=x, tooltip=shown),
    ).properties(
        width=_WIDTH,
        height=max(60, 2 * _ROW * len(found)),
    )


def _tips(**titles: str) -> list[altair.Tooltip]:
    """Return what is under the pointer: the model, and figures by what they are called."""
    import altair

    figures = [altair.Tooltip(f"{name}:Q", format=".1f", title=title) for name, title in titles.items()]
    return [altair.Tooltip("model:N"), *figures]


def _sources(found: Sequence[Contestant]) -> Panel:
    """Return the standard deviation of every source of each model's score, the part of intervals that fits."""
    import altair

    rows = [
        {
            "model": one_line(one.model, _LABEL),
            "source": source.name,
            "sd": 100 * source.sd,
            "low": 100 * source.low**0.5,
            "high": 100 * source.high**0.5,
            "p": p_text(source.p),
            "share": "–" if share is None else f"{100 * share:.0f} %",
        }
        for one in found
        for source in one.components.components
        for share in (one.components.shares()[source.name],)
    ]
    sources = list(dict.fromkeys(row["source"] for row in rows))
    most = max(1.0, *(float(row["sd"]) for row in rows))
    scale = altair.Scale(domain=[0, _BEYOND * most])
    title = "standard deviation in points, with 95 % intervals as far as they fit"
    base = altair.Chart(altair.InlineData(values=rows)).encode(
        y=altair.Y("source:N", sort=sources, title="source", axis=altair.Axis(labelLimit=260)),
        yOffset=altair.YOffset("model:N", sort=None),
        color=altair.Color("model:N", sort=None, title="model", legend=altair.Legend(labelLimit=240, orient="bottom")),
        tooltip=[
            *_tips(sd="standard deviation", low="interval from", high="to"),
            altair.Tooltip("source:N"),
            altair.Tooltip("p:N"),
            altair.Tooltip("share:N", title="share of the error"),
        ],
    )
    return altair.layer(
        base.mark_rule(strokeWidth=1.5, clip=True).encode(x=altair.X("low:Q", title=title, scale=scale), x2="high:Q"),
        base.mark_point(filled=True, size=45, opacity=1).encode(x=altair.X("sd:Q", title=title, scale=scale)),
    ).properties(width=_WIDTH, height=max(80, _ROW // 2 * len(sources) * (len(found) + 1)))
