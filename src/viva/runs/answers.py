"""The answers of a run one by one, with question, reply, verdict and evidence: what item browsers show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from viva.engine.evidence_text import describe_evidence, reply_text
from viva.engine.folder import RunFolder
from viva.engine.journal import Entry, Journal
from viva.engine.scorefile import SCORES, score_rows
from viva.engine.stages import NO_REPLY_YET, Evaluation, row_of
from viva.errors import StorageError
from viva.prompting import prompt_text
from viva.reports.answered import Answered
from viva.runs.graded import is_fresh
from viva.runs.open import OpenRun, open_evidence
from viva.types import Question, Request, Response, ScoreRow

_ALL: Callable[[int], bool] = lambda place: True  # noqa: E731


def answered(opened: OpenRun, wanted: Callable[[int], bool] = _ALL) -> Iterator[Answered]:
    """Every answer of a run, in the order of scores.jsonl; of these, the `wanted` places (from 0).

    What an answer earned is taken from scores.jsonl where that is fresh, else graded here. Raises StorageError where
    scores.jsonl is of other questions than the run.
    """
    folder = opened.folder
    rows = score_rows(folder.path) if is_fresh(folder) else None
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        evidence_store = open_evidence(opened, stack)
        place = -1
        for evaluation in opened.evaluations:
            for question in evaluation.exam.questions():
                for sample in range(evaluation.samples):
                    place += 1
                    row = _next_row(rows, folder.path, evaluation, question, sample)
                    if not wanted(place):
                        continue
                    request = evaluation.exam.request(
                        question, sample, evaluation.sampling, evaluation.model.context_window
                    )
                    entry = journal.read(evaluation.keys.of(request))
                    response = entry.response() if entry else NO_REPLY_YET
                    evidence = evidence_store.about(evaluation, question, sample, response)
                    if row is None:
                        row = row_of(
                            evaluation,
                            question,
                            sample,
                            evaluation.exam.score(question, response, evidence),
                            frozenset(),
                        )
                    suspicion = evidence_store.suspicion(evaluation.exam, question, response)
                    yield _whole(row, question, request, response, tuple(describe_evidence(evidence, suspicion)))


def _next_row(
    rows: Iterator[ScoreRow] | None, path: Path, evaluation: Evaluation, question: Question, sample: int
) -> ScoreRow | None:
    """The next row of scores.jsonl, which must be of this answer; None where there is no such file to go by."""
    if rows is None:
        return None
    row = next(rows, None)
    whose = (evaluation.label, evaluation.model.name, question.id, sample)
    if row is None or (row.exam, row.model, row.question, row.sample) != whose:
        raise StorageError(f"{path / SCORES} is not of this run's questions; `viva score {path}` makes it anew")
    return row


def _whole(
    row: ScoreRow, question: Question, request: Request, response: Response, evidence: tuple[tuple[str, str], ...]
) -> Answered:
    return Answered(
        exam=row.exam,
        model=row.model,
        question=row.question,
        sample=row.sample,
        repeat=row.repeat,
        outcome=row.outcome,
        value=row.value,
        tags=row.tags,
        weight=row.weight,
        asked=question.text,
        prompt=prompt_text(request.prompt),
        reply=reply_text(request, response),
        gold=question.answer or "",
        answer=row.answer,
        explanation=row.explanation,
        evidence=evidence,
        failure=f"{response.error.kind}: {response.error.message}" if response.error else "",
    )


def answered_without_questions(folder: RunFolder, wanted: Callable[[int], bool] = _ALL) -> Iterator[Answered]:
    """The same from scores.jsonl and responses.jsonl alone, where the questions are not at hand: no prompt, no gold.

    A reply is found by model, question and sample; where the run has several exams of that benchmark, in which
    questions share their ids, it is left out rather than guessed.
    """
    benchmarks = [exam.spec.benchmark for exam in folder.record.exams]
    single = {name for name in benchmarks if benchmarks.count(name) == 1}
    journal = folder.journal("responses", write=False)
    try:
        places = _places(journal, single)
        for place, row in enumerate(score_rows(folder.path)):
            if not wanted(place):
                continue
            key = places.get((row.benchmark, row.model, row.question, row.sample))
            entry = journal.read(key) if key else None
            yield Answered(
                **{name: getattr(row, name) for name in _SHARED},
                reply=entry.text if entry else "",
                failure=f"{entry.error.kind}: {entry.error.message}" if entry and entry.error else "",
            )
    finally:
        journal.close()


_SHARED = (
    *("exam", "model", "question", "sample", "repeat", "outcome", "value", "tags", "weight"),
    *("answer", "explanation"),
)


def _places(journal: Journal, benchmarks: set[str]) -> dict[tuple[str, str, str, int], bytes]:
    def whose(entry: Entry) -> tuple[str, str, str, int]:
        return entry.benchmark, entry.model, entry.question, entry.sample

    return {whose(entry): bytes.fromhex(entry.key) for entry in journal.entries() if entry.benchmark in benchmarks}
