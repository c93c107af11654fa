"""Rows of scores, made by hand."""

from collections.abc import Iterable
from typing import Any

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.types import Aggregate, Outcome, ScoreRow

VALUES: dict[Outcome, float | None] = {"right": 1.0, "wrong": 0.0, "partly": 0.5}
EVERYTHING = Aggregate("everything")


def row(question: object, outcome: Outcome, value: float | None = None, **more: Any) -> ScoreRow:
    """One answer's score; the value follows from the outcome unless given."""
    given = {"sample": 0, "repeat": 0, **more, "tags": more.get("tags") or {}}
    known = VALUES.get(outcome) if value is None else value
    return ScoreRow(
        benchmark="b", exam="b-en", model="m", question=str(question), value=known, outcome=outcome, answer="",
        explanation="", **given,
    )  # fmt: skip


def graded(question: object, value: float | str | None, **more: Any) -> ScoreRow:
    """One answer's score; the outcome follows from the value: a word is one itself, None an outage."""
    if isinstance(value, str):
        return row(question, value, **more)  # type: ignore[arg-type]
    outcome: Outcome = "error" if value is None else "right" if value >= 1 else "partly" if value > 0 else "wrong"
    return row(question, outcome, value, **more)


def cell(rows: Iterable[ScoreRow], *lines: Aggregate) -> Estimate:
    """The cell that all `lines` share; everything without any."""
    return Breakdown(frame(rows)).cell(*(lines or (EVERYTHING,)))
