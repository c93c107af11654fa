"""Questions by age and views, and the line above which they are seen often enough (InfiBench, Figure 3)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair

ABOVE, BELOW = "above the line", "on or below it"


def views_chart(
    cells: Sequence[tuple[int, float, int, int]],
    line: Sequence[tuple[float, float]],
    steps: tuple[float, float],
    logarithm: str,
) -> altair.TopLevelMixin:
    """A heat map of counts with the line on it.

    `cells`: age in days and logarithm of views of a cell's lower corner, questions above the line and below it. `line`:
    two or more points of it. `steps`: a cell's width and height. `logarithm`: its base.
    """
    import altair as alt

    width, height = steps
    rows: list[dict[str, Any]] = [
        {"age": age, "older": age + width, "log": log, "more": log + height, "questions": above + below,
         "place": ABOVE if above >= below else BELOW}
        for age, log, above, below in cells
    ]  # fmt: skip
    up, down = sum(cell[2] for cell in cells), sum(cell[3] for cell in cells)
    age = alt.X("age:Q", title="age, days").scale(zero=True, nice=False)
    log = alt.Y("log:Q", title=f"views, logarithm to base {logarithm}").scale(nice=False)
    heat = alt.Chart(alt.InlineData(values=rows)).mark_rect(stroke=None).encode(
        x=age,
        x2="older:Q",
        y=log,
        y2="more:Q",
        color=alt.Color("place:N", title=None, sort=[ABOVE, BELOW]),
        opacity=alt.Opacity("questions:Q", title="questions").scale(type="log", range=[0.25, 1]),
        tooltip=[
            alt.Tooltip("age:Q", title="age from, days"),
            alt.Tooltip("log:Q", title="logarithm of views from", format=".2f"),
            alt.Tooltip("questions:Q", format=","),
            alt.Tooltip("place:N", title="mostly"),
        ],
    )  # fmt: skip
    drawn = [{"age": x, "log": y} for x, y in line]
    rule = alt.Chart(alt.InlineData(values=drawn)).mark_line(strokeWidth=2, color="gray").encode(x=age, y=log)
    said = f"{up:,} questions above the line, {down:,} on or below it"
    return alt.layer(heat, rule).properties(
        title=alt.Title("Views over age", subtitle=said), width="container", height=380
    )
