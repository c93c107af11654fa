"""Two columns of figures against each other: a point a row, the line through them, rows far from it named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.correlation import Pair
from viva.errors import VivaError, option
from viva.render.theme import daggers, mark_of, plot, subtitle, tips
from viva.studies.correlate.tables import Correlations

if TYPE_CHECKING:
    import altair

MOST = 12
"""Pairs of one chart: more are too small to read."""
NAMED = 5
"""Outliers with a label; all of them have a tooltip."""


def chart(found: Sequence[Correlations]) -> altair.TopLevelMixin:
    """A panel a pair. Raises VivaError for more than `MOST` of them, or none with figures."""
    import altair as alt

    drawn = [(one, pair) for one in found for pair in one.pairs if len(pair.rows) > 1]
    if not drawn:
        raise VivaError("there is nothing to draw: no two columns have two rows in common")
    if len(drawn) > MOST:
        raise VivaError(
            f"a chart shows {MOST} pairs of columns at most, and these are {len(drawn)}: {option('columns', 'A,B')}"
        )
    if len(drawn) == 1:
        one, pair = drawn[0]
        whole: altair.TopLevelMixin = _panel(pair, one).properties(width="container", height=400)
        return whole
    panels = [_panel(pair, one).properties(width=290, height=230) for one, pair in drawn]
    return alt.concat(*panels, columns=2)


def _panel(pair: Pair, one: Correlations) -> Any:
    import altair as alt

    first, second = (one.labels.get(name, name) for name in (pair.first, pair.second))
    far = {outlier.row: outlier for outlier in pair.outliers}
    rows = [
        {
            "row": name,
            "x": x,
            "y": y,
            "off": f"{far[name].t:+.1f} standard errors" if name in far else "",
            "kind": "far from the line" if name in far else "near the line",
            **mark_of(complete=name not in one.partial),
        }
        for name, x, y in pair.rows
    ]
    across = alt.X("x:Q", title=first).scale(zero=False, padding=14)
    up = alt.Y("y:Q", title=second).scale(zero=False, padding=14)
    colour = alt.Color("kind:N", title=None).scale(domain=["near the line", "far from the line"])
    shown = tips(("row:N", "row"), ("x:Q", first), ("y:Q", second), ("off:N", "off the line"))
    points = plot(rows).mark_circle(size=60, opacity=0.85)
    layers: list[Any] = [points.encode(x=across, y=up, color=colour, tooltip=shown)]
    layers += daggers(plot(rows), x=across, y=up)
    line = _line(pair)
    if line:
        drawn = plot(line).mark_line(strokeDash=[5, 4], opacity=0.7)
        layers.insert(0, drawn.encode(x=across, y=up))
    named = [row for row in rows if row["row"] in {outlier.row for outlier in pair.outliers[:NAMED]}]
    # Labels stand where there is room: of rows in the right half, to their left.
    middle = (min(x for _, x, _ in pair.rows) + max(x for _, x, _ in pair.rows)) / 2
    for left in (True, False):
        near = [row for row in named if (float(str(row["x"])) <= middle) is left]
        labels = plot(near).mark_text(align="left" if left else "right", dx=8 if left else -8, fontSize=11)
        layers += [labels.encode(x=across, y=up, text="row:N")] if near else []
    title = alt.Title(f"{first} and {second}", subtitle=subtitle(rows, _said(pair, one.title)))
    return alt.layer(*layers).properties(title=title)


def _said(pair: Pair, title: str) -> str:
    one = pair.of("pearson")
    if one.value is None:
        return title
    between = "" if one.low is None or one.high is None else f" [{one.low:.3f}, {one.high:.3f}]"
    return f"{title} · Pearson's r {one.value:.3f}{between}, n = {pair.n}"


def _line(pair: Pair) -> list[dict[str, float]]:
    """The least-squares line over the points' own range; none through a column that is constant."""
    xs, ys = [x for _, x, _ in pair.rows], [y for _, _, y in pair.rows]
    scale = max(map(abs, xs)) or 1.0
    middle_x, middle_y = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum(((x - middle_x) / scale) ** 2 for x in xs)
    if spread <= 0 or pair.of("pearson").value is None:
        return []
    slope = sum((x - middle_x) / scale * (y - middle_y) for x, y in zip(xs, ys, strict=True)) / spread
    return [{"x": x, "y": middle_y + slope * (x - middle_x) / scale} for x in (min(xs), max(xs))]
