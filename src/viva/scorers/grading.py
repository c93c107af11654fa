"""From what was read in a reply to a score."""

from __future__ import annotations

from viva.scorers.reading import Reading
from viva.types import CUT_OFF, NOT_ASKED, Failure, Outcome, Response, Score, StopReason

CUT_OFF_WORDS: dict[StopReason, str] = {"length": "cut off in the answer", "thinking": "cut off while thinking"}
"""Where the limit of tokens ended a reply, as people are told."""
_UNREAD: dict[str, Outcome] = {"unparsed": "unparsed", "empty": "empty", "refused": "refused"}


def grade_reading(reading: Reading, gold: str, response: Response) -> Score:
    """Compare a reading with the gold answer.

    A reply that the token limit cut off before it committed to anything is *truncated*, not unparsed: the cure is
    another limit, not another extractor.
    """
    where = f"{reading.rule}" + (f" at {reading.span[0]}-{reading.span[1]}" if reading.span else "")
    if reading.read in _UNREAD:
        outcome = _UNREAD[reading.read]
        if response.stop_reason in CUT_OFF and outcome in ("unparsed", "empty"):
            outcome = "truncated"
        if response.stop_reason == "filter" and outcome in ("unparsed", "empty"):
            outcome = "refused"
        return Score(value=None, outcome=outcome, explanation=because(where, response))
    right = reading.read == gold
    return Score(value=float(right), outcome="right" if right else "wrong", answer=reading.read, explanation=where)


def because(explanation: str, response: Response) -> str:
    """Return why nothing was read in a reply, with the reason where the model was cut off before it began to answer."""
    return f"{explanation}; {CUT_OFF_WORDS['thinking']}" if response.stop_reason == "thinking" else explanation


def no_reply(failure: Failure) -> Score:
    """Return the score of what has no reply: unscored, and no error where nobody asked."""
    if failure.kind == NOT_ASKED:
        return Score(value=None, outcome=NOT_ASKED, explanation=failure.message)
    return Score(value=None, outcome="error", explanation=f"{failure.kind}: {failure.message}")


def outcome_of(value: float) -> Outcome:
    """Full marks, some, or none."""
    return "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong"
