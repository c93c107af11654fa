"""A published table drawn: counts as bars, few figures a model as lines, many as a heat map with runs outlined."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.errors import VivaError
from viva.published import Table
from viva.render.theme import PER_CENT, category, plot, tips

if TYPE_CHECKING:
    import altair

FEW = 4
"""So many columns are points joined by a line for each model; more are a heat map."""


def chart(found: Sequence[Table], *, listing: bool = False) -> altair.TopLevelMixin:
    """The figures of the only table in its main unit. Raises VivaError for several, and for a list."""
    import altair as alt

    if listing or len(found) != 1:
        raise VivaError(f"one table is drawn, and here are {len(found)}: name one of them")
    (table,) = found
    unit = table.columns[0].unit
    rows = [
        {"row": entry.name, "column": column.label, "value": entry.figures[column.name], "run": entry.kind == "run"}
        for entry in table.entries
        for column in table.columns
        if column.unit == unit and column.name in entry.figures
    ]
    base = plot(rows)
    shown = tips("row:N", "column:N", ("value:Q", unit))
    columns = [column.label for column in table.columns]
    title = alt.Title(table.title, subtitle=[f"{table.benchmark}, {table.source.table}"])
    if unit == "questions":
        names = [entry.name for entry in table.entries]
        colour = alt.Color("column:N", title=None, sort=columns, scale=alt.Scale(range=[*category()]))
        order = alt.Order("at:Q")
        for row in rows:
            row["at"] = columns.index(str(row["column"]))
        bars = base.mark_bar().encode(
            x=alt.X("value:Q", title=unit), y=alt.Y("row:N", title=None, sort=names), color=colour, order=order
        )
        drawn: altair.Chart = bars.encode(tooltip=shown).properties(title=title, width="container", height={"step": 18})
        return drawn
    several: altair.TopLevelMixin = (
        _lines(table, base, columns, shown, title) if len(columns) <= FEW else _heat(table, base, columns, title)
    )
    return several


def _lines(table: Table, base: altair.Chart, columns: list[str], shown: list[Any], title: Any) -> Any:
    import altair as alt

    names = [entry.name for entry in table.entries]
    x = alt.X("column:N", title=None, sort=columns, axis=alt.Axis(labelAngle=0))
    y = alt.Y("value:Q", title=PER_CENT).scale(zero=False)
    drawn = base.encode(x=x, y=y, color=alt.Color("row:N", title=None, sort=names), tooltip=shown)
    return alt.layer(drawn.mark_line(), drawn.mark_circle(size=60, opacity=1)).properties(
        title=title, width="container", height=360
    )


def _heat(table: Table, base: altair.Chart, columns: list[str], title: Any) -> Any:
    import altair as alt

    x = alt.X("column:N", title=None, sort=columns, axis=alt.Axis(labelAngle=-60, orient="top", labelLimit=220))
    y = alt.Y("row:N", title=None, sort=[entry.name for entry in table.entries])
    values = [row["value"] for row in base.data.values]
    middle = (min(values, default=0) + max(values, default=0)) / 2
    tiles = base.mark_rect().encode(
        x=x,
        y=y,
        color=alt.Color("value:Q", title=PER_CENT).scale(scheme="blues"),
        stroke=alt.condition("datum.run", alt.value("#d55e00"), alt.value(None)),
        tooltip=tips("row:N", "column:N", ("value:Q", PER_CENT)),
    )
    dark = alt.condition(f"datum.value > {middle}", alt.value("white"), alt.value("black"))
    texts = base.mark_text(fontSize=9).encode(x=x, y=y, text=alt.Text("value:Q", format=".0f"), color=dark)
    return alt.layer(tiles, texts).properties(title=title, width={"step": 26}, height={"step": 17})
