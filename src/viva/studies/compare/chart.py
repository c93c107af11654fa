"""Charts of differences: a row for each comparison, with its interval and a line at 0."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from viva.render.plots import Axis, Drawn, Kinds, category, cells, dots, ends, per_cent
from viva.render.table import p_text
from viva.studies.compare.tables import Comparison, Row, held

ROW = 32
"""Height of a row of two lines, in pixels."""
AXIS = Axis("difference", ["difference: the second minus the first", "(points of per cent)"])
"""The title has two lines, since one is wider than some plots."""
NAMES: dict[str, Any] = {"labelExpr": "split(replace(datum.label, ' → ', ' →\\n'), '\\n')", "labelOffset": -7}
"""Labels of rows: a line for each model, since two names are too long for one; both centred on the row."""
MOST_ROWS = 28
"""The most comparisons drawn as rows: those of eight models; more are a matrix."""
ALL = "all"
_TITLE = "Differences, question by question"
_SHOWN = ("first", "second", "difference", "p", "p, adjusted", "questions", "sure")
"""Fields of a pair that the tooltips of a matrix show."""
_LEFT_OUT = "questions that one side has no score on are left out"
SURE, UNSURE = "more than chance", "may be chance"


def comparing_chart(comparisons: Sequence[Comparison]) -> Drawn:
    """Return differences in points with 95 % intervals, coloured if significant after adjusting."""
    every = [(comparison.title, row) for comparison in comparisons for row in comparison.rows]
    pairs = {(title, row.first, row.second) for title, row in every}
    alone = len(pairs) == 1 and any(row.part for _, row in every)
    rows = [_data(row, title if len(comparisons) > 1 else "", alone=alone)
            for title, row in every if row.found.difference is not None]  # fmt: skip
    below = [comparison.title for comparison in comparisons]
    left_out = [_LEFT_OUT] if any(row.found.unscored for _, row in every) else []
    if len(comparisons) == 1 and len(rows) > MOST_ROWS and all(row["part"] == ALL for row in rows):
        return _matrix(rows, "; ".join([*below, *left_out]))
    if alone:
        below += [" → ".join(pair[1:]) for pair in pairs]
    return dots(
        rows, "_row", AXIS, title=_TITLE, below=" · ".join([*below, *left_out]), signed=True, step=ROW,
        kinds=Kinds("verdict", [SURE, UNSURE], [category()[0], "#8a8a8a"]), names={} if alone else NAMES,
    )  # fmt: skip


def _matrix(rows: Sequence[dict[str, Any]], title: str) -> Drawn:
    """Return a matrix of all models: the column's score minus the row's, both ways round."""
    turned = [{**row, "first": row["second"], "second": row["first"], "difference": -row["difference"]} for row in rows]
    both = [{name: row[name] for name in _SHOWN} for row in (*rows, *turned)]
    gained = Counter[str]()
    for row in both:
        gained[row["second"]] += row["difference"]
    widest = max(abs(row["difference"]) for row in rows) or 1.0
    return cells(
        both, "second", "first", Axis("difference", "points of per cent", {"domain": [-widest, 0, widest]}), "+.0f",
        title=_TITLE, below=f"{title} · the column's score minus the row's, in points; bold: {SURE}",
        order=sorted(gained, key=lambda name: -gained[name]), bold="sure",
    )  # fmt: skip


def _data(row: Row, title: str, *, alone: bool) -> dict[str, Any]:
    difference, sure = row.found, held(row)
    name = ": ".join(filter(None, (title, row.part, "" if alone else f"{row.first} → {row.second}")))
    return {
        "_row": name,
        "first": row.first,
        "second": row.second,
        "part": row.part or ALL,
        "difference": per_cent(difference.difference),
        **ends(difference),
        "p": p_text(difference.p),
        "p, adjusted": p_text(difference.adjusted),
        "questions": difference.n,
        "second better": difference.wins,
        "first better": difference.losses,
        "sure": sure,
        "verdict": SURE if sure else UNSURE,
    }
