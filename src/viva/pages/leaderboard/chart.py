"""Standings drawn: every model's score with its 95 % interval, best at the top."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.wording import UNSURE
from viva.pages.leaderboard.boards import Board, Row
from viva.render.theme import daggers, layered, mark_of, per_cent, plot, subtitle, tips
from viva.visible import one_line

if TYPE_CHECKING:
    import altair

MOST = 40
"""Models of one chart: more are a table."""
_ROW = 24
"""Pixels of one model."""
_LABEL = 60
"""Characters of a model's name on the axis."""
ORIGINS = ("own run", "published")


def chart(board: Board) -> altair.TopLevelMixin:
    """A board's scores in per cent, as dots on their intervals; the best `MOST`, and says so where there are more.

    A click on an entry of the legend leaves its models alone in sight.
    """
    import altair as alt

    scored = [row for row in board.rows if row.score is not None]
    rows = _told(scored[:MOST])
    picked = alt.selection_point(fields=["origin"], bind="legend")
    faint = alt.condition(picked, alt.value(1.0), alt.value(0.12))
    both = len({row["origin"] for row in rows}) > 1
    origin = alt.Color(
        "origin:N",
        title=None,
        sort=list(ORIGINS),
        scale=alt.Scale(domain=list(ORIGINS)),
        legend=alt.Legend() if both else None,
    )
    shape = alt.Shape("kind:N", title=None, legend=alt.Legend() if len({row["kind"] for row in rows}) > 1 else None)
    name = alt.Y("name:N", sort=None, title=None, axis=alt.Axis(ticks=False, domain=False))
    base = plot(rows)
    axis = "score, per cent, with 95 % interval"
    shown = tips(
        "model:N", ("score:Q", "score, %", ".2f"), ("interval:N", "95 % interval"), "rank:N", "family:N",
        ("size:N", "billions"), ("origin:N", "from"),
    )  # fmt: skip
    score = alt.X("score:Q", title=axis, scale=alt.Scale(zero=False, nice=True), axis=alt.Axis(tickCount=8))
    whisker = base.mark_rule(strokeWidth=2, opacity=0.55).encode(
        x=alt.X("low:Q", title=axis), x2="high:Q", y=name, color=origin, opacity=faint, tooltip=shown
    )
    dot = base.mark_point(filled=True, size=62).encode(
        x=score, y=name, color=origin, shape=shape, opacity=faint, tooltip=shown
    )
    kept = f"the best {MOST} of {len(scored)} models; " if len(scored) > MOST else ""
    widest = "; of published rows the widest possible intervals" if any(row.widest for row in scored[:MOST]) else ""
    ranges = any(row["score"] is None for row in rows)
    thick = base.transform_filter("!isValid(datum.score)").mark_rule(strokeWidth=8, opacity=0.4)
    bars = [thick.encode(x=alt.X("least:Q", title=axis), x2="most:Q", y=name, color=origin, tooltip=shown)]
    said = subtitle(
        rows,
        one_line(f"{kept}{board.title}{widest}", 150),
        f"{UNSURE} a range (a thick bar) in place of a mean" if ranges else "",
    )
    points = daggers(base, x=score, y=name)
    layers = (whisker, *(bars if ranges else ()), dot.add_params(picked), *points)
    return layered(*layers, title="Standings", below=said, height=_ROW * len(rows) + 10)


def cost_chart(board: Board) -> altair.TopLevelMixin:
    """A board's scores over what 1,000 answers cost, of the rows of which that is known."""
    import altair as alt

    rows = _told([row for row in board.rows if row.cost and row.score is not None and row.score.mean is not None])
    costs = [row["cost"] for row in rows]
    scale = alt.Scale(type="log" if max(costs) > 10 * min(costs) else "linear", zero=False, nice=True)
    base = plot(rows).encode(x=alt.X("cost:Q", title="US$ for 1,000 answers", scale=scale, axis=alt.Axis(tickCount=6)))
    title = "score, per cent"
    score = alt.Y("score:Q", title=title, scale=alt.Scale(zero=False, nice=True))
    whisker = base.mark_rule(opacity=0.55).encode(y=alt.Y("low:Q", title=title), y2="high:Q")
    shown = tips("model:N", ("score:Q", "", ".2f"), ("cost:Q", "", ".3g"))
    dot = base.mark_point(filled=True, size=62).encode(y=score, tooltip=shown)
    name = base.mark_text(align="left", dx=7, dy=-7, limit=160).encode(y=score, text="name:N")
    return layered(whisker, dot, name, title="Score over cost", below="without judges", height=240)


def _told(rows: Sequence[Row]) -> list[dict[str, Any]]:
    names = _apart([one_line(row.model, _LABEL) for row in rows])
    return [_datum(row, name) for row, name in zip(rows, names, strict=True)]


def _datum(row: Row, name: str) -> dict[str, Any]:
    score = row.score
    assert score is not None
    interval = "" if score.low is None or score.high is None else f"{100 * score.low:.2f} to {100 * score.high:.2f}"
    return {
        "name": name,
        "model": one_line(row.model, 120),
        "score": per_cent(score.mean),
        "low": 100 * (score.sure if score.low is None else score.low),
        "high": 100 * (score.sure if score.high is None else score.high),
        "least": None if score.complete else 100 * score.floor,
        "most": None if score.complete else 100 * score.ceiling,
        "interval": interval,
        "rank": row.rank.text if row.rank else "none",
        "family": one_line(row.facts.family, 40),
        "size": "" if row.facts.total is None else f"{row.facts.total:g}",
        "origin": ORIGINS[0] if row.own else ORIGINS[1],
        "kind": row.kind,
        "cost": row.cost,
        **mark_of(complete=score.complete),
    }


def _apart(names: Sequence[str]) -> list[str]:
    """Names of which no two are alike: an axis would put two models into one row."""
    seen: dict[str, int] = {}
    found: list[str] = []
    for name in names:
        seen[name] = seen.get(name, 0) + 1
        found.append(name if seen[name] == 1 else f"{name} ({seen[name]})")
    return found
