"""From what was read in a reply to a score."""

from __future__ import annotations

from string import ascii_uppercase

import msgspec

from viva.scorers.reading import Reading
from viva.scorers.reading.parsers import Term
from viva.scorers.selection import grade_selection, read_selection
from viva.types import CUT_OFF, NOT_ASKED, Failure, Outcome, Question, Response, Score, StopReason

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


def ended(response: Response) -> bool:
    """Whether a reply ended by itself: what was cut off has no last resort."""
    return response.stop_reason not in CUT_OFF


def grade_choices(question: Question, gold: str, response: Response) -> Score:
    """Score the letters that a reply selects by the share of the right ones that they are."""
    letters = ascii_uppercase[: len(question.options)]
    reading = read_selection(response.text, letters=letters, options=question.options, ended=ended(response))
    score = grade_reading(reading, gold, response)
    if not reading.committed:
        return score
    value = grade_selection(reading.read, gold)
    return msgspec.structs.replace(score, value=value, outcome=outcome_of(value))


def grade_term(term: Term | None, reading: Reading, response: Response) -> Score:
    """Score what a reply puts into a blank."""
    if term is None:
        return grade_reading(reading, "", response)
    value = float(term.same is not None)
    why = "none of the accepted answers, normalised" if term.same is None else f"accepted as {term.same!r}"
    return Score(value=value, outcome=outcome_of(value), answer=term.text[:500], explanation=f"{why} ({reading.rule})")


def because(explanation: str, response: Response) -> str:
    """Why nothing was read in a reply, with the reason where the model was cut off before it began to answer."""
    return f"{explanation}; {CUT_OFF_WORDS['thinking']}" if response.stop_reason == "thinking" else explanation


def no_reply(failure: Failure) -> Score:
    """Return the score of what has no reply: unscored, and no error where nobody asked."""
    if failure.kind == NOT_ASKED:
        return Score(value=None, outcome=NOT_ASKED, explanation=failure.message)
    return Score(value=None, outcome="error", explanation=f"{failure.kind}: {failure.message}")


def outcome_of(value: float) -> Outcome:
    """Full marks, some, or none."""
    return "right" if value >= 1.0 else "partly" if value > 0.0 else "wrong"
