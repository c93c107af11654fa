"""The answers of a run, indexed, and its questions by models, filtered by the URL's choice."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from viva.analysis.raters.ratings import mean_of
from viva.engine.answerrecord import reply_text
from viva.pages.answerindex import AnswerIndex, Chosen, about, folded, words_of
from viva.pages.runs.gradedrows import Sheet
from viva.render.result import Result
from viva.runs.following import Reader, slug
from viva.types import Question, points_of


class Place(NamedTuple):
    """An answer: the number of its sheet, and its place in it."""

    sheet: int
    at: int

    def __str__(self) -> str:
        """Return the place as in URLs."""
        return f"{self.sheet + 1}.{self.at + 1}"


class Answers(AnswerIndex):
    """The answers of some sheets, indexed."""

    def __init__(self, sheets: Sequence[Sheet]) -> None:
        super().__init__()
        self._sheets = sheets
        groups: dict[tuple[int, int], list[int]] = {}
        for number, sheet in enumerate(sheets):  # the models of one exam
            groups.setdefault((id(sheet.evaluation.exam), sheet.evaluation.samples), []).append(number)
        self.places: list[Place] = [
            Place(number, index)
            for group in groups.values()
            for index in range(len(sheets[group[0]]))
            for number in group
        ]
        self.add([sheets[number].leveled(place) for number, place in self.places])
        self.finish()

    def find(self, chosen: Chosen, reader: Reader) -> list[Place]:
        """Return the answers that match a choice, in its order."""
        items, words = self.chosen(chosen.picks), words_of(chosen.text)
        if words:
            texts = ((item, self._text(self.places[item], reader)) for item in items)
            items = np.array([item for item, text in texts if all(word in text for word in words)], dtype=int)
        return [self.places[item] for item in self.ordered(items, chosen.order)]

    def _text(self, place: Place, reader: Reader) -> str:
        """Return the text of an answer that a search covers."""
        sheet, number = self._sheets[place.sheet], place.at
        question, sample = sheet.question(number)
        entry = reader(sheet.key(number))
        reply = entry.text if entry else ""
        if entry and entry.likelihoods:  # the reply is the likelihoods of the continuations
            reply = reply_text(sheet.evaluation.request(question, sample), entry.response())
        return folded("\n".join((about(question), reply, sheet.rows[number].answer, question.answer or "")))

    def questions(self, chosen: Chosen) -> set[tuple[int, int]]:
        """Return the questions with an answer that matches a choice, as (sheet, place of the first answer)."""
        left = (self.places[item] for item in self.chosen(chosen.picks))
        return {(number, place - place % self._sheets[number].evaluation.samples) for number, place in left}


ROWS = 500
"""Questions on a page."""


class Cell(Struct, frozen=True):
    """A model's result on a question, over its samples."""

    first: int
    """The place of the first sample in its sheet."""
    states: Sequence[str]
    """The outcome of each sample."""
    points: float | None
    """The mean, from 0 to 1."""

    @property
    def state(self) -> str:
        """The common outcome of all samples; "partly" if they differ."""
        return self.states[0] if len(set(self.states)) == 1 else "partly"


class QuestionRow(Struct, frozen=True):
    """A question with a cell for each sheet that is compared."""

    question: Question
    cells: Sequence[Cell]
    points: float | None
    """The mean over the cells."""
    spread: float
    """The standard deviation over the cells; 0 where they agree."""

    @property
    def compared(self) -> bool:
        """Whether at least two cells have points, so that there is a spread."""
        return sum(cell.points is not None for cell in self.cells) > 1

    @property
    def pair(self) -> tuple[int, int]:
        """The first columns with the most and with the least points; the first two where all have the same."""
        known = [(cell.points, index) for index, cell in enumerate(self.cells) if cell.points is not None]
        if not self.spread:
            return 0, min(1, len(self.cells) - 1)
        return min((-points, index) for points, index in known)[1], min(known)[1]

    @property
    def difference(self) -> float | None:
        """Points of the second cell less points of the first; None where one has none."""
        first, second, *_ = (*(cell.points for cell in self.cells), None, None)
        return None if first is None or second is None else second - first

    @property
    def places(self) -> list[int]:
        """The place of the shown answer in each sheet: of several samples the first whose outcome differs."""
        by_sample = zip(*(cell.states for cell in self.cells), strict=False)
        shown = next((sample for sample, states in enumerate(by_sample) if len(set(states)) > 1), 0)
        return [cell.first + shown for cell in self.cells]

    @property
    def outcomes(self) -> list[str]:
        """The outcomes of the shown answers."""
        return [cell.states[place - cell.first] for cell, place in zip(self.cells, self.places, strict=True)]

    @property
    def change(self) -> str:
        """The change from the first cell to the second: a word of `CHANGES`."""
        difference = self.difference
        if difference is None:
            return "unscored" if len(set(self.outcomes)) > 1 else "same"
        return "worse" if difference < 0 else "better" if difference else "same"


class Column(Struct, frozen=True):
    """A column of the matrix: a model."""

    number: int
    """Number of its sheet."""
    model: str
    result: Result
    """Its result as on the run's own page: weighted as in the benchmark; of an adaptive run an estimate."""


class Matrix(Struct, frozen=True):
    """One exam's questions by models, the best model first."""

    exam: str
    columns: Sequence[Column]
    rows: Sequence[QuestionRow]
    """The filtered questions."""
    total: int
    """Number of questions of the exam."""


def matrix(answers: Answers, sheets: Sequence[Sheet], results: Sequence[Result], chosen: Chosen) -> Matrix:
    """Return the questions of the chosen exam (by default the first) by models.

    `results`: one a sheet, in their order.
    """
    labels = list(dict.fromkeys(sheet.evaluation.label for sheet in sheets))
    exam = next((label for label in labels if slug(label) == chosen.pick("exam")), labels[0] if labels else "")
    own = [number for number, sheet in enumerate(sheets) if sheet.evaluation.label == exam]
    own.sort(key=lambda number: results[number].overall.order, reverse=True)
    columns = [sheets[number] for number in own]
    rows = wanted(question_rows(columns), answers, own, chosen)
    if chosen.order == "spread":
        rows.sort(key=lambda row: -row.spread)
    elif chosen.order in ("lowest", "highest"):
        away = 2.0 if chosen.order == "lowest" else -1.0  # questions without points come last
        rows.sort(key=lambda row: away if row.points is None else row.points, reverse=chosen.order == "highest")
    return Matrix(
        exam=exam,
        columns=[Column(number, sheets[number].evaluation.model.name, results[number]) for number in own],
        rows=rows,
        total=len(columns[0].questions) if columns else 0,
    )


def question_rows(sheets: Sequence[Sheet]) -> list[QuestionRow]:
    """Return the questions that all of these sheets asked, matched by their names, in the order of the first."""
    cells = [
        {question.id: cell for question, cell in zip(sheet.questions, _cells(sheet), strict=True)} for sheet in sheets
    ]
    return [
        _row(question, [known[question.id] for known in cells])
        for question in (sheets[0].questions if sheets else ())
        if all(question.id in known for known in cells)
    ]


def _cells(sheet: Sheet) -> Iterator[Cell]:
    """Yield a model's result on each question of a sheet."""
    samples = sheet.evaluation.samples
    for first in range(0, len(sheet.rows), samples):
        rows = sheet.rows[first : first + samples]
        yield Cell(first, [row.outcome for row in rows], mean_of([points_of(row.outcome, row.value) for row in rows]))


def _row(question: Question, cells: Sequence[Cell]) -> QuestionRow:
    known = [cell.points for cell in cells if cell.points is not None]
    if not known or min(known) == max(known):
        return QuestionRow(question, cells, known[0] if known else None, 0.0)
    mean = fmean(known)
    return QuestionRow(question, cells, mean, math.dist(known, [mean] * len(known)) / math.sqrt(len(known)))


def wanted(rows: Iterable[QuestionRow], answers: Answers, numbers: Sequence[int], chosen: Chosen) -> list[QuestionRow]:
    """Return the rows that match a choice; `numbers`: those of their cells' sheets. Searched words must be in the
    question.
    """
    left, words = answers.questions(chosen), words_of(chosen.text)
    return [
        row
        for row in rows
        if (not chosen.show or (row.spread if chosen.show == "disagree" else row.change == chosen.show))
        and any((number, cell.first) in left for number, cell in zip(numbers, row.cells, strict=True))
        and (not words or all(word in folded(about(row.question)) for word in words))
    ]
