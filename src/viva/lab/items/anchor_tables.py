"""Anchor questions and what they predict, as tables and as data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec import Struct

from viva.analysis.wording import percent
from viva.errors import flag
from viva.lab.items.anchor_error import Validation, Way
from viva.lab.items.tables import ITEM_WORDS
from viva.render.printing import Records, StudyResult
from viva.render.table import Grid

COLUMNS = (
    *("question", "share", "facility", "discrimination", "curve", "exam", "of_questions", "models", "families"),
    *("lowest", "highest", "error", "inflation", "scatter", "rest"),
)
"""Of the file: a row an anchor; from `exam` on the same in every row, all that a prediction takes. Curves (`curve`, and
`rest`, what all other questions add) are values at the abilities of `curves.GRID`."""
LEGEND = (
    "Error: root mean square of predicted − true full score over models, in points of 100, each family predicted from "
    "the others; ±: standard deviation over draws of questions (the models stay the same). Worst: the largest, on "
    "average."
)

_ROUNDING = 1e-9


class Anchor(Struct, frozen=True, kw_only=True):
    """One of them. `discrimination` is None where it is not defined."""

    question: str
    share: float
    """Of the full score."""
    facility: float
    discrimination: float | None
    curve: tuple[float, ...]
    """How likely a model is to answer it, by ability."""


class AnchorSet(Struct, frozen=True, kw_only=True):
    """The chosen anchors with all that a prediction takes. Scores are shares of 1."""

    exam: str
    anchors: tuple[Anchor, ...]
    rest: tuple[float, ...]
    """What all other questions are expected to add, by ability."""
    scatter: float
    lowest: float
    """Full score of the worst known model."""
    highest: float
    error: float
    """Cross-validated, root mean square."""
    inflation: float
    """By which an interval is wider than the reading says."""
    families: int
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


def _named(way: Way, found: AnchorSet) -> str:
    return f"{len(found.anchors):,} {way.name}" if not way.name.startswith("nothing") else way.name


def _way(way: Way) -> tuple[str, str, str, str]:
    spread = f"{100 * way.spread:.2f}" if way.spread else "–"
    return f"{100 * way.error:.2f}", spread, f"{100 * way.bias:+.2f}".replace("-", "−"), f"{100 * way.worst:.2f}"


def _compared(v: Validation, other: Way, words: str) -> str:
    better = sum(error > v.halves.error for error in other.errors)
    how = "better than" if 2 * better > len(other.errors) else "NO better than most of"
    return (
        f"The anchors, by that, do {how} {words}: {100 * v.halves.error:.2f} against {100 * other.error:.2f} points; "
        f"of {len(other.errors)} random sets, {len(other.errors) - better} did as well."
    )


def _factor(families: int) -> float:
    """The upper end of a 95 % interval of a standard deviation from so many values, over the value."""
    from scipy.special import chdtri

    degrees = families - 1
    return math.sqrt(degrees / float(chdtri(degrees, 0.975)))


def _written(curve: Sequence[float]) -> str:
    return " ".join(f"{value:.5f}" for value in curve)


@dataclass(frozen=True, repr=False)
class Anchors(StudyResult):
    """Chosen anchors, and how well they predict."""

    found: AnchorSet
    validation: Validation
    more: tuple[str, ...]
    """Notes of where the scores come from."""
    listed: int
    """Anchors that the table lists at most."""
    announced = True
    words = ITEM_WORDS

    def tables(self) -> list[Grid]:
        """Return the errors side by side, then the anchors."""
        found, validation, listed = self.found, self.validation, self.listed
        ways = (validation.anchors, validation.halves, validation.plain, validation.calibrated, validation.nothing)
        errors = tuple((_named(way, found), *_way(way)) for way in ways)
        title = (
            f"Predicting the full score from {len(found.anchors):,} of {found.of_questions:,} questions · {found.exam}"
        )
        grids = [Grid(title, ("asked and read", "error", "±", "bias", "worst"), errors)]
        if listed:
            rows = tuple(
                (
                    one.question,
                    percent(one.facility),
                    "–" if one.discrimination is None else f"{one.discrimination:.3f}",
                )
                for one in found.anchors[:listed]
            )
            more = (
                ""
                if len(found.anchors) <= listed
                else f" ({listed:,} of {len(found.anchors):,}; {flag('out', 'FILE')}.csv has all)"
            )
            header = ("question", "facility", "discrimination")
            grids.append(Grid(f"Anchors · {found.exam}{more}", header, rows))
        return grids

    def closing(self) -> list[str]:
        """Legend and notes."""
        return [LEGEND, *self._notes()]

    def _notes(self) -> list[str]:
        v = self.validation
        best, worst = (f"{100 * one:.2f}" for one in (min(v.halves.errors), max(v.halves.errors)))
        notes = [
            *self.more,
            f"{v.models} models of {v.families} families in {v.folds} parts: curves, choice and reading are made "
            "without the part that is predicted.",
            f"Luck of the choice: among random halves of the questions, {len(v.halves.errors)} times, the anchors err "
            f"by {best} to {worst} points; expect their {100 * v.halves.error:.2f}, whatever the first row says.",
            _compared(v, v.plain, "random questions and their plain mean"),
            _compared(v, v.calibrated, "random questions read by the same curves"),
        ]
        if v.anchors.error >= v.nothing.error:
            notes.append(
                "Asking nothing and calling the model average predicts as well: these models are too alike, or too "
                "few, for so few anchors. Take more."
            )
        if v.families < 10:
            notes.append(
                f"An error found with {v.families} families is itself known to a factor of {_factor(v.families):.1f}."
            )
        return notes

    def records(self) -> Records:
        """Return the file that `viva run --questions` and `viva item-analysis --predict` take."""
        one = self.found
        same = (
            *(one.exam, one.of_questions, one.models, one.families, one.lowest, one.highest, one.error),
            *(one.inflation, one.scatter, _written(one.rest)),
        )
        return COLUMNS, [
            (each.question, each.share, each.facility, each.discrimination, _written(each.curve), *same)
            for each in one.anchors
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
        """Return a row a model."""
        found, anchors = self.found, self.anchors
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

    def closing(self) -> list[str]:
        """Return what the interval is, and where it does not hold."""
        found, anchors = self.found, self.anchors
        notes = [
            f"[…]: 95 %, from how unsure the anchors leave the ability, times the {anchors.inflation:.2f} by which "
            f"predictions of {anchors.families} families ({anchors.models} models) that had no part in the choice "
            f"erred more (Student's t). It holds for models like these, asked in the same way, about all "
            f"{anchors.of_questions:,} questions."
        ]
        if any(one.full is not None for one in found):
            notes.append(
                "A model that the anchors were chosen by is predicted too far from the middle: which questions are "
                "anchors, its own answers decided. Predictions are for models that had no part in that."
            )
        for one in found:
            if not anchors.lowest - _ROUNDING <= one.value <= anchors.highest + _ROUNDING:
                notes.append(
                    f"{one.model}: {percent(one.value)} lies outside what the known models have "
                    f"({percent(anchors.lowest)} to {percent(anchors.highest)}): nobody has seen such a model answer."
                )
            if one.answered < one.of:
                notes.append(
                    f"{one.model}: {one.of - one.answered:,} anchors have no score, and count as other questions."
                )
        return notes

    def records(self) -> Records:
        """Return a row a model, unrounded."""
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
