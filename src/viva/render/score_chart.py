"""Charts of a run's scores: models with intervals, parts of an exam."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from viva.analysis.breakdown import Table
from viva.analysis.estimate import Estimate
from viva.benchmarks.rationale.combining import Q_A, Q_AR
from viva.render.plots import SAID_OF_RANGES, Axis, Drawn, Kinds, cells, dots, figures, subtitle
from viva.render.result import Result, headline_column

if TYPE_CHECKING:
    from viva.published import Neighbour

_FEW = 4
"""The most models whose dots share a line; more are cells of a heat map."""
_WIDE = 16
"""The most readable columns of a heat map."""
HERE, PUBLISHED = "this run", "published"


def scores_chart(results: Sequence[Result], beside: Sequence[Neighbour] = ()) -> Drawn:
    """Return the models of one exam by their score, best first, with 95 % intervals; published rows among them.

    Where the score is Q→AR, Q→A is a second mark in each model's row.
    """
    two = any(result.answer for result in results)
    rows = [
        {"model": result.model, "from": HERE, "of": of, **figures(cell)}
        for result in results
        for of, cell in ((Q_AR, result.overall), (Q_A, result.answer))
        if cell is not None and shown(cell)
    ]
    rows += [
        {"model": f"{neighbour.name} (published)", "from": PUBLISHED, "of": of, "score": 100 * score,
         "how": neighbour.condition}
        for neighbour in beside
        for of, score in ((Q_AR, neighbour.score), (Q_A, _answers(neighbour) if two else None))
        if score is not None
    ]  # fmt: skip
    rows.sort(key=lambda row: (row["of"] == Q_A, -float(row["least"] if row["score"] is None else row["score"])))
    compared = any(row["from"] == PUBLISHED for row in rows)
    origins = (HERE, PUBLISHED)
    return _dots(
        rows, "model", Kinds("of", (Q_A, Q_AR), offset=True) if two else Kinds("from", origins[: 1 + compared]),
        f"Scores on {results[0].exam}", f"{Q_A} the answer alone, {Q_AR} with its reasons" if two else "",
        "diamonds are published" if compared else "", line=results[0].pass_line, shapes=("from", origins),
    )  # fmt: skip


def _answers(neighbour: Neighbour) -> float | None:
    """Return a published row's Q→A over all questions."""
    return next((figure for (_, *cell), figure in neighbour.figures.items() if cell == ["Overall", Q_A]), None)


def parts_chart(results: Sequence[Result], index: int) -> Drawn | None:
    """Return one table of an exam, by its headline's column: dots with intervals for few models, a heat map for many.

    `index`: which of the results' tables. None where there is nothing to compare.
    """
    shown = [(result.tables[index], result.overall) for result in results if len(result.tables) > index]
    tables = [table for table, _ in shown]
    headline = headline_column(shown) if shown else 0
    rows = [row for table in tables for row in _parts(table, headline)]
    parts = list(dict.fromkeys(str(row["part"]) for row in rows))
    if len(parts) < 2:
        return None
    models = list(dict.fromkeys(str(row["model"]) for row in rows))
    table = tables[0]
    column = f", {table.columns[headline]}" if len(table.columns) > 1 else ""
    title = f"{table.title}{column} · {table.exam}"
    if len(models) <= _FEW:
        return _dots(rows, "part", Kinds("model", models, offset=True), title, line=results[0].pass_line)
    tall = len(parts) > _WIDE  # many parts are rows, so that their names can be read
    across, down = ("model", "part") if tall else ("part", "model")
    return cells(
        rows, across, down, Axis("score", "per cent"), "" if len(models) > _WIDE else ".1f", title=title,
        below=subtitle(rows, "per cent; intervals are in the tooltips"),
        text="range",
    )  # fmt: skip


def _dots(
    rows: list[dict[str, Any]],
    place: str,
    kinds: Kinds,
    title: str,
    *notes: str,
    line: float | None = None,
    **more: Any,
) -> Drawn:
    """Return dots of scores on an axis from 0, or of differences. `line`: the exam's pass line, as a share of 1."""
    signed = any((row.get("low") or row["score"] or 0) < 0 for row in rows)
    name = "" if line is None else f"the pass line, {100 * line:g} %"
    below = subtitle(
        rows, "per cent, with 95 % intervals", *notes, SAID_OF_RANGES if any("range" in row for row in rows) else "",
        name and f"dashed: {name}",
    )  # fmt: skip
    axis = Axis("score", "difference, points of per cent" if signed else "score, per cent", {"domain": [0, 100]})
    return dots(
        rows, place, axis, title=title, below=below, kinds=kinds, signed=signed,
        line=None if line is None or signed else (100 * line, name), **more,
    )  # fmt: skip


def shown(cell: Estimate) -> bool:
    """Return whether a cell can be drawn: it has a mean, or a range in its place."""
    return cell.mean is not None or cell.ranged


def _parts(table: Table, column: int) -> Iterator[dict[str, Any]]:
    for label, line in zip(table.rows, table.cells, strict=True):
        if shown(line[column]):
            yield {"part": label, "model": table.model, **figures(line[column])}
