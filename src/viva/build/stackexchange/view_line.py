"""The line of views and age: whether a question is viewed often enough for its age (paper, section 2.1).

    Line().height(1000)   # 8.5: with 4,915 views, ln 4915 = 8.50005, a question is above it

The paper keeps what lies above the line from (0, 5) to (3000, 15.5) in the plane of a question's age in days and the
logarithm of its views, and does not say which logarithm. It is the natural one, as the URLs of 270 of the chosen
questions show, since ids grow with time. The oldest id is of early 2017, six years before the dump. Of 2017
there are about 4, then, year by year, 34, 56, 59 and 70; of 2022, whose questions had little time to get three answers
with votes, 47.

- With e, a question needs 149 views on its first day, 4,915 after 1000 days, 163,000 after 2000, 5.4 million after
  3000: hardly a question of that age is left, as observed.
- With 2, it would need 46,341 views after 3000 days, and 8,500 at the age of the oldest one; the site has very many
  such questions of 2008 to 2016, and not one is among the 270.
- With 10, it would need 2 million views after one year, and more than the site has had of all together after eight.

The line extends beyond 3000 days and below 0: at 3200 days it is at e^16.2, 10.9 million views. So it limits ages by
itself, without a cut-off. Ages are whole days between two dates; above means strictly above.

The chart is InfiBench's Figure 3: questions by age and views, and the line.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeVar

import polars as pl
from msgspec import Struct

from viva.render.plots import layered, plot, tips

if TYPE_CHECKING:
    from viva.render.plots import Layered

Age = TypeVar("Age", float, pl.Expr)


LOGARITHMS: dict[str, float] = {"e": math.e, "2": 2.0, "10": 10.0}


class Line(Struct, frozen=True, kw_only=True):
    """A line through two points of (days, logarithm of views)."""

    from_days: float = 0.0
    from_log: float = 5.0
    to_days: float = 3000.0
    to_log: float = 15.5
    logarithm: Literal["e", "2", "10"] = "e"

    def height(self, age: Age) -> Age:
        """Return the logarithm of views at an age in days."""
        slope = (self.to_log - self.from_log) / (self.to_days - self.from_days)
        return self.from_log + slope * (age - self.from_days)

    def log(self, views: pl.Expr) -> pl.Expr:
        """Return the logarithm of views."""
        return views.log() / math.log(LOGARITHMS[self.logarithm])

    def above(self, views: pl.Expr, age: pl.Expr) -> pl.Expr:
        """Tell questions strictly above the line; those without views are not."""
        return self.log(views) > self.height(age)


AGE_STEP, LOG_STEP = 60, 0.25
"""Days and logarithm of views of one cell of the plane."""


class ViewAges(Struct, frozen=True):
    """Questions in the plane of age and views: the paper's Figure 3, as counts. A cell is named by its lower corner."""

    line: Line
    cells: pl.DataFrame
    """Age in days, log (of views), above (questions above the line), below (on or below it)."""


def view_ages(line: Line, questions: pl.DataFrame) -> ViewAges:
    """Count questions (age, views above 0) by cells of AGE_STEP days and LOG_STEP of the line's logarithm."""
    age, views = pl.col("age"), pl.col("views")
    log = (line.log(views) / LOG_STEP).round(9).floor() * LOG_STEP  # rounded, so that a power of the base is whole
    cells = questions.select(age // AGE_STEP * AGE_STEP, log=log, above=line.above(views, age)).group_by("age", "log")
    counts = cells.agg(pl.col("above").sum(), below=pl.col("above").not_().sum())
    return ViewAges(line, counts.sort("age", "log"))


ABOVE, BELOW = "above the line", "on or below it"


def views_chart(plane: ViewAges) -> Layered:
    """Draw a heat map of the counts with the line."""
    import altair as alt

    above, below = pl.col("above"), pl.col("below")
    rows = plane.cells.select(
        "age",
        older=pl.col("age") + AGE_STEP,
        log="log",
        more=pl.col("log") + LOG_STEP,
        questions=above + below,
        place=pl.when(above >= below).then(pl.lit(ABOVE)).otherwise(pl.lit(BELOW)),
    ).to_dicts()
    age = alt.X("age:Q", title="age, days").scale(zero=True, nice=False)
    log = alt.Y("log:Q", title=f"views, logarithm to base {plane.line.logarithm}").scale(nice=False)
    heat = plot(rows).mark_rect(stroke=None).encode(
        x=age,
        x2="older:Q",
        y=log,
        y2="more:Q",
        color=alt.Color("place:N", title=None, sort=[ABOVE, BELOW]),
        opacity=alt.Opacity("questions:Q", title="questions").scale(type="log", range=[0.25, 1]),
        tooltip=tips(("age:Q", "age from, days"), ("log:Q", "logarithm of views from", ".2f"),
                     ("questions:Q", "", ","), ("place:N", "mostly")),
    )  # fmt: skip
    ends = (0.0, float(rows[-1]["older"]))
    rule = plot({"age": end, "log": plane.line.height(end)} for end in ends).mark_line(strokeWidth=2, color="gray")
    up, down = plane.cells.sum().select("above", "below").row(0)
    counted = f"{up:,} questions above the line, {down:,} on or below it"
    return layered(heat, rule.encode(x=age, y=log), title="Views over age", below=counted, height=380)
