"""Scatter plots of two columns: a point for each row, the regression line, and names of rows far from it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from viva.analysis.correlation import Pair
from viva.errors import VivaError, option
from viva.render.measures import measure_text
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, Layer, curves, mark_of, subtitle, together
from viva.studies.correlate.tables import Correlations

MOST = 12
"""The most pairs in one chart: more are too small to read."""
NAMED = 5
"""The most outliers with a label; all have a tooltip."""
_NEAR, _FAR = "near the line", "far from the line"


def chart(correlations: Sequence[Correlations]) -> Drawn:
    """Return a panel a pair. Raises VivaError for more than `MOST` of them, or none with figures."""
    drawn = [(correlated, pair) for correlated in correlations for pair in correlated.pairs if len(pair.rows) > 1]
    if not drawn:
        raise VivaError("there is nothing to draw: no two columns have two rows in common")
    if len(drawn) > MOST:
        raise VivaError(
            f"a chart shows {MOST} pairs of columns at most, and these are {len(drawn)}: {option('columns', 'A,B')}"
        )
    if len(drawn) == 1:
        return _panel(*drawn[0], height=400)
    return together([_panel(*each, width=290, height=230) for each in drawn], columns=2)


def _panel(correlated: Correlations, pair: Pair, **size: Any) -> Drawn:
    first, second = (
        f"{correlated.labels[name]}, {PER_CENT}" if name in correlated.labels else name
        for name in (pair.first, pair.second)
    )
    far = {outlier.row: outlier for outlier in pair.outliers}
    rows = [
        {
            "row": name,
            "name": name if name in list(far)[:NAMED] else "",
            "x": x,
            "y": y,
            "off the line": f"{far[name].t:+.1f} standard errors" if name in far else "",
            "kind": _FAR if name in far else _NEAR,
            **mark_of(complete=name not in correlated.partial),
        }
        for name, x, y in pair.rows
    ]
    return curves(
        [Layer("dashes", _line(pair)), Layer("dots", rows), Layer("names", rows)],
        Axis("x", first, {"padding": 14}), Axis("y", second, {"padding": 14}), kinds=Kinds("kind", (_NEAR, _FAR)),
        title=f"{first} and {second}", below=subtitle(rows, _said(pair, correlated.title)), **size,
    )  # fmt: skip


def _said(pair: Pair, title: str) -> str:
    pearson = pair.of("pearson")
    if pearson.value is None:
        return title
    return f"{title} · Pearson's r {measure_text(pearson)}, n = {pair.n}"


def _line(pair: Pair) -> list[dict[str, float]]:
    """Return the least-squares line over the points' range; none if a column is constant."""
    if pair.of("pearson").value is None:
        return []
    from numpy.polynomial import Polynomial

    xs = [x for _, x, _ in pair.rows]
    line = Polynomial.fit(xs, [y for _, _, y in pair.rows], 1)
    return [{"x": x, "y": float(line(x))} for x in (min(xs), max(xs))]
