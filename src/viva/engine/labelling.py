"""Labels that judges give to answers: which of some types of error a wrong one shows (errors.jsonl in the run folder).

A benchmark defines the requests and reads the replies (`Labeller`); this module finds which labels are missing, and
collects them. Identical wrong answers to a question are labelled once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from viva.engine.asking import Tally, Task
from viva.engine.journal import Entry, Journal, Keys
from viva.engine.stages import Evaluation, EvidenceStore, Judge, JudgePanel
from viva.types import CUT_OFF, Generate, Outcome, Question, Response, Score

STAGE = "errors"
"""The journal's name."""


class Labeller(Protocol):
    """A benchmark's labelling: which answers to label, how to ask, how to read the reply. Pure functions."""

    def wrong(self, question: Question, score: Score) -> bool:
        """Return whether this answer is to be labelled."""
        ...

    def request(self, question: Question, response: Response, sample: int) -> Generate:
        """Return the request to a judge."""
        ...

    def labels(self, question: Question, reply: str) -> tuple[str, ...] | None:
        """Return the labels in a judge's reply; () where none fits, None where it cannot be read."""
        ...


class Labelling(Struct, kw_only=True):
    """A labelling to do: one model's answers to one exam, by these judges."""

    evaluation: Evaluation
    labeller: Labeller
    judge_panel: JudgePanel
    answers: Journal
    evidence_store: EvidenceStore


class Labelled(Struct, frozen=True, kw_only=True):
    """One wrong answer: model, question, and each judge's labels, None where none can be read."""

    exam: str
    model: str
    question: str
    sample: int
    repeat: int
    outcome: Outcome
    answer: str
    """The answer read from the reply (untrusted)."""
    tags: Mapping[str, str]
    votes: tuple[tuple[str, tuple[str, ...] | None], ...]
    """(judge, labels), one for each judge and sample."""
    said: tuple[str, ...] = ()
    """The judges' replies as they came (untrusted)."""


class _Wrong(Struct, frozen=True):
    question: Question
    sample: int
    score: Score
    response: Response


def labels_wanted(work: Labelling, judge: Judge, journal: Journal, tally: Tally, asked: set[bytes]) -> Iterator[Task]:
    """Yield the requests still to ask one judge. `asked` collects keys over all evaluations."""
    benchmark = work.evaluation.exam.spec.benchmark
    for wrong in _wrong(work):
        for key, request in _requests(work, judge, wrong):
            if key in asked:
                continue
            asked.add(key)
            if key in journal.answered:
                tally.kept += 1
                continue
            question = wrong.question

            def readable(reply: str, _: str, question: Question = question) -> bool:
                return work.labeller.labels(question, reply) is not None

            yield Task(key, benchmark, request, judge.model, judge.price, readable)


def keys_wanted(work: Labelling) -> set[bytes]:
    """Return the keys of all requests to judges, for the progress line."""
    return {
        key for wrong in _wrong(work) for judge in work.judge_panel.judges for key, _ in _requests(work, judge, wrong)
    }


def labelled(work: Labelling, journal: Journal) -> Iterator[Labelled]:
    """Yield every wrong answer with the judges' labels, from the journals alone."""
    evaluation = work.evaluation
    for wrong in _wrong(work):
        votes: list[tuple[str, tuple[str, ...] | None]] = []
        texts: list[str] = []
        for judge in work.judge_panel.judges:
            for key, _ in _requests(work, judge, wrong):
                entry = journal.read(key)
                labels = work.labeller.labels(wrong.question, entry.text) if _whole(entry) and entry else None
                votes.append((judge.model.name, labels))
                texts.append(entry.text if entry else "")
        yield Labelled(
            exam=evaluation.label,
            model=evaluation.model.name,
            question=wrong.question.id,
            sample=wrong.sample,
            repeat=wrong.sample // evaluation.per_repeat,
            outcome=wrong.score.outcome,
            answer=wrong.score.answer,
            tags=wrong.question.tags,
            votes=tuple(votes),
            said=tuple(texts),
        )


def _whole(entry: Entry | None) -> bool:
    """Return whether the reply was not cut off: one that was may end in a quotation of the examinee."""
    return entry is not None and not entry.error and entry.stop_reason not in CUT_OFF


def _wrong(work: Labelling) -> Iterator[_Wrong]:
    for question, sample, entry in work.evaluation.answers(work.answers):
        if entry is None or entry.error or not entry.text.strip():
            continue
        response = entry.response()
        score = work.evidence_store.score(work.evaluation, question, sample, response)
        if work.labeller.wrong(question, score):
            yield _Wrong(question, sample, score, response)


def _requests(work: Labelling, judge: Judge, wrong: _Wrong) -> Iterator[tuple[bytes, Generate]]:
    keys = Keys(judge.model.identity, STAGE)
    for sample in range(work.judge_panel.samples):
        request = work.labeller.request(wrong.question, wrong.response, sample)
        yield keys.of(request, own_question=False), request
