"""The answers of a run as rows, graded as far as they are in, and graded again only where something is new."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import UNSET, Struct

from viva.benchmarks.outcomes import SEVERAL, finer
from viva.engine.answerrecord import Answer, answer_of, describe_evidence
from viva.engine.journal import Entry
from viva.engine.scorefile import fault
from viva.engine.stages import DIGEST, NO_REPLY_YET, Evaluation, EvidenceStore, parts_shown, row_of
from viva.errors import StorageError
from viva.files import UNREADABLE, lines, reading
from viva.pages.runs.following import Followed, Reader
from viva.pages.runs.live_tables import Opened
from viva.scorers.grading import CUT_OFF_WORDS
from viva.types import Question, Score, ScoreRow
from viva.web.pagetemplates import read_span, reason

_ROW_TEXT = 80
"""Characters of what was read in an answer that a list shows."""
_UNKNOWN = -1


class Sheet(Struct):
    """One sitting's answers, in the order of questions and samples: place = question × samples + sample."""

    evaluation: Evaluation
    questions: list[Question]
    rows: list[ScoreRow]
    places: list[int]
    """Which word of the journal each row rests on; 0 for an answer that is not there."""
    shown: frozenset[str]

    @classmethod
    def of(cls, evaluation: Evaluation, questions: list[Question]) -> Sheet:
        """Return a sheet without a row; `questions` are its exam's, shared by all who sat it."""
        return cls(evaluation, questions, [], [], parts_shown(evaluation.exam))

    def __len__(self) -> int:
        return len(self.questions) * self.evaluation.samples

    @property
    def keyed(self) -> bool:
        """Whether the keys of all answers are known."""
        return len(self.evaluation.digests) == len(self) * DIGEST

    def key(self, place: int) -> bytes:
        """Return the request key of one answer."""
        if self.keyed:
            return bytes(self.evaluation.digests[place * DIGEST : (place + 1) * DIGEST])
        question, sample = self.question(place)
        return self.evaluation.keys.of(self.evaluation.request(question, sample))

    def question(self, place: int) -> tuple[Question, int]:
        """Whose answer it is: question and sample."""
        question, sample = self.questions[place // self.evaluation.samples], place % self.evaluation.samples
        return self.evaluation.exam.variant(question, sample), sample

    def sample_name(self, sample: int) -> str:
        """Return which of a question's answers it is, for people: `sample 1`, of a varied run `prompt base, order
        2`.
        """
        vary = self.evaluation.exam.spec.vary
        return f"sample {sample}" if vary is UNSET else vary.answer_name(sample, self.evaluation.samples)


def grade(
    sheets: Sequence[Sheet],
    opened: Opened,
    answers: Followed,
    *,
    everything: bool,
    progress: Callable[[int], None],
) -> None:
    """Bring every sheet's rows up to date; with `everything` also those whose answer is the same (new evidence)."""
    done = 0
    with ExitStack() as stack, answers.reading() as reader:
        evidence_store = opened.open_evidence(stack)
        for sheet in sheets:
            rows, places = list(sheet.rows), list(sheet.places)
            fresh = not rows
            if fresh:
                rows = list(_unasked(sheet))
                places = [0] * len(rows)
            for place, _ in enumerate(rows):
                done += 1
                if done % 256 == 0:
                    progress(done)
                stands = answers.place(sheet.key(place))
                if stands == places[place] and not (stands and everything):
                    continue
                rows[place] = _row(sheet, place, reader, evidence_store)
                places[place] = stands
            sheet.rows, sheet.places = rows, places
    progress(done)


def _unasked(sheet: Sheet) -> Iterator[ScoreRow]:
    evaluation = sheet.evaluation
    for question in sheet.questions:
        score = evaluation.exam.score(question, NO_REPLY_YET)
        for sample in range(evaluation.samples):
            yield _short(row_of(evaluation, question, sample, NO_REPLY_YET, score, sheet.shown))


def _row(sheet: Sheet, place: int, reader: Reader, evidence_store: EvidenceStore) -> ScoreRow:
    question, sample = sheet.question(place)
    entry = reader.read(sheet.key(place))
    response = entry.response() if entry else NO_REPLY_YET
    score = evidence_store.score(sheet.evaluation, question, sample, response)
    return _short(row_of(sheet.evaluation, question, sample, response, score, sheet.shown))


def _short(row: ScoreRow, tags: dict[str, str] | None = None) -> ScoreRow:
    """Without what only the answer's own page shows, which is made when it is asked for; `tags`: the question's."""
    tags = row.tags if tags is None else tags
    kept = SEVERAL if finer(row, row.stopped) == SEVERAL else ""  # filters go by it
    return msgspec.structs.replace(row, answer=row.answer[:_ROW_TEXT], explanation=kept, tags=tags)


def render_keys(sheets: Sequence[Sheet], progress: Callable[[int], None]) -> None:
    """Compute the keys of all answers, once: whose line in the journal is whose."""
    done = 0
    for sheet in sheets:
        if sheet.keyed:
            continue
        for _ in sheet.evaluation.requests():
            done += 1
            if done % 256 == 0:
                progress(done)


def graded_before(path: Path, sheets: Sequence[Sheet], newest: int) -> bool:
    """Take over the rows of scores.jsonl, where it is as new as all it was made from (`newest`, nanoseconds) and whole.

    Returns whether it was; else nothing is changed.
    """
    file = path / "scores.jsonl"
    decode = msgspec.json.Decoder(ScoreRow).decode
    taken: list[list[ScoreRow]] = []
    try:
        if file.lstat().st_mtime_ns < newest or fault(path):
            return False
        with reading(file) as content:
            every = lines(content, file)
            for sheet in sheets:
                rows: list[ScoreRow] = []
                for question in sheet.questions:
                    for sample in range(sheet.evaluation.samples):
                        row = decode(next(every, b""))
                        whose = (row.exam, row.model, row.question, row.sample)
                        if whose != (sheet.evaluation.label, sheet.evaluation.model.name, question.id, sample):
                            return False
                        rows.append(_short(row, question.tags))
                taken.append(rows)
            if next(every, b""):
                return False
    except (OSError, StorageError, *UNREADABLE):
        return False
    for sheet, rows in zip(sheets, taken, strict=True):
        sheet.rows, sheet.places = rows, [_UNKNOWN] * len(rows)
    return True


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
