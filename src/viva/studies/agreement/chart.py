"""Agreement drawn: the marks of both, the judge against the people's mean, and the measures with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.raters.agreement import Agreement, Confusion, Spot
from viva.analysis.raters.measure import Kind, Measure
from viva.errors import VivaError, option
from viva.render.measures import NAMES, measure_text
from viva.render.theme import interval, plot, tips
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

    from viva.render.theme import Layered

MOST = 20
"""Reports of one picture."""
_SIDE, _WIDE, _ROW = 280, 380, 24
"""Pixels of a square, of the measures, and of one of them."""
_UNBOUNDED: tuple[Kind, ...] = ("bias", "distance")
"""Measures that are no coefficients: they have the marks' unit."""


def agreement_chart(found: Sequence[Agreement]) -> altair.VConcatChart:
    """The reports below each other. Raises VivaError for none, and for more than `MOST`."""
    import altair

    if not 0 < len(found) <= MOST:
        raise VivaError(
            f"draws 1 to {MOST} reports, and here are {len(found):,}: leave out {option('by')}", field="chart"
        )
    reports: altair.VConcatChart = altair.vconcat(*map(_report, found)).resolve_scale(
        color="independent", size="independent"
    )
    return reports


def _report(found: Agreement) -> altair.VConcatChart:
    """What there is of: the squares, the people among each other, the judge against them."""
    import altair

    squares = [_marks(found.table)] if found.table else []
    squares += [_spots(found.spots, found.judge or "")] if found.spots else []
    rows = [
        _measures(f"{len(found.people)} {found.word}", found.among),
        *([_measures(f"{found.judge} against the {found.word}", found.judged)] if found.judged else []),
    ]
    title = f"Agreement · {one_line(found.title, 80)}" if found.title else "Agreement of raters"
    drawn: altair.VConcatChart = altair.vconcat(*([altair.hconcat(*squares)] if squares else []), *rows, title=title)
    return drawn


def _marks(table: Confusion) -> Layered:
    """Counts in cells, the fuller the darker; the diagonal is framed."""
    import altair

    scale = [f"{mark:g}" for mark in table.scale]
    rows = [
        {"down": scale[down], "across": scale[across], "items": count, "text": f"{count:,}" if count else "",
         "edge": 2.5 if down == across else 0.5}
        for down, counts in enumerate(table.counts)
        for across, count in enumerate(counts)
    ]  # fmt: skip
    down, across = one_line(table.rows, 40), one_line(table.columns, 40)
    base = plot(rows).encode(
        x=altair.X("across:O", sort=scale, title=across).axis(labelAngle=0),
        y=altair.Y("down:O", sort=scale[::-1], title=down),
        tooltip=tips(("down:N", down), ("across:N", across), ("items:Q", "", ",")),
    )
    shade = altair.Opacity("items:Q", legend=None).scale(type="sqrt", range=[0, 0.6])
    cells = base.mark_rect(stroke="gray").encode(
        fillOpacity=shade, strokeWidth=altair.StrokeWidth("edge:Q", scale=None)
    )
    return altair.layer(cells, base.mark_text().encode(text="text:N")).properties(
        title="Marks given by both", width=_SIDE, height=_SIDE
    )


def _spots(spots: Sequence[Spot], judge: str) -> Layered:
    """A dot for each pair of mean human mark and judge's mark, its area the number of items; dashed: the same mark."""
    import altair

    judge = one_line(judge, 40)
    rows = [{"people": spot.human, "judge": spot.judge, "items": spot.count} for spot in spots]
    ends = [end(spot.human, spot.judge) for end in (min, max) for spot in spots]
    even = plot([{"people": end, "judge": end} for end in (min(ends), max(ends))])
    across = altair.X("people:Q", title="people (mean)").scale(zero=False, padding=16)
    up = altair.Y("judge:Q", title=judge).scale(zero=False, padding=16)
    dots = plot(rows).mark_circle(opacity=0.45).encode(
        size=altair.Size("items:Q", legend=None).scale(range=[40, 800]),
        tooltip=tips(("people:Q", "people", ".3g"), ("judge:Q", judge, ".3g"), ("items:Q", "", ",")),
    )  # fmt: skip
    return altair.layer(*(one.encode(x=across, y=up) for one in (even.mark_line(strokeDash=[5, 4]), dots))).properties(
        title="Judge against mean human", width=_SIDE, height=_SIDE
    )


def _measures(title: str, measures: Sequence[Measure]) -> Layered:
    """A dot and its interval a measure, from 0 or -1 to 1, with its figures behind it."""
    import altair

    rows: list[dict[str, Any]] = [
        {"measure": NAMES[one.kind], "value": one.value, "low": one.low, "high": one.high, "text": measure_text(one)}
        for one in measures
        if one.kind not in _UNBOUNDED
    ]
    signed = any((bound or 0) < 0 for row in rows for bound in (row["value"], row["low"]))
    base = plot(rows).encode(y=altair.Y("measure:N", sort=None, title=None).axis(labelLimit=_WIDE))
    axis = altair.Scale(domain=[-1 if signed else 0, 1], clamp=True)
    return altair.layer(
        interval(base, None, width=4),
        base.mark_point().encode(x=altair.X("value:Q", title=None, scale=axis)),
        base.mark_text(align="left", dx=10).encode(x=altair.value(_WIDE), text="text:N"),
    ).properties(
        title=altair.Title(one_line(title, 80), subtitle="lines: 95 % intervals"), width=_WIDE, height={"step": _ROW}
    )
