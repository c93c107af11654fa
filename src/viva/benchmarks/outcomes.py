"""Finer than outcomes: what people look for among answers, on every page that filters them."""

from __future__ import annotations

from viva.benchmarks.rationale.combining import Q_A, Q_R
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import CUT_OFF, Score, ScoreRow, StopReason

SEVERAL = "several"
WRONG_REASON = "wrong-reason"
FINER: dict[str, tuple[str, str]] = {
    SEVERAL: ("unparsed", "several answers"),
    "thinking": ("truncated", CUT_OFF_WORDS["thinking"]),
    "length": ("truncated", CUT_OFF_WORDS["length"]),
    WRONG_REASON: ("", "right for the wrong reason"),
}
"""Word → the outcome that all of these have ("" for any), and what it is called."""


def finer(scored: Score | ScoreRow, stopped: StopReason) -> str:
    """Return which of `FINER` an answer is; "" for none.

    Right for the wrong reason is a right answer whose rationale earns nothing: a guess (CLR-Bench, section 3.3). What
    names several answers and commits to none is unparsed, and its explanation begins with "several".
    """
    if scored.outcome == "truncated" and stopped in CUT_OFF:
        return stopped
    if scored.outcome == "unparsed" and scored.explanation.startswith(SEVERAL):
        return SEVERAL
    return WRONG_REASON if scored.parts.get(Q_A) == 1.0 and scored.parts.get(Q_R) == 0.0 else ""
