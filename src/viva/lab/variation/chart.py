"""Chart of the sources of variance: scores in every cell of a design, and the standard deviation of each source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from viva.designs import Design
from viva.lab.variation.tables import Contestant
from viva.render.plots import PER_CENT, Axis, Drawn, Kinds, dots, together
from viva.render.table import p_text
from viva.visible import one_line

_LABEL = 60
"""The most characters of a name on an axis."""
_WIDTH = 400
"""Width of a panel without its labels, in pixels."""
_BEYOND = 1.3
"""Limit of the axis of standard deviations, as a multiple of the largest: with few levels intervals are huge."""
_ALL, _ONE = "all cells", "one cell"


def variance_chart(exam: str, design: Design, contestants: Sequence[Contestant]) -> Drawn:
    """Return a chart of one exam's models, the best first: a dot for each cell and one for the mean, and below the
    sources of variance with intervals cut to the axis.
    """
    left_out = max(each.left_out for each in contestants)
    below = [design.words, "lines: 95 % intervals for other questions and levels"]
    below += [f"without questions of which an answer is missing ({left_out:,} at most)"] if left_out else []
    most = _BEYOND * max(1.0, *(100 * source.sd for each in contestants for source in each.components.components))
    title = "standard deviation in points, with 95 % intervals as far as they fit"
    return together(
        [
            dots(
                list(_scores(design, contestants)), "model", Axis("score", f"score ({PER_CENT})"), width=_WIDTH,
                title=f"{one_line(exam, _LABEL)}: what moves a score", below=below, kinds=Kinds("over", (_ALL, _ONE)),
            ),
            dots(
                list(_sources(contestants, most)), "source", Axis("sd", title, {"domain": [0, most]}), width=_WIDTH,
                title="Its sources",
                kinds=Kinds("model", [one_line(each.model, _LABEL) for each in contestants], offset=True),
            ),
        ]
    )  # fmt: skip


def _scores(design: Design, contestants: Sequence[Contestant]) -> Iterator[dict[str, Any]]:
    """Yield each model's score in every cell with its rank there, and its mean with the interval over other such
    cells.
    """
    for each in contestants:
        model = one_line(each.model, _LABEL)
        for cell, score in enumerate(each.cells):
            levels = (f"{factor} {one_line(level, _LABEL)}" for factor, level in design.named(cell).items())
            rank = 1 + sum(other.cells[cell] > score for other in contestants)
            yield {"model": model, "score": 100 * score, "over": _ONE, "cell": ", ".join(levels), "rank": rank}
        low, high = each.components.interval()
        ends = {"low": 100 * max(0.0, low), "high": 100 * min(1.0, high)}
        yield {"model": model, "score": 100 * each.components.mean, "over": _ALL, **_interval(ends), **ends}


def _sources(contestants: Sequence[Contestant], most: float) -> Iterator[dict[str, Any]]:
    """Yield the standard deviation of every source of each model's score."""
    for each in contestants:
        shares = each.components.shares()
        for source in each.components.components:
            share, ends = shares[source.name], {"low": 100 * source.low**0.5, "high": 100 * source.high**0.5}
            yield {
                "source": source.name,
                "model": one_line(each.model, _LABEL),
                "sd": 100 * source.sd,
                **{end: min(most, value) for end, value in ends.items()},
                **_interval(ends),
                "p": p_text(source.p),
                "share of the error": "–" if share is None else f"{100 * share:.0f} %",
            }


def _interval(ends: dict[str, float]) -> dict[str, str]:
    return {"95 %": f"{ends['low']:.1f} to {ends['high']:.1f}"}
