"""Labels that judges give to answers: which of some types of error a wrong one shows (errors.jsonl in the run folder).

What is asked and how replies are read, a benchmark says (`Labeller`); here is who is asked what is still missing, and
what came back. Identical wrong answers to a question are labelled once.
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
    """What a benchmark says of labels: whose answers want some, what to ask, how to read it. Pure."""

    def wrong(self, question: Question, score: Score) -> bool:
        """Return whether this answer is one to label."""
        ...

    def request(self, question: Question, response: Response, sample: int) -> Generate:
        """Return what a judge is asked."""
        ...

    def labels(self, question: Question, reply: str) -> tuple[str, ...] | None:
        """Return what a judge's reply names; () for nothing that fits, None where it cannot be read."""
        ...


class Labelling(Struct, kw_only=True):
    """What is to be labelled: one model's answers to one exam, by these judges."""

    evaluation: Evaluation
    labeller: Labeller
    judge_panel: JudgePanel
    answers: Journal
    evidence_store: EvidenceStore


class Labelled(Struct, frozen=True, kw_only=True):
    """One wrong answer: whose, to what, and each judge's labels, None where there are none that can be read."""

    exam: str
    model: str
    question: str
    sample: int
    repeat: int
    outcome: Outcome
    answer: str
    """What was read from it (hostile)."""
    tags: Mapping[str, str]
    votes: tuple[tuple[str, tuple[str, ...] | None], ...]
    """Judge → labels, once a judge and sample."""
    said: tuple[str, ...] = ()
    """The judges' replies as they came (hostile)."""


class _Wrong(Struct, frozen=True):
    question: Question
    sample: int
    score: Score
    response: Response


def labels_wanted(work: Labelling, judge: Judge, journal: Journal, tally: Tally, asked: set[bytes]) -> Iterator[Task]:
    """Yield what one judge must still be asked. `asked` collects keys over all sittings."""
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
    """Return the keys of all that judges are asked, for the progress line."""
    return {
        key for wrong in _wrong(work) for judge in work.judge_panel.judges for key, _ in _requests(work, judge, wrong)
    }


def labelled(work: Labelling, journal: Journal) -> Iterator[Labelled]:
    """Yield every wrong answer with what the judges said of it, from the journals alone."""
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
    """Return what the limit of tokens cut off may end in a quotation of the examinee."""
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
