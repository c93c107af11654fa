"""The answers received by a run so far, as graded rows; those that were graded stand."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from viva.engine.answerrecord import Answer, answer_of, describe_evidence
from viva.engine.journal import Entry
from viva.engine.stages import NO_REPLY_YET, Evaluation, parts_shown, row_of
from viva.errors import StorageError
from viva.runs.answers import SEVERAL, finer, of_answer
from viva.runs.following import Followed
from viva.runs.open import OpenRun, open_evidence
from viva.runs.scorefile import fault, score_rows
from viva.scorers.reading import CUT_OFF_WORDS, read_span, reason
from viva.types import Question, Score, ScoreRow

_ROW_TEXT = 80
"""Characters of the extracted answer shown in a list."""


class Work(Struct):
    """How far a thread is with its work."""

    what: str = ""
    done: int = 0
    total: int = 0


class Sheet(Struct, frozen=True):
    """One evaluation's answers, in the order of questions and samples: place = question × samples + sample."""

    evaluation: Evaluation
    questions: list[Question]
    """Those of the exam, shared by all its models."""
    rows: Sequence[ScoreRow] = ()

    def __len__(self) -> int:
        return len(self.questions) * self.evaluation.samples

    def key(self, place: int) -> bytes:
        """Return the request key of one answer."""
        if self.evaluation.keyed:
            return self.evaluation.key(place)
        question, sample = self.question(place)
        return self.evaluation.keys.of(self.evaluation.request(question, sample))

    def question(self, place: int) -> tuple[Question, int]:
        """Return the question and sample of an answer."""
        question, sample = self.questions[place // self.evaluation.samples], place % self.evaluation.samples
        return self.evaluation.exam.variant(question, sample), sample

    def leveled(self, place: int) -> ScoreRow:
        """Return the row of an answer, in a varied run with the levels of its factors."""
        row, vary = self.rows[place], self.evaluation.exam.spec.vary
        return row if vary is UNSET else msgspec.structs.replace(row, tags={**row.tags, **vary.named(row.sample)})

    def sample_name(self, sample: int) -> str:
        """Return the displayed name of a sample: `sample 1`, in a varied run `prompt base, order 2`."""
        vary = self.evaluation.exam.spec.vary
        return f"sample {sample}" if vary is UNSET else vary.answer_name(sample, self.evaluation.samples)


def grade(
    sheets: Sequence[Sheet], opened: OpenRun, answers: Followed, known: Collection[bytes], progress: Work
) -> list[Sheet]:
    """Return the sheets with all answers received so far, graded from the journals alone; the rows of `known` requests
    stand.
    """
    graded = []
    with ExitStack() as stack, answers.reading() as reader:
        evidence_store = open_evidence(opened, stack)
        for sheet in sheets:
            if not sheet.evaluation.keyed:
                deque(sheet.evaluation.requests(), 0)
            shown, rows = parts_shown(sheet.evaluation.exam), list(sheet.rows)
            for place in range(len(sheet)):
                key = sheet.key(place)
                if key not in known:
                    row = evidence_store.row(sheet.evaluation, *sheet.question(place), reader(key), shown)
                    rows[place : place + 1] = [_short(row)]
                progress.done += 1
            graded.append(msgspec.structs.replace(sheet, rows=rows))
    return graded


def _short(row: ScoreRow, tags: dict[str, str] | None = None) -> ScoreRow:
    """Return a row without data shown only on the answer's page, which are recomputed there; `tags`: the question's."""
    tags = row.tags if tags is None else tags
    kept = SEVERAL if finer(row, row.stopped) == SEVERAL else ""  # used by filters
    return msgspec.structs.replace(row, answer=row.answer[:_ROW_TEXT], explanation=kept, tags=tags)


def graded_before(path: Path, sheets: Sequence[Sheet]) -> list[Sheet]:
    """Return the sheets with the rows of scores.jsonl if it is complete and matches the run's other files; else
    nothing.
    """
    with suppress(StorageError):
        if fault(path):
            return []
        every = score_rows(path)
        graded = [
            msgspec.structs.replace(sheet, rows=[
                _short(of_answer(next(every, None), path, sheet.evaluation, question, sample), question.tags)
                for question in sheet.questions for sample in range(sheet.evaluation.samples)
            ])
            for sheet in sheets
        ]  # fmt: skip
        if next(every, None) is None:
            return graded
    return []


class Item(Struct, frozen=True, kw_only=True):
    """An answer as shown on its page. All texts are untrusted."""

    answer: Answer
    score: Score
    samples: int
    key: str
    read: tuple[int, int] | None
    """The part of the reply that was read (start, end), if known."""
    reason: str
    """The reason of the grade, from its reply."""
    circumstances: tuple[tuple[str, str], ...]
    """Tokens, seconds, attempts."""


def item_of(sheet: Sheet, place: int, opened: OpenRun, answers: Followed) -> Item:
    """Return one answer, graded now. Raises VivaError for unreadable evidence."""
    evaluation = sheet.evaluation
    question, sample = sheet.question(place)
    request = evaluation.request(question, sample)
    key = evaluation.keys.of(request)
    with ExitStack() as stack, answers.reading() as reader:
        entry = reader(key)
        response = entry.response() if entry else NO_REPLY_YET
        evidence = open_evidence(opened, stack).about(evaluation, question, sample, response)
    score = evaluation.exam.score(question, response, evidence)
    row = row_of(evaluation, question, sample, response, score, parts_shown(evaluation.exam))
    return Item(
        answer=answer_of(row, entry, question, request, tuple(describe_evidence(evidence))),
        score=score,
        samples=evaluation.samples,
        key=key.hex(),
        read=read_span(score, response.text),
        reason=reason(score.explanation, response.text),
        circumstances=tuple(_circumstances(entry)) if entry else (),
    )


def _circumstances(entry: Entry) -> list[tuple[str, str]]:
    cut = CUT_OFF_WORDS.get(entry.stop_reason)
    pairs: list[tuple[str, str]] = []
    if entry.error is None:
        pairs.append(("ended", cut) if cut else ("stopped by", entry.stop_reason))
    if entry.usage:
        pairs += [("tokens in", f"{entry.usage.input:,}"), ("tokens out", f"{entry.usage.output:,}")]
        pairs += [("of them thought", f"{entry.usage.reasoning:,}")] if entry.usage.reasoning else []
    pairs += [("seconds", f"{entry.seconds:.2f}")] if entry.seconds else []
    pairs += [("attempts", str(entry.attempts))] if entry.attempts > 1 else []
    pairs += [("taken over from", entry.reused)] if entry.reused else []
    return pairs
