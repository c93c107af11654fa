"""Anchor questions and what they predict, as tables and as data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.anchors import Line, Validation, Way
from viva.reports.items import ITEM_WORDS
from viva.reports.printing import StudyResult
from viva.reports.result import Grid, percent

COLUMNS = (
    *("question", "weight", "facility", "discrimination", "exam", "of_questions", "models"),
    *("intercept", "slope", "lowest", "highest", "error"),
)
"""Of the file: a row an anchor; from `exam` on the same in every row, all that a prediction takes."""
LEGEND = (
    "Error: root mean square of predicted − true full score over models, in points of 100, each model predicted from "
    "the others; ± its standard error over random draws (the models stay the same). Worst: the largest, on average."
)

_ROUNDING = 1e-9


class Anchor(Struct, frozen=True, kw_only=True):
    """One of them. `discrimination` is None where it is not defined."""

    question: str
    weight: float
    facility: float
    discrimination: float | None


class AnchorSet(Struct, frozen=True, kw_only=True):
    """The chosen anchors with all that a prediction takes. Scores are shares of 1."""

    exam: str
    anchors: tuple[Anchor, ...]
    line: Line
    lowest: float
    highest: float
    error: float
    """Cross-validated, root mean square."""
    models: int
    of_questions: int


class Prediction(Struct, frozen=True, kw_only=True):
    """What the anchors say of a model's full score."""

    model: str
    source: str
    value: float
    low: float
    high: float
    anchor_mean: float
    answered: int
    of: int
    full: float | None = None
    """Its true full score, where the run has all questions."""


def anchor_grids(found: AnchorSet, validation: Validation, listed: int) -> list[Grid]:
    """The errors side by side, then the anchors."""
    ways = (validation.anchors, validation.plain, validation.calibrated, validation.nothing)
    errors = tuple((_named(way, found), *_way(way, validation.rounds)) for way in ways)
    title = f"Predicting the full score from {len(found.anchors):,} of {found.of_questions:,} questions · {found.exam}"
    grids = [Grid(title, ("asked and read", "error", "±", "bias", "worst"), errors)]
    if listed:
        rows = tuple(
            (
                one.question,
                f"{100 * one.weight:.2f}",
                percent(one.facility),
                "–" if one.discrimination is None else f"{one.discrimination:.3f}",
            )
            for one in found.anchors[:listed]
        )
        more = (
            "" if len(found.anchors) <= listed else f" ({listed:,} of {len(found.anchors):,}; --out FILE.csv has all)"
        )
        header = ("question", "weight, %", "facility", "discrimination")
        grids.append(Grid(f"Anchors · {found.exam}{more}", header, rows))
    return grids


def _named(way: Way, found: AnchorSet) -> str:
    return f"{len(found.anchors):,} {way.name}" if not way.name.startswith("nothing") else way.name


def _way(way: Way, rounds: int) -> tuple[str, str, str, str]:
    error = f"{100 * _standard_error(way, rounds):.2f}" if way.spread else "–"
    return f"{100 * way.error:.2f}", error, f"{100 * way.bias:+.2f}".replace("-", "−"), f"{100 * way.worst:.2f}"


def _standard_error(way: Way, rounds: int) -> float:
    return way.spread / math.sqrt(rounds)


def anchor_notes(found: AnchorSet, validation: Validation) -> list[str]:
    """How the error was found, and in plain words whether choosing helped."""
    v = validation
    notes = [
        f"{v.models} models in {v.folds} parts: the anchors are chosen and their line is drawn anew without each part, "
        f"{v.rounds} times with other random numbers.",
        f"Full score = {100 * found.line.intercept:.2f} + {found.line.slope:.3f} × the weighted anchor mean.",
    ]
    rivals = (
        (v.plain, "random questions and their plain mean"),
        (v.calibrated, "random questions read by the same line"),
    )
    for other, words in rivals:
        notes.append(_compared(v, other, words))
    if v.anchors.error >= v.nothing.error:
        notes.append(
            "Asking nothing and calling the model average predicts as well: these models are too alike, or too few, "
            "for so few anchors. Take more."
        )
    if v.models < 10:
        notes.append(f"An error found with {v.models} models is itself known to a factor of {_factor(v.models):.1f}.")
    return notes


def _compared(v: Validation, other: Way, words: str) -> str:
    away = other.error - v.anchors.error
    doubt = 2 * math.hypot(_standard_error(v.anchors, v.rounds), _standard_error(other, v.rounds))
    if away > doubt:
        return (
            f"The anchors do better than {words}: {100 * v.anchors.error:.2f} against {100 * other.error:.2f} points."
        )
    if away < -doubt:
        return f"The anchors do WORSE than {words}: {100 * v.anchors.error:.2f} against {100 * other.error:.2f} points."
    return f"The anchors do no better than {words}, beyond chance."


def _factor(models: int) -> float:
    """The upper end of a 95 % interval of a standard deviation from so many values, over the value."""
    from scipy.special import chdtri

    degrees = models - 1
    return math.sqrt(degrees / float(chdtri(degrees, 0.975)))


@dataclass(frozen=True, repr=False)
class Anchors(StudyResult):
    """Chosen anchors, and how well they predict."""

    found: AnchorSet
    validation: Validation
    more: tuple[str, ...]
    """Notes of where the scores come from."""
    listed: int
    """Anchors that the table lists at most."""
    words = ITEM_WORDS

    def tables(self) -> list[Grid]:
        """The errors side by side, then the anchors."""
        return anchor_grids(self.found, self.validation, self.listed)

    def closing(self) -> list[str]:
        """Legend and notes."""
        return [LEGEND, *self._notes()]

    def _notes(self) -> list[str]:
        return [*self.more, *anchor_notes(self.found, self.validation)]

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """The file that `viva run --questions` and `viva item-analysis --predict` take."""
        one = self.found
        same = (one.exam, one.of_questions, one.models, *(one.line.intercept, one.line.slope), one.lowest, one.highest)
        return COLUMNS, [
            (each.question, each.weight, each.facility, each.discrimination, *same, one.error) for each in one.anchors
        ]

    def data(self) -> object:
        """Anchors, their validation, notes."""
        return {"anchors": self.found, "validation": self.validation, "notes": self._notes()}


@dataclass(frozen=True, repr=False)
class Predictions(StudyResult):
    """Full scores predicted from anchors."""

    found: tuple[Prediction, ...]
    anchors: AnchorSet
    words = ITEM_WORDS

    def tables(self) -> list[Grid]:
        """A row a model."""
        return prediction_grids(self.found, self.anchors)

    def closing(self) -> list[str]:
        """What the interval is, and where it does not hold."""
        return prediction_notes(self.found, self.anchors)

    def records(self) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
        """A row a model, unrounded."""
        header = ("exam", "model", "source", "predicted", "low", "high", "anchor_mean", "answered", "anchors", "full")
        return header, [
            (
                *(self.anchors.exam, one.model, one.source, one.value, one.low, one.high),
                *(one.anchor_mean, one.answered, one.of, one.full),
            )
            for one in self.found
        ]

    def data(self) -> object:
        """Predictions and notes."""
        return {"exam": self.anchors.exam, "predictions": list(self.found), "notes": self.closing()}


def prediction_grids(found: Sequence[Prediction], anchors: AnchorSet) -> list[Grid]:
    """A row a model."""
    known = any(one.full is not None for one in found)
    header = (
        "model",
        "predicted full score",
        "anchor mean",
        "anchors scored",
        *(("true full score",) if known else ()),
    )
    rows = tuple(
        (
            one.model,
            f"{percent(one.value)} [{percent(one.low)}, {percent(one.high)}]",
            percent(one.anchor_mean),
            f"{one.answered:,} of {one.of:,}",
            *((percent(one.full),) if known else ()),
        )
        for one in found
    )
    title = f"Full scores predicted from {len(anchors.anchors):,} anchors · {anchors.exam}"
    return [Grid(title, header, rows)]


def prediction_notes(found: Sequence[Prediction], anchors: AnchorSet) -> list[str]:
    """What the interval is, and where it does not hold."""
    notes = [
        f"[…]: 95 %, from the cross-validated error of {100 * anchors.error:.2f} points over {anchors.models} models "
        f"(Student's t). It holds for models like these, asked in the same way, about all {anchors.of_questions:,} "
        "questions."
    ]
    for one in found:
        if not anchors.lowest - _ROUNDING <= one.anchor_mean <= anchors.highest + _ROUNDING:
            notes.append(
                f"{one.model}: its anchor mean {percent(one.anchor_mean)} lies outside what the known models had "
                f"({percent(anchors.lowest)} to {percent(anchors.highest)}): the line is a guess there."
            )
        if one.answered < one.of:
            notes.append(f"{one.model}: {one.of - one.answered:,} anchors without a score are left out of its mean.")
    return notes
