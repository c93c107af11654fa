"""Questions by models: who got what, and where models disagree."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, pstdev

from msgspec import Struct

from viva.pages.runs import answerfilters
from viva.pages.runs.answerfilters import Chosen
from viva.pages.runs.folders import slug
from viva.pages.runs.gradedrows import Sheet
from viva.render.result import Result
from viva.types import Question, points_of

ROWS = 500
"""Questions on a page."""


class Cell(Struct, frozen=True):
    """What a model got for a question, over its samples."""

    state: str
    """The outcome of all samples; "partly" where they differ."""
    points: float | None
    """The mean, from 0 to 1."""


class MatrixRow(Struct, frozen=True):
    """A question with a cell for each model, in the order of the columns."""

    number: int
    """Which question of the exam, from 0."""
    question: Question
    cells: Sequence[Cell]
    points: float | None
    """The mean over the models."""
    spread: float
    """The standard deviation over the models; 0 where they agree."""

    @property
    def compared(self) -> bool:
        """Whether at least two models have points, so that there is a spread."""
        return sum(cell.points is not None for cell in self.cells) > 1

    @property
    def pair(self) -> tuple[int, int]:
        """The first columns with the most and with the least points; the first two where all have the same."""
        known = [(cell.points, at) for at, cell in enumerate(self.cells) if cell.points is not None]
        if not self.spread:
            return 0, min(1, len(self.cells) - 1)
        return min((-points, at) for points, at in known)[1], min(known)[1]


class Column(Struct, frozen=True):
    """A model."""

    number: int
    """Of its sheet."""
    model: str
    result: Result
    """Its score as the run's own page has it: weighted as the benchmark does, of an adaptive run an estimate."""


class Matrix(Struct, frozen=True):
    """One exam's questions by models, the best model first."""

    exams: Sequence[tuple[str, str]]
    """(word for the address, label) of every exam of the run."""
    exam: str
    columns: Sequence[Column]
    rows: Sequence[MatrixRow]
    """What the filter leaves."""
    total: int
    """Questions of the exam."""


def matrix(sheets: Sequence[Sheet], results: Sequence[Result], chosen: Chosen) -> Matrix:
    """Return the questions of an exam (the first one, where none is chosen) by the models that were asked them.

    `results`: one a sheet, in their order.
    """
    labels = list(dict.fromkeys(sheet.evaluation.label for sheet in sheets))
    exam = next((one for one in labels if slug(one) == chosen.exam), labels[0] if labels else "")
    own = [(number, sheet) for number, sheet in enumerate(sheets) if sheet.evaluation.label == exam]
    columns = [(number, sheet, cells_of(sheet)) for number, sheet in own]
    columns.sort(key=lambda one: results[one[0]].overall.order, reverse=True)
    rows = []
    for number, question in enumerate(own[0][1].questions if own else ()):
        row = _row(number, question, [cells[number] for _, _, cells in columns])
        if _wanted(row, chosen, [sheet for _, sheet, _ in columns]):
            rows.append(row)
    if chosen.order == "spread":
        rows.sort(key=lambda row: -row.spread)
    elif chosen.order:
        away = 2.0 if chosen.order == "hardest" else -1.0  # what has no points comes last
        rows.sort(key=lambda row: away if row.points is None else row.points, reverse=chosen.order == "easiest")
    return Matrix(
        exams=[(slug(label), label) for label in labels],
        exam=exam,
        columns=[Column(number, sheet.evaluation.model.name, results[number]) for number, sheet, _ in columns],
        rows=rows,
        total=len(own[0][1].questions) if own else 0,
    )


def cells_of(sheet: Sheet) -> list[Cell]:
    """Return what a model got for each question of a sheet."""
    samples = sheet.evaluation.samples
    states = [answerfilters.state(sheet, place) for place in range(len(sheet.rows))]
    points = [points_of(row.outcome, row.value) for row in sheet.rows]
    if samples == 1:
        return [Cell(*one) for one in zip(states, points, strict=True)]
    cells = []
    for first in range(0, len(states), samples):
        own = set(states[first : first + samples])
        cells.append(Cell(own.pop() if len(own) == 1 else "partly", _mean(points[first : first + samples])))
    return cells


def _mean(points: Sequence[float | None]) -> float | None:
    known = [one for one in points if one is not None]
    return fmean(known) if known else None


def _row(number: int, question: Question, cells: Sequence[Cell]) -> MatrixRow:
    known = [cell.points for cell in cells if cell.points is not None]
    same = not known or min(known) == max(known)
    return MatrixRow(number, question, cells, fmean(known) if known else None, 0.0 if same else pstdev(known))


def _wanted(row: MatrixRow, chosen: Chosen, sheets: Sequence[Sheet]) -> bool:
    if (chosen.show == "disagree" and not row.spread) or not answerfilters.is_asked(row.question, chosen):
        return False
    return any(
        answerfilters.has_outcome(sheet, place, chosen)
        for sheet in sheets
        for samples in (sheet.evaluation.samples,)
        for place in range(row.number * samples, (row.number + 1) * samples)
    )
