"""What a reader says of a reply: the answer, its place, the rule; and its score."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from viva.types import CUT_OFF, NOT_ASKED, Failure, Outcome, Response, Score, ScoreRow, StopReason
from viva.visible import one_line

UNPARSED: Final = "unparsed"
EMPTY: Final = "empty"
REFUSED: Final = "refused"


class Reading(Struct, frozen=True):
    """What a reply commits to, with the evidence.

    `read` is a letter, "true"/"false", or one of "unparsed", "empty", "refused". `span` are offsets into the reply as
    it came in (`reply[span[0]:span[1]]` is the text the reading rests on), None where nothing was read. `rule` says
    in words which rule decided.
    """

    read: str
    span: tuple[int, int] | None = None
    rule: str = ""

    @property
    def committed(self) -> bool:
        """Whether the reply commits to an answer."""
        return self.read not in {UNPARSED, EMPTY, REFUSED}

    def moved(self, base: int) -> Reading:
        """Return the reading of a part, which begins at `base`, as one of the whole reply."""
        span = self.span and (self.span[0] + base, self.span[1] + base)
        return Reading(self.read, span, self.rule)


CUT_OFF_WORDS: dict[StopReason, str] = {"length": "cut off in the answer", "thinking": "cut off while thinking"}
"""Where the limit of tokens ended a reply, as people are told."""
_UNREAD: dict[str, Outcome] = {"unparsed": "unparsed", "empty": "empty", "refused": "refused"}
_SPAN = re.compile(r" at (\d{1,9})-(\d{1,9})\b")
_LONGEST = 100_000
"""Characters of a reply that is searched for what was read."""


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


def reason(explanation: str, reply: str) -> str:
    """Return why a verdict is what it is, for people: in place of offsets the words that were read."""

    def words(found: re.Match[str]) -> str:
        start, end = int(found[1]), int(found[2])
        if explanation.startswith("answer:") or not start < end <= len(reply):
            return f" (characters {start + 1:,} to {end:,})"
        return f": “{one_line(reply[start:end], 60)}”"

    return _SPAN.sub(words, explanation)


def read_span(score: Score | ScoreRow, reply: str) -> tuple[int, int] | None:
    """Return where in a reply stands what was read: as its reader says, else the one place that holds what was read."""
    said = _SPAN.search(score.explanation)
    # A line "answer: ..." is about one field of a reply of several, and its offsets are of that field.
    if said and not score.explanation.startswith("answer:") and int(said[1]) < int(said[2]) <= len(reply):
        return int(said[1]), int(said[2])
    if not score.answer.strip() or len(reply) > _LONGEST:
        return None
    words = re.escape(score.answer.strip())
    places = re.finditer(rf"{words}(?<!\w{words})(?!\w)", reply)  # words first: they are searched for as bytes are
    first, second = next(places, None), next(places, None)
    return first.span() if first and not second else None
