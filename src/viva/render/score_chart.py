"""A run's scores as pictures: models with their intervals, parts of an exam, outcomes, languages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.breakdown import Table
from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE
from viva.benchmarks.rationale.combining import Q_A, Q_AR
from viva.render.result import Result, headline_column
from viva.render.theme import MARK, SIGNED, daggers, mark_of, plot, subtitle, tips, zero_line
from viva.visible import one_line

if TYPE_CHECKING:
    import altair as alt

    from viva.published import Neighbour

    Drawn = alt.Chart | alt.LayerChart | alt.FacetChart

_NAME = 60
"""Characters of a model's name."""
_STEP = {"step": 26}
_FEW = 4
"""Models whose dots can share a line; more are cells of a heat map."""
_WIDE = 16
"""Columns of a heat map that can be read."""
_SPAN = 100.0
_SAID = "per cent, with 95 % intervals"
_AXIS, _DIFFERENCE = "score, per cent", "difference, points of per cent"
HERE, PUBLISHED = "this run", "published"


def scores_chart(results: Sequence[Result], beside: Sequence[Neighbour] = ()) -> Drawn:
    """The models of one exam by their score, best first, with 95 % intervals; published rows among them.

    Where the score is Q→AR, Q→A is a second mark in each model's row.
    """
    import altair as alt

    two = any(result.answer for result in results)
    rows = [
        {"model": _name(result.model), "from": HERE, "of": of, **_numbers(cell)}
        for result in results
        for of, cell in ((Q_AR, result.overall), (Q_A, result.answer))
        if cell is not None and shown(cell)
    ]
    rows += [
        {"model": _name(f"{one.name} (published)"), "from": PUBLISHED, "of": of, "score": 100 * score,
         "how": one.condition}
        for one in beside
        for of, score in ((Q_AR, one.score), (Q_A, _answers(one) if two else None))
        if score is not None
    ]  # fmt: skip
    rows.sort(key=lambda row: (row["of"] == Q_A, -float(row["least"] if row["score"] is None else row["score"])))
    order = list(dict.fromkeys(str(row["model"]) for row in rows))
    compared = any(row["from"] == PUBLISHED for row in rows)
    title = alt.TitleParams(
        f"Scores on {results[0].exam}", subtitle=subtitle(
            rows, _SAID, f"{Q_A} the answer alone, {Q_AR} with its reasons" if two else "",
            "diamonds are published" if compared else "",
            *_said_of_ranges(rows), _said_of_line(results[0].pass_line),
        ),
    )  # fmt: skip
    kinds, field = ([Q_A, Q_AR], "of") if two else ([HERE, PUBLISHED], "from")
    common = plot(rows, title=title, width="container").encode(
        y=alt.Y("model:N", sort=order, title=None),
        yOffset=alt.YOffset("of:N", sort=kinds) if two else alt.Undefined,
        tooltip=_tips("model", "from", *(["of"] if two else []), "score", *_if_ranges(rows), "95 %", "answers", "how"),
    )
    where = alt.Color(
        f"{field}:N", title=None, scale=alt.Scale(domain=kinds), legend=alt.Legend() if two or compared else None
    )
    shapes = alt.Scale(domain=[HERE, PUBLISHED], range=["circle", "diamond"])
    kind = alt.Shape("from:N", title=None, scale=shapes, legend=alt.Legend() if compared else None)
    return alt.layer(
        *_pass_line(results[0].pass_line),
        *_marks(common.encode(color=where), rows, 2, 80 if two else 110, shape=kind),
    ).properties(height={"step": 13, **_OFFSET} if two else _STEP)


def _answers(one: Neighbour) -> float | None:
    """A published row's Q→A over all questions."""
    return next((figure for (_, *cell), figure in one.figures.items() if cell == ["Overall", Q_A]), None)


def parts_chart(results: Sequence[Result], index: int) -> Drawn | None:
    """One table of an exam, by its headline's column: dots with intervals for few models, a heat map for many.

    `index`: which of the results' tables. None where there is nothing to compare.
    """
    import altair as alt

    shown = [(result.tables[index], result.overall) for result in results if len(result.tables) > index]
    tables = [table for table, _ in shown]
    at = headline_column(shown) if shown else 0
    rows = [row for table in tables for row in _parts(table, at)]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    if len(parts) < 2:
        return None
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    table = tables[0]
    column = f", {table.columns[at]}" if len(table.columns) > 1 else ""
    title = alt.TitleParams(
        f"{one_line(table.title, 80)}{column} · {table.exam}",
        subtitle=subtitle(rows, _SAID, *_said_of_ranges(rows), _said_of_line(results[0].pass_line)),
    )
    if len(models) > _FEW:
        return _heat(rows, parts, models, title)
    common = plot(rows, title=title, width="container").encode(
        y=alt.Y("part:N", sort=parts, title=None),
        tooltip=_tips("part", "model", "score", *_if_ranges(rows), "95 %", "answers"),
    )
    height: dict[str, Any] = {"step": 22}
    if len(models) > 1:
        common = common.encode(
            color=alt.Color("model:N", sort=models, title=None), yOffset=alt.YOffset("model:N", sort=models)
        )
        height = {"step": 13, **_OFFSET}
    return alt.layer(
        *([zero_line(_DIFFERENCE)] if _signed(rows) else _pass_line(results[0].pass_line)),
        *_marks(common, rows, 1.6, 62),
    ).properties(height=height)


def languages_chart(results: Sequence[Result]) -> Drawn | None:
    """One benchmark in several languages: the models' scores beside each other. None where there is one only."""
    import altair as alt

    languages = list(dict.fromkeys(result.language for result in results))
    if len(languages) < 2:
        return None
    rows = [
        {"model": _name(result.model), "language": result.language, **_numbers(result.overall)}
        for result in results
        if shown(result.overall)
    ]
    title = alt.TitleParams(
        f"Languages side by side · {results[0].benchmark}", subtitle=subtitle(rows, _SAID, *_said_of_ranges(rows))
    )
    common = plot(rows, title=title, width="container", height={"step": 16, **_OFFSET}).encode(
        y=alt.Y("model:N", sort=list(dict.fromkeys(str(row["model"]) for row in rows)), title=None),
        yOffset=alt.YOffset("language:N", sort=languages),
        color=alt.Color("language:N", sort=languages, title=None),
        tooltip=_tips("model", "language", "score", *_if_ranges(rows), "95 %", "answers"),
    )
    return alt.layer(*_marks(common, rows, 2, 90))


_OFFSET: dict[str, Any] = {"for": "offset"}


def shown(cell: Estimate) -> bool:
    """Whether there is anything to draw: a mean, or a range in its place."""
    return cell.mean is not None or cell.ranged


def _if_ranges(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return ("range",) if any("range" in row for row in rows) else ()


def _said_of_ranges(rows: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    return (f"{UNSURE} a range (a thick bar) in place of a mean",) if _if_ranges(rows) else ()


def _marks(
    common: alt.Chart, rows: Sequence[dict[str, Any]], line: float, size: float, **point: Any
) -> Iterator[alt.Chart]:
    """Intervals, scores as dots, and of a score that is a range a thick bar from its floor to its ceiling."""
    score = _per_cent("score", rows)
    yield common.mark_rule(strokeWidth=line).encode(x=_per_cent("low", rows), x2="high:Q")
    if _if_ranges(rows):
        there = common.transform_filter("isValid(datum.least)")
        yield there.mark_rule(strokeWidth=7, opacity=0.4).encode(x=_per_cent("least", rows), x2="most:Q")
    yield common.mark_point(size=size, opacity=1).encode(x=score, **point)
    yield from daggers(common, x=score)


def _heat(rows: list[dict[str, Any]], parts: list[str], models: list[str], title: Any) -> Drawn:
    """Models by parts; many parts go down the page, where their names can be read."""
    import altair as alt

    title.subtitle = subtitle(rows, "per cent; intervals are in the tooltips")
    tall = len(parts) > _WIDE
    across, down = ("model", "part") if tall else ("part", "model")
    order = {"part": parts, "model": models}
    slanted = alt.Axis(labelAngle=-40, labelLimit=140, orient="top" if tall else "bottom")
    common = plot(rows, title=title, width="container", height={"step": 20} if tall else _STEP).encode(
        x=alt.X(f"{across}:N", sort=order[across], title=None, axis=slanted),
        y=alt.Y(f"{down}:N", sort=order[down], title=None),
        tooltip=_tips("part", "model", "score", *_if_ranges(rows), "95 %", "answers"),
    )
    cells = common.mark_rect().encode(color=alt.Color("score:Q", title="per cent"))
    if len(models) > _WIDE:
        return alt.layer(cells, *daggers(common))
    means = [row["score"] for row in rows if row["score"] is not None]
    lowest, highest = min(means, default=0.0), max(means, default=0.0)
    dark = alt.condition(
        alt.datum.score > lowest + 0.6 * (highest - lowest), alt.value("#ffffff"), alt.value("#1e2125")
    )
    labelled = common.transform_filter("isValid(datum.score)").transform_calculate(
        shown=f"format(datum.score, '.1f') + datum.{MARK}"
    )
    drawn = [cells, labelled.mark_text(fontSize=11).encode(text="shown:N", color=dark)]
    if _if_ranges(rows):
        ranges = common.transform_filter("isValid(datum.range)")
        drawn.append(ranges.mark_text(fontSize=10).encode(text=alt.Text("range:N")))
    return alt.layer(*drawn)


def _pass_line(line: float | None) -> list[alt.Chart]:
    """A dashed rule at the exam's pass line, where it has one."""
    import altair as alt

    if line is None:
        return []
    name = f"pass line, {100 * line:g} %"
    at = plot([{"at": 100 * line, "line": name}])
    return [
        at.mark_rule(strokeDash=[4, 3], opacity=0.7).encode(x=alt.X("at:Q", title=_AXIS), tooltip=alt.Tooltip("line:N"))
    ]


def _said_of_line(line: float | None) -> str:
    return "" if line is None else f"dashed: the pass line, {100 * line:g} %"


def _parts(table: Table, at: int) -> Iterator[dict[str, Any]]:
    for label, cells in zip(table.rows, table.cells, strict=True):
        if shown(cells[at]):
            yield {"part": one_line(label, _NAME), "model": _name(table.model), **_numbers(cells[at])}


def _numbers(cell: Estimate) -> dict[str, Any]:
    if not shown(cell):
        return {"score": None}
    found: dict[str, Any] = {
        "score": None if cell.mean is None else round(_SPAN * cell.mean, 3),
        "answers": cell.n,
    }
    if cell.ranged:
        least, most = _SPAN * cell.floor, _SPAN * cell.ceiling
        found |= {"least": round(least, 3), "most": round(most, 3), "range": f"{least:.0f}–{most:.0f}{UNSURE}"}
    else:
        found |= mark_of(complete=cell.complete)
    if cell.low is not None and cell.high is not None:
        low, high = _SPAN * cell.low, _SPAN * cell.high
        found |= {"low": round(low, 3), "high": round(high, 3), "95 %": f"{low:.2f} to {high:.2f}"}
    return found


def _per_cent(field: str, rows: Sequence[dict[str, Any]]) -> Any:
    import altair as alt

    if _signed(rows):
        return alt.X(f"{field}:Q", title=_DIFFERENCE).axis(labelExpr=SIGNED)
    return alt.X(f"{field}:Q", title=_AXIS, scale=alt.Scale(domain=[0, 100]))


def _signed(rows: Sequence[dict[str, Any]]) -> bool:
    """Whether these are differences: a score is never below 0."""
    return any((row.get("low") or row["score"] or 0) < 0 for row in rows)


def _tips(*names: str) -> list[Any]:
    forms = {"score": ".2f", "answers": ","}
    return tips(*((f"{name}:Q", name, forms[name]) if name in forms else f"{name}:N" for name in names))


def _name(text: str) -> str:
    return one_line(text, _NAME)
