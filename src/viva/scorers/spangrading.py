"""From the phrase that was read in a reply to a score."""

from __future__ import annotations

from collections.abc import Sequence

from viva.scorers.grading import grade_reading
from viva.scorers.phrase import PhraseReading
from viva.scorers.reading import Reading
from viva.scorers.spans import SpanScore, score_span, tokens
from viva.types import Outcome, Response, Score

NOTHING = {"exact": 0.0, "f1": 0.0}
"""The parts of a reply that earns nothing, so that both means can be taken over all answers."""


def grade_span(reading: PhraseReading, accepted: Sequence[str], response: Response) -> Score:
    """Compare a phrase with the accepted answers.

    The value is the mean of exact match and F1, which is what a fill-in-the-blank question adds to SynEval's OA
    (arXiv 2311.08287, Metrics); `parts` holds the two, precision and recall. A question none of whose answers has a
    word to compare is unsound.
    """
    if not any(tokens(gold) for gold in accepted):
        why = "no accepted answer has a word: " + (", ".join(map(repr, accepted)) or "there is none")
        return Score(value=None, outcome="unsound", explanation=why)
    if reading.unread:
        unread = grade_reading(Reading(reading.unread, reading.span, reading.rule), "", response)
        return Score(value=None, outcome=unread.outcome, explanation=unread.explanation, parts=NOTHING)
    where = reading.rule + (f" at {reading.span[0]}-{reading.span[1]}" if reading.span else "")
    return score_from(score_span((reading.phrase,), accepted), reading.phrase or "(none)", where)


def score_from(span: SpanScore, answer: str, explanation: str) -> Score:
    """The score of an answer whose phrase has been compared."""
    outcome: Outcome = "right" if span.exact else "partly" if span.f1 else "wrong"
    parts = {"exact": float(span.exact), "f1": span.f1, "precision": span.precision, "recall": span.recall}
    return Score(
        value=(parts["exact"] + span.f1) / 2, outcome=outcome, answer=answer, explanation=explanation, parts=parts
    )
