"""One answer in full: what was asked, what came back, what was read in it, and what everybody said of it."""

from __future__ import annotations

from contextlib import ExitStack

from msgspec import Struct

from viva.engine.answerrecord import Answer, answer_of, describe_evidence
from viva.engine.journal import Entry
from viva.engine.stages import NO_REPLY_YET, row_of
from viva.pages.runs.following import Followed
from viva.pages.runs.gradedrows import Sheet
from viva.pages.runs.live_tables import Opened
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import Question, Score
from viva.web.pagetext import read_span, reason


class Item(Struct, frozen=True, kw_only=True):
    """An answer as its page shows it. All texts are hostile."""

    answer: Answer
    question: Question
    score: Score
    samples: int
    key: str
    read: tuple[int, int] | None
    """Which part of the reply its reading rests on (start, end), where that is known."""
    reason: str
    """Why it was graded so, in words of its reply."""
    circumstances: tuple[tuple[str, str], ...]
    """Tokens, seconds, attempts."""


def item_of(sheet: Sheet, place: int, opened: Opened, answers: Followed) -> Item:
    """Return one answer, graded as it stands now. Raises VivaError where its evidence cannot be read."""
    evaluation = sheet.evaluation
    question, sample = sheet.question(place)
    request = evaluation.request(question, sample)
    key = evaluation.keys.of(request)
    with ExitStack() as stack, answers.reading() as reader:
        entry = reader.read(key)
        response = entry.response() if entry else NO_REPLY_YET
        evidence = opened.open_evidence(stack).about(evaluation, question, sample, response)
    score = evaluation.exam.score(question, response, evidence)
    row = row_of(evaluation, question, sample, response, score, sheet.shown)
    return Item(
        answer=answer_of(row, entry, question, request, tuple(describe_evidence(evidence))),
        question=question,
        score=score,
        samples=evaluation.samples,
        key=key.hex(),
        read=read_span(score, response.text),
        reason=reason(score.explanation, response.text),
        circumstances=tuple(_circumstances(entry)) if entry else (),
    )


def _circumstances(entry: Entry) -> list[tuple[str, str]]:
    cut = CUT_OFF_WORDS.get(entry.stop_reason)
    said: list[tuple[str, str]] = []
    if entry.error is None:
        said.append(("ended", cut) if cut else ("stopped by", entry.stop_reason))
    if entry.usage:
        said += [("tokens in", f"{entry.usage.input:,}"), ("tokens out", f"{entry.usage.output:,}")]
        said += [("of them thought", f"{entry.usage.reasoning:,}")] if entry.usage.reasoning else []
    said += [("seconds", f"{entry.seconds:.2f}")] if entry.seconds else []
    said += [("attempts", str(entry.attempts))] if entry.attempts > 1 else []
    said += [("taken over from", entry.reused)] if entry.reused else []
    return said
