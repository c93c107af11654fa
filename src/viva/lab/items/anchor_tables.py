"""Anchor questions and what they predict, as tables and as data."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec import Struct

from viva.analysis.estimate import percent
from viva.errors import flag
from viva.lab.items.anchor_error import Validation, Way
from viva.render.findings import Findings
from viva.render.table import DASH, FIGURE, NAME, PERCENT, POINTS, Column, Kind, Table, fields, figure

_OWN = ("question", "share", "facility", "discrimination")
_SHARED = ("exam", "of_questions", "models", "families", "lowest", "highest", "error", "bias", "inflation", "scatter")
COLUMNS = (*_OWN, "curve", *_SHARED, "rest")
"""Columns of the file, a row for each anchor; from `exam` on equal in all rows, with all data for a prediction. Curves
(`curve`, and `rest`, what all other questions add) are values at the abilities of `curves.GRID`."""
LEGEND = (
    "Error: root mean square of predicted − true full score over models, in points of 100, each family predicted from "
    "the others; ±: standard deviation over draws of questions (the models stay the same). Worst: the largest, on "
    "average."
)

_ROUNDING = 1e-9


class Anchor(Struct, frozen=True, kw_only=True):
    """An anchor. `discrimination` is None where undefined."""

    question: str
    share: float
    """The anchor's share of the full score."""
    facility: float
    discrimination: float | None
    curve: tuple[float, ...]
    """The probability of a point, by ability."""


class AnchorSet(Struct, frozen=True, kw_only=True):
    """The chosen anchors with all data for a prediction. Scores are shares of 1."""

    exam: str
    anchors: tuple[Anchor, ...]
    rest: tuple[float, ...]
    """The expected contribution of all other questions, by ability."""
    scatter: float
    lowest: float
    """Full score of the worst known model."""
    highest: float
    error: float
    """Cross-validated root mean square error of anchors chosen from halves of the questions."""
    bias: float
    """The mean of the same differences, predicted − true."""
    inflation: float
    """The factor by which an interval is wider than that of the reading."""
    families: int
    models: int
    of_questions: int


class Prediction(Struct, frozen=True, kw_only=True):
    """A model's full score as predicted from anchors."""

    model: str
    source: str
    value: float
    low: float
    high: float
    anchor_mean: float
    answered: int
    of: int
    full: float | None = None
    """Its true full score, if the run has all questions."""


def _compared(v: Validation, other: Way, words: str) -> str:
    better = sum(error > v.halves.error for error in other.errors)
    how = "better than" if 2 * better > len(other.errors) else "NO better than most of"
    return (
        f"The anchors, by that, do {how} {words}: {100 * v.halves.error:.2f} against {100 * other.error:.2f} points; "
        f"of {len(other.errors)} random sets, {len(other.errors) - better} did as well."
    )


def _factor(families: int) -> float:
    """Return the upper 95 % limit of a standard deviation estimated from `families` values, over the estimate."""
    from scipy.special import chdtri

    degrees = families - 1
    return math.sqrt(degrees / float(chdtri(degrees, 0.975)))


def _written(curve: Sequence[float]) -> str:
    return " ".join(f"{value:.5f}" for value in curve)


_ANCHOR = (
    Column("question", "question", NAME), Column("facility", "facility", PERCENT),
    Column("discrimination", "discrimination", figure(".3f")),
)  # fmt: skip
_EVERY = fields("", *_OWN, "curve")


def anchor_findings(anchors: AnchorSet, v: Validation, notes: Sequence[str], listed: int) -> Findings[AnchorSet]:
    """Return the errors side by side, then at most `listed` anchors; `rows` is the file that `viva run --questions` and
    `viva item-analysis --predict` take. `notes`: on the scores' origin.
    """
    count = len(anchors.anchors)
    errors = (
        Column(
            "asked and read",
            lambda way: way.name if way.name.startswith("nothing") else f"{count:,} {way.name}",
            NAME,
            None,
        ),
        *fields("", "name"),
        Column("error", "error", PERCENT),
        Column("±", "spread", Kind(lambda spread: PERCENT.text(spread) if spread else DASH), "spread"),
        Column("bias", "bias", POINTS),
        Column("worst", "worst", PERCENT),
        *fields("", "errors"),
    )
    rows = (
        *fields("0", *_OWN),
        Column("curve", lambda row: _written(row[0].curve)),
        *fields("1", *_SHARED),
        Column("rest", lambda row: _written(row[1].rest)),
    )
    more = f" ({listed:,} of {count:,}; {flag('out', 'FILE')}.csv has all)" if count > listed else ""
    shown = [
        Table(
            f"Predicting the full score from {count:,} of {anchors.of_questions:,} questions · {anchors.exam}",
            errors,
            (v.anchors, v.halves, v.plain, v.calibrated, v.nothing),
        ),
        *([Table(f"Anchors · {anchors.exam}{more}", _ANCHOR, anchors.anchors[:listed])] if listed else []),
        Table("Curves", _EVERY, anchors.anchors),
        Table("All questions", (*fields("0", *_SHARED, "rest"), *fields("1", "folds", "rounds")), [(anchors, v)]),
    ]
    return Findings(
        found=anchors, shown=shown, rows=Table("Anchors", rows, [(anchor, anchors) for anchor in anchors.anchors]),
        notes=[LEGEND, *notes, *_notes_on(v)], announced=True,
    )  # fmt: skip


def _notes_on(v: Validation) -> list[str]:
    best, worst = (f"{100 * error:.2f}" for error in (min(v.halves.errors), max(v.halves.errors)))
    notes = [
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


def predictions(predicted: tuple[Prediction, ...], anchors: AnchorSet) -> Findings[tuple[Prediction, ...]]:
    """Return full scores predicted from anchors, a row a model."""
    known = any(each.full is not None for each in predicted)
    columns = (
        Column("model", "model", NAME), *fields("", "source"),
        Column("predicted full score", lambda each: each, Kind(
            lambda each: f"{percent(each.value)} [{percent(each.low)}, {percent(each.high)}]"
        ), None),
        *fields("", "low", "high", value="predicted"), Column("anchor mean", "anchor_mean", PERCENT, "anchor_mean"),
        Column("anchors scored", lambda each: f"{each.answered:,} of {each.of:,}", FIGURE, None),
        *fields("", "answered", of="anchors"), Column("true full score" if known else None, "full", PERCENT, "full"),
    )  # fmt: skip
    rows = (
        Column("exam", lambda _: anchors.exam), *fields("", "model", "source", value="predicted"),
        *fields("", "low", "high", "anchor_mean", "answered", of="anchors"), *fields("", "full"),
    )  # fmt: skip
    title = f"Full scores predicted from {len(anchors.anchors):,} anchors · {anchors.exam}"
    return Findings(
        found=predicted, shown=[Table(title, columns, predicted)], rows=Table("Predictions", rows, predicted),
        notes=_notes_on_predictions(predicted, anchors),
    )  # fmt: skip


def _notes_on_predictions(predicted: Sequence[Prediction], anchors: AnchorSet) -> list[str]:
    """Return notes on the interval and its limits."""
    notes = [
        f"[…]: 95 %, from how unsure the anchors leave the ability, times the {anchors.inflation:.2f} by which "
        f"predictions of {anchors.families} families ({anchors.models} models) that had no part in the choice "
        f"erred more (Student's t). It holds for models like these, asked in the same way, about all "
        f"{anchors.of_questions:,} questions.",
        f"Models that had no part in the choice were {POINTS.text(anchors.bias)} points off on average (bias: "
        f"the sharpest questions are no fair sample), with an error of {100 * anchors.error:.2f} (root mean square).",
    ]
    if any(each.full is not None for each in predicted):
        notes.append(
            "A model that the anchors were chosen by is predicted too far from the middle: which questions are "
            "anchors, its own answers decided. Predictions are for models that had no part in that."
        )
    for each in predicted:
        if not anchors.lowest - _ROUNDING <= each.value <= anchors.highest + _ROUNDING:
            notes.append(
                f"{each.model}: {percent(each.value)} lies outside what the known models have "
                f"({percent(anchors.lowest)} to {percent(anchors.highest)}): nobody has seen such a model answer."
            )
        if each.answered < each.of:
            notes.append(
                f"{each.model}: {each.of - each.answered:,} anchors have no score, and count as other questions."
            )
    return notes
