"""Differences drawn: a row a comparison, its interval, and where nothing lies."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from viva.published import Table
from viva.render.table import p_text
from viva.render.theme import SIGNED, category, ends, layered, per_cent, plot, tips, zero_line
from viva.studies.compare.means import Published, labels_of
from viva.studies.compare.tables import Comparison, Row, difference_text
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.render.theme import Layered

STEP = 24
"""Pixels of a cell."""
_ROW = 32
"""Pixels of a row of two lines."""
_AXIS = ["difference: the second minus the first", "(points of per cent)"]
"""In two lines, since one is wider than some plots."""
_NAMES: dict[str, Any] = {"labelExpr": "split(replace(datum.label, ' → ', ' →\\n'), '\\n')", "labelOffset": -7}
"""Labels of rows: a line a model, since two names are too long for one; both lines centred on their row."""
MOST_ROWS = 28
"""Comparisons of models beyond which they are a matrix (eight models have so many)."""
ALL = "all"
COLUMNS = 3
"""Columns of a published table that are drawn."""
LEVEL = 0.05
_TITLE = "Differences, question by question"
_TESTED = ("p:N", ("adjusted:N", "p, adjusted"), ("n:Q", "questions", ","))
"""What tooltips say of a test."""
_LEFT_OUT = "questions that one side has no score on are left out"
SURE, UNSURE = "more than chance", "may be chance"


def comparing_chart(found: Sequence[Comparison]) -> Layered:
    """Differences in points with their 95 % intervals; in colour those that are more than chance after adjusting."""
    import altair

    pairs = {(one.title, row.first, row.second) for one in found for row in one.rows}
    alone = len(pairs) == 1 and any(row.part for one in found for row in one.rows)
    about = [" → ".join(pair[1:]) for pair in pairs] if alone else []
    rows = [_data(row, "" if len(found) == 1 else one.title, alone=alone) for one in found for row in one.rows]
    rows = [row for row in rows if row["difference"] is not None]
    if len(found) == 1 and len(rows) > MOST_ROWS and all(row["part"] == ALL for row in rows):
        left_out = _LEFT_OUT if any(row.found.unscored for row in found[0].rows) else ""
        return _matrix(rows, "; ".join(filter(None, [found[0].title, left_out])))
    base = plot(rows).encode(
        y=altair.Y("row:N", sort=[row["row"] for row in rows], title=None).axis(**({} if alone else _NAMES)),
        color=altair.Color("verdict:N", title=None).scale(domain=[SURE, UNSURE], range=[category()[0], "#8a8a8a"]),
    )
    some_left_out = any(row.found.unscored for one in found for row in one.rows)
    shown = tips(
        *("first:N", "second:N", "part:N", ("said:N", "difference")),
        *_TESTED,
        ("wins:Q", "", ","),
        ("losses:Q", "", ","),
    )
    ranges = base.transform_filter("isValid(datum.low)").mark_rule(strokeWidth=2).encode(
        x="low:Q", x2="high:Q", tooltip=shown
    )  # fmt: skip
    dots = base.mark_circle(size=90, opacity=1).encode(
        x=altair.X("difference:Q", title=_AXIS).axis(labelExpr=SIGNED), tooltip=shown
    )
    below = " · ".join([*(one.title for one in found), *about, *([_LEFT_OUT] if some_left_out else [])])
    return layered(zero_line(_AXIS), ranges, dots, title=_TITLE, below=below, height={"step": _ROW})


def _matrix(rows: Sequence[dict[str, Any]], title: str) -> Layered:
    """Every model against every other: what the column's has more than the row's, both ways round."""
    import altair

    both = [
        *rows,
        *({**row, "first": row["second"], "second": row["first"], "difference": -row["difference"]} for row in rows),
    ]
    gained: dict[str, float] = {}
    for row in both:
        gained[row["second"]] = gained.get(row["second"], 0.0) + row["difference"]
    order = sorted(gained, key=lambda name: -gained[name])
    widest = max(abs(row["difference"]) for row in rows) or 1.0
    base = plot(both).encode(
        x=altair.X("second:N", sort=order, title=None).axis(labelAngle=-40, labelLimit=180, orient="top"),
        y=altair.Y("first:N", sort=order, title=None),
        tooltip=tips(
            ("first:N", "row"), ("second:N", "column"), ("difference:Q", "column minus row, points", "+.2f"), *_TESTED
        ),
    )
    colour = altair.Color("difference:Q", title="points of per cent").scale(
        scheme="blueorange", reverse=True, domain=[-widest, 0, widest]
    )
    strong = altair.condition(
        f"abs(datum.difference) > {0.6 * widest}", altair.value("#ffffff"), altair.value("#1e2125")
    )
    cells = base.mark_rect().encode(color=colour)
    sure = base.transform_filter(f"datum.verdict === '{SURE}'").mark_text(fontSize=10, fontWeight="bold")
    unsure = base.transform_filter(f"datum.verdict !== '{SURE}'").mark_text(fontSize=10)
    text = altair.Text("difference:Q", format="+.0f")
    below = f"{title} · the column's score minus the row's, in points; bold: {SURE}"
    layers = (cells, *(one.encode(text=text, color=strong) for one in (sure, unsure)))
    return layered(*layers, title=_TITLE, below=below, height={"step": STEP})


def means_chart(found: Sequence[Published], one: Table) -> Layered:
    """Differences of printed means: a row a pair, a colour a column; no intervals, for there are none."""
    import altair

    labels = [(name, label) for name, label in labels_of(found, one).items() if not name.startswith("level")][:COLUMNS]
    rows = [
        {
            "row": _row_of(pair), "of": pair.what, "column": label,
            "first": pair.figures[name][0], "second": pair.figures[name][1], "difference": pair.figures[name][2],
        }
        for pair in found for name, label in labels if name in pair.figures
    ]  # fmt: skip
    dots = plot(rows).mark_circle(size=90, opacity=1)
    names = [label for _, label in labels]
    drawn = dots.encode(
        x=altair.X("difference:Q", title=_AXIS).axis(labelExpr=SIGNED),
        y=altair.Y("row:N", sort=[_row_of(pair) for pair in found], title=None).axis(**_NAMES),
        color=altair.Color("column:N", title=None, sort=names).scale(domain=names, range=list(category()[:COLUMNS])),
        tooltip=["row:N", "of:N", "column:N", "first:Q", "second:Q", "difference:Q"],
    )
    title, below = f"Published differences · {one.benchmark}", one_line(one.source.table, 90)
    return layered(zero_line(_AXIS), drawn, title=title, below=below, height={"step": _ROW})


def _row_of(pair: Published) -> str:
    return f"{pair.first} → {pair.second}" + (f": {pair.part}" if pair.part else "")


def _data(row: Row, title: str, *, alone: bool) -> dict[str, Any]:
    one = row.found
    sure = one.adjusted if one.adjusted is not None else one.p
    name = ": ".join(filter(None, (title, row.part, "" if alone else f"{row.first} → {row.second}")))
    return {
        "row": one_line(name, 160),
        "first": one_line(row.first, 60),
        "second": one_line(row.second, 60),
        "part": one_line(row.part, 60) or ALL,
        "difference": per_cent(one.difference),
        **ends(one),
        "said": difference_text(one),
        "p": p_text(one.p),
        "adjusted": p_text(one.adjusted),
        "n": one.n,
        "wins": one.wins,
        "losses": one.losses,
        "verdict": SURE if sure is not None and sure <= LEVEL else UNSURE,
    }
