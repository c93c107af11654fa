"""A board's scores over what its answers cost, drawn."""

from __future__ import annotations

from viva.pages.leaderboard.boards import Board
from viva.render.plots import Axis, Drawn, Layer, curves
from viva.render.theme import PER_CENT, figures
from viva.visible import one_line


def cost_chart(board: Board) -> Drawn:
    """Return a board's scores over what 1,000 answers cost, of the rows of which that is known."""
    rows = [
        {"name": (name := one_line(row.model, 60)), "model": name, "cost": row.cost, **figures(row.score)}
        for row in board.rows
        if row.cost and row.score and row.score.mean is not None
    ]
    costs = [float(row["cost"]) for row in rows]
    wide = {"type": "log"} if max(costs) > 10 * min(costs) else {}
    return curves(
        [Layer("bars", rows), Layer("dots", rows), Layer("names", rows)],
        Axis("cost", "US$ for 1,000 answers", wide | {"nice": True}, {"tickCount": 6}),
        Axis("score", f"score, {PER_CENT}", {"nice": True}),
        title="Score over cost", below="without judges", height=240,
    )  # fmt: skip
