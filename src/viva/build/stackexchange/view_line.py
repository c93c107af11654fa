"""The line of views and age: which questions are seen often enough for how old they are (paper, section 2.1).

    Line().above(views=4915, age=1000)   # True: ln 4915 = 8.50005, and the line is at 8.5

The paper keeps what lies above the line from (0, 5) to (3000, 15.5) in the plane of a question's age in days and the
logarithm of its views, and does not say which logarithm. It is the natural one: the addresses of 270 of the chosen
questions are published, and ids grow with time. The oldest id is of early 2017, six years before the dump. Of 2017
there are about 4, then, year by year, 34, 56, 59 and 70; of 2022, whose questions had little time to get three answers
with votes, 47.

- With e, a question needs 149 views on its first day, 4,915 after 1000 days, 163,000 after 2000, 5.4 million after
  3000: hardly one of six years is left, as is seen.
- With 2, it would need 46,341 views after 3000 days, and 8,500 at the age of the oldest one; the site has very many
  such questions of 2008 to 2016, and not one is among the 270.
- With 10, it would need 2 million views after one year, and more than the site has had of all together after eight.

Beyond 3000 days the line goes on straight, as it does before 0: at 3200 days e^16.2 is 10.9 million views. So it ends
the set at some age by itself, and nothing is cut off. Ages are whole days between two dates; above means above, not on.

The chart is InfiBench's Figure 3: questions by age and views, and the line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

from msgspec import Struct

if TYPE_CHECKING:
    import altair
    import numpy as np
    from numpy.typing import NDArray


LOGARITHMS: dict[str, float] = {"e": math.e, "2": 2.0, "10": 10.0}


class Line(Struct, frozen=True, kw_only=True):
    """A line through two points of (days, logarithm of views)."""

    from_days: float = 0.0
    from_log: float = 5.0
    to_days: float = 3000.0
    to_log: float = 15.5
    logarithm: Literal["e", "2", "10"] = "e"

    def height(self, age: float) -> float:
        """The logarithm of views at an age in days."""
        slope = (self.to_log - self.from_log) / (self.to_days - self.from_days)
        return self.from_log + slope * (age - self.from_days)

    def above(self, views: int, age: int) -> bool:
        """Whether a question is above the line, not on it. One without views is not."""
        return views > 0 and math.log(views) / math.log(LOGARITHMS[self.logarithm]) > self.height(age)

    def above_all(self, views: NDArray[np.uint32], ages: NDArray[np.int64]) -> NDArray[np.bool_]:
        """`above` for arrays."""
        import numpy as np

        seen = np.log(np.maximum(views, 1).astype(np.float64)) / math.log(LOGARITHMS[self.logarithm])
        slope = (self.to_log - self.from_log) / (self.to_days - self.from_days)
        return (views > 0) & (seen > self.from_log + slope * (ages - self.from_days))


AGE_STEP, LOG_STEP = 60, 0.25
"""Days and logarithm of views of one cell of the plane."""


class ViewAges(Struct, frozen=True, kw_only=True):
    """Questions in the plane of age and views: the paper's Figure 3, as counts. A cell is named by its lower corner."""

    line: Line
    cells: tuple[tuple[int, float, int, int], ...]
    """Age in days, logarithm of views, questions above the line, and on or below it."""

    @property
    def above(self) -> int:
        """All questions above the line."""
        return sum(cell[2] for cell in self.cells)

    @property
    def below(self) -> int:
        """All others."""
        return sum(cell[3] for cell in self.cells)


def view_ages(line: Line, ages: NDArray[np.int64], views: NDArray[np.uint32]) -> ViewAges:
    """Count questions by cells of AGE_STEP days and LOG_STEP of the line's logarithm; `views` are above 0."""
    import numpy as np

    above = line.above_all(views, ages)
    logs = np.log(views.astype(np.float64)) / math.log(LOGARITHMS[line.logarithm])
    places = np.stack([ages // AGE_STEP, np.floor(logs / LOG_STEP).astype(np.int64)], axis=1)
    cells, inverse = np.unique(places, axis=0, return_inverse=True)
    counts = np.bincount(inverse.ravel(), minlength=len(cells))
    kept = np.bincount(inverse.ravel(), weights=above, minlength=len(cells)).astype(np.int64)
    return ViewAges(
        line=line,
        cells=tuple(
            (int(age) * AGE_STEP, float(log) * LOG_STEP, int(up), int(count - up))
            for (age, log), up, count in zip(cells, kept, counts, strict=True)
        ),
    )


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
