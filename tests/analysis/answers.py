"""Rows of scores, made by hand."""

from collections.abc import Iterable, Mapping

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.types import Aggregate, Decider, Outcome, ScoreRow

VALUES: dict[Outcome, float | None] = {"right": 1.0, "wrong": 0.0, "partly": 0.5}
EVERYTHING = Aggregate("everything")


def row(
    question: object,
    outcome: Outcome,
    value: float | None = None,
    *,
    sample: int = 0,
    repeat: int = 0,
    tags: Mapping[str, str] | None = None,
    parts: Mapping[str, float] | None = None,
    weight: int = 1,
    decided: Mapping[str, Decider] | None = None,
    limits: Mapping[str, tuple[float, float]] | None = None,
    cluster: str = "",
) -> ScoreRow:
    """One answer's score; the value follows from the outcome unless given."""
    return ScoreRow(
        benchmark="b",
        exam="b-en",
        model="m",
        question=str(question),
        sample=sample,
        repeat=repeat,
        value=VALUES.get(outcome) if value is None else value,
        outcome=outcome,
        answer="",
        explanation="",
        tags=dict(tags or {}),
        parts=dict(parts or {}),
        weight=weight,
        decided=dict(decided or {}),
        limits=dict(limits or {}),
        cluster=cluster,
    )


def cell(rows: Iterable[ScoreRow], *lines: Aggregate) -> Estimate:
    """The cell that all `lines` share; everything without any."""
    return Breakdown(frame(rows)).cell(*(lines or (EVERYTHING,)))
