"""The lengths of a set's questions: one histogram per group, stacked on the same axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.build.statistics.tables import SetStatistics
from viva.render.plots import FILE_WIDTH, plot, tips
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

_HEIGHT = 90
_LABEL = 60


def lengths_chart(sets: Sequence[SetStatistics]) -> altair.VConcatChart:
    """Draw the histograms of every set; the group `all` is left out if there are others."""
    import altair

    panels = []
    for each_set in sets:
        shown = [lengths for lengths in each_set.lengths if lengths.group != "all"] or list(each_set.lengths)
        rows: list[dict[str, Any]] = [
            {"group": one_line(lengths.group, _LABEL), "from": low, "to": high, "texts": count}
            for lengths in shown
            for low, high, count in zip(lengths.edges, lengths.edges[1:], lengths.counts, strict=False)
            if count
        ]
        base = plot(rows).encode(
            x=altair.X("from:Q", bin="binned", title=f"length of the {each_set.field}, {each_set.measure}"),
            x2="to",
            y=altair.Y("texts:Q", title="texts"),
            tooltip=tips("group:N", ("from:Q", "", ".1f"), ("to:Q", "", ".1f"), ("texts:Q", "", ",")),
        )
        bars = base.mark_bar().properties(width=FILE_WIDTH, height=_HEIGHT)
        facets = bars.facet(row=altair.Row("group:N", title=None, sort=[row["group"] for row in rows]))
        panels.append(
            facets.resolve_scale(y="independent").properties(title=f"{one_line(each_set.set, _LABEL)}: lengths")
        )
    drawn: altair.VConcatChart = altair.vconcat(*panels)
    return drawn
