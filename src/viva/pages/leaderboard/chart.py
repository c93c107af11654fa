"""A board's scores over what its answers cost, drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING

from viva.pages.leaderboard.boards import Board
from viva.render.theme import layered, per_cent, plot, tips
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

_LABEL = 60
"""Characters of a model's name."""


def cost_chart(board: Board) -> altair.TopLevelMixin:
    """Return a board's scores over what 1,000 answers cost, of the rows of which that is known."""
    import altair as alt

    drawn = [(row, row.score) for row in board.rows if row.cost and row.score and row.score.mean is not None]
    rows = [
        {
            "model": one_line(row.model, _LABEL),
            "score": per_cent(cell.mean),
            "low": per_cent(cell.low),
            "high": per_cent(cell.high),
            "cost": row.cost,
        }
        for row, cell in drawn
    ]
    costs = [row.cost or 0.0 for row, _ in drawn]
    scale = alt.Scale(type="log" if max(costs) > 10 * min(costs) else "linear", zero=False, nice=True)
    base = plot(rows).encode(x=alt.X("cost:Q", title="US$ for 1,000 answers", scale=scale, axis=alt.Axis(tickCount=6)))
    title = "score, per cent"
    score = alt.Y("score:Q", title=title, scale=alt.Scale(zero=False, nice=True))
    whisker = base.mark_rule(opacity=0.55).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    shown = tips("model:N", ("score:Q", "", ".2f"), ("cost:Q", "", ".3g"))
    dot = base.mark_point(filled=True, size=62).encode(y=score, tooltip=shown)
    name = base.mark_text(align="left", dx=7, dy=-7, limit=160).encode(y=score, text="model:N")
    return layered(whisker, dot, name, title="Score over cost", below="without judges", height=240)
