"""Agreement as an SVG file: the confusion table, judge against mean human, and the measures with their intervals.

Written out by hand, as `chart` is. Colours follow the reader's dark or light setting; every mark has its figure as
text, so that nothing rests on colour alone.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape

from viva.analysis.agreement import Agreement, Confusion, Spot
from viva.analysis.measure import Kind, Measure
from viva.render.measures import NAMES, measure_text
from viva.visible import one_line

_WIDTH, _PANEL, _GAP, _LEFT, _ROW = 900, 320, 110, 90, 24
_BARS_LEFT, _BARS_WIDTH = 290, 380
_UNBOUNDED: tuple[Kind, ...] = ("bias", "distance")
"""Measures that are no coefficients: they have the marks' unit."""
STYLE = """
.agreement{--ground:#fff;--ink:#1a1a1a;--soft:#595959;--line:#ccc;--fill:#0072b2}
@media (prefers-color-scheme:dark){
.agreement{--ground:#16181d;--ink:#f2f2f2;--soft:#b5b5b5;--line:#4a4f57;--fill:#56b4e9}}
.agreement .ground{fill:var(--ground)}.agreement text{fill:var(--ink)}.agreement .soft{fill:var(--soft)}
.agreement .line{stroke:var(--line)}.agreement .fill{fill:var(--fill)}.agreement .edge{stroke:var(--fill)}
"""


def svg_agreement(found: Agreement, name: str = "agreement") -> str:
    """One picture: two squares side by side, bars below them. What there is nothing for is left out.

    `name` begins its ids, which differ where a page holds several.
    """
    squares = [one for one in (found.table, found.spots or None) if one is not None]
    bars = [measure for measure in (*found.among, *found.judged) if measure.kind not in _UNBOUNDED]
    aspects = len(found.among)
    top = 60 + (_PANEL + 110 if squares else 0)
    height = top + 38 + _ROW * (len(bars) + 2) + 50
    title = f"Agreement · {found.title}" if found.title else "Agreement of raters"
    lines = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="agreement" role="img" '
        f'aria-labelledby="{name}-title {name}-desc" '
        f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" font-family="sans-serif" font-size="12">',
        f'<title id="{name}-title">{_text(title)}</title>',
        f'<desc id="{name}-desc">{_text(_said(found), 600)}</desc>',
        f"<style>{STYLE}</style>",
        f'<rect class="ground" width="{_WIDTH}" height="{height}"/>',
        f'<text x="20" y="28" font-size="16">{_text(title)}</text>',
    ]
    left = _LEFT
    if found.table is not None:
        lines += _heat(found.table, left, 90)
        left += _PANEL + _GAP
    if found.spots:
        lines += _dots(found.spots, found.judge or "", left, 90)
    lines += _bars(bars, aspects, found, top)
    return "\n".join([*lines, "</svg>"]) + "\n"


def _said(found: Agreement) -> str:
    """The picture in words."""
    parts = [f"{found.items:,} items, {len(found.people)} people" + (", one judge" if found.judge else "")]
    parts += [f"{NAMES[one.kind]} among the people {measure_text(one)}" for one in found.among]
    parts += [f"{NAMES[one.kind]} of the judge with the people {measure_text(one)}" for one in found.judged[:2]]
    return "; ".join(parts) + "."


def _heat(table: Confusion, left: int, top: int) -> Iterator[str]:
    """Counts in cells, the fuller the darker; the diagonal is framed."""
    size = _PANEL / len(table.scale)
    most = max(1, *(count for row in table.counts for count in row))
    font = max(6, min(14, round(size / 2.4)))
    yield from _heading("Marks given by both", table.columns, table.rows, left, top)
    for row, counts in enumerate(table.counts):
        for column, count in enumerate(counts):
            x, y = left + column * size, top + row * size
            shade = 0.6 * math.sqrt(count / most)
            tip = f"{table.rows} {table.scale[row]:g}, {table.columns} {table.scale[column]:g}: {count:,}"
            yield f"<g><title>{_text(tip, 160)}</title>"
            yield (
                f'<rect class="fill line" x="{x:.1f}" y="{y:.1f}" width="{size:.1f}" height="{size:.1f}" '
                f'fill-opacity="{shade:.3f}" stroke-width="{2.5 if row == column else 0.5}"/>'
            )
            if count:
                yield (
                    f'<text x="{x + size / 2:.1f}" y="{y + size / 2:.1f}" font-size="{font}" text-anchor="middle" '
                    f'dominant-baseline="central">{count:,}</text>'
                )
            yield "</g>"
    for index, mark in enumerate(table.scale):
        at = (index + 0.5) * size
        yield f'<text x="{left - 8}" y="{top + at:.1f}" text-anchor="end" dominant-baseline="central">{mark:g}</text>'
        yield f'<text x="{left + at:.1f}" y="{top + _PANEL + 18}" text-anchor="middle">{mark:g}</text>'


def _dots(spots: Sequence[Spot], judge: str, left: int, top: int) -> Iterator[str]:
    """A dot for each pair of mean human mark and judge's mark, its area the number of items."""
    low = min(min(spot.human, spot.judge) for spot in spots)
    high = max(max(spot.human, spot.judge) for spot in spots)
    span = (high - low) or 1.0
    low, high = low - 0.08 * span, low + 1.08 * span
    most = max(spot.count for spot in spots)

    def place(value: float) -> float:
        return (value - low) / (high - low) * _PANEL

    yield from _heading("Judge against mean human", "people (mean)", judge, left, top)
    yield f'<rect class="line" x="{left}" y="{top}" width="{_PANEL}" height="{_PANEL}" fill="none"/>'
    yield (
        f'<line class="line" x1="{left}" y1="{top + _PANEL}" x2="{left + _PANEL}" y2="{top}" '
        'stroke-width="1.5" stroke-dasharray="5 4"/>'
    )
    for tick in _ticks(spots):
        at = place(tick)
        y = top + _PANEL - at
        yield f'<text x="{left - 8}" y="{y:.1f}" text-anchor="end" dominant-baseline="central">{tick:g}</text>'
        yield f'<text x="{left + at:.1f}" y="{top + _PANEL + 18}" text-anchor="middle">{tick:g}</text>'
    for spot in sorted(spots, key=lambda one: -one.count):
        radius = 3 + 13 * math.sqrt(spot.count / most) if most > 1 else 4.0
        x, y = left + place(spot.human), top + _PANEL - place(spot.judge)
        tip = f"people {spot.human:.3g}, judge {spot.judge:.3g}: {spot.count:,} items"
        yield (
            f'<circle class="fill edge" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill-opacity="0.45">'
            f"<title>{_text(tip, 160)}</title></circle>"
        )


def _heading(title: str, across: str, down: str, left: int, top: int) -> Iterator[str]:
    yield f'<text x="{left}" y="{top - 14}" font-size="13">{_text(title)}</text>'
    middle = left + _PANEL / 2
    yield (
        f'<text class="soft" x="{middle:.0f}" y="{top + _PANEL + 38}" text-anchor="middle">{_text(across, 40)} →</text>'
    )
    x, y = left - 52, top + _PANEL / 2
    yield (
        f'<text class="soft" x="{x}" y="{y:.0f}" text-anchor="middle" transform="rotate(-90 {x} {y:.0f})">'
        f"{_text(down, 40)} →</text>"
    )


def _ticks(spots: Sequence[Spot]) -> list[float]:
    """The judge's marks where they are few, else five even ones."""
    marks = sorted({spot.judge for spot in spots})
    if len(marks) <= 11:
        return marks
    return [marks[0] + (marks[-1] - marks[0]) * step / 4 for step in range(5)]


def _bars(measures: Sequence[Measure], aspects: int, found: Agreement, top: int) -> Iterator[str]:
    """A dot and its interval a measure, from -1 or 0 to 1."""
    lows = [bound for one in measures for bound in (one.value, one.low) if bound is not None]
    low = 0.0 if all(bound >= 0 for bound in lows) else max(-1.0, math.floor(min(lows) * 5) / 5)

    def place(value: float) -> float:
        return _BARS_LEFT + (min(1.0, max(low, value)) - low) / (1 - low) * _BARS_WIDTH

    bottom = top + 28 + _ROW * (len(measures) + (2 if found.judged else 1))
    for tick in [low + (1 - low) * step / 5 for step in range(6)]:
        x = place(tick)
        yield f'<line class="line" x1="{x:.1f}" x2="{x:.1f}" y1="{top}" y2="{bottom}" stroke-width="0.7"/>'
        yield f'<text class="soft" x="{x:.1f}" y="{bottom + 18}" text-anchor="middle">{tick:.2g}</text>'
    y = top + 12
    for index, one in enumerate(measures):
        if index in (0, aspects):
            y += 8 if index else 0
            whose = f"{len(found.people)} people" if index == 0 else f"{found.judge} against the people"
            yield f'<text x="20" y="{y}" font-size="13" font-weight="bold">{_text(whose)}</text>'
            y += _ROW
        middle = f'y="{y}" dominant-baseline="central"'
        yield f'<text x="{_BARS_LEFT - 12}" {middle} text-anchor="end">{NAMES[one.kind]}</text>'
        if one.low is not None and one.high is not None:
            yield (
                f'<line class="edge" x1="{place(one.low):.1f}" x2="{place(one.high):.1f}" y1="{y}" y2="{y}" '
                'stroke-width="4" stroke-opacity="0.5"/>'
            )
        if one.value is not None:
            yield f'<circle class="fill" cx="{place(one.value):.1f}" cy="{y}" r="5"/>'
        yield f'<text x="{_BARS_LEFT + _BARS_WIDTH + 16}" {middle}>{measure_text(one)}</text>'
        y += _ROW
    yield f'<text class="soft" x="20" y="{bottom + 40}" font-size="11">lines: 95 % intervals</text>'


def _text(text: str, limit: int = 80) -> str:
    return escape(one_line(text, limit))
