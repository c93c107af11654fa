"""The answers of a run one by one, with question, reply, verdict and evidence: what item browsers show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from viva.engine.answer import Answer, answer_of, describe_evidence
from viva.engine.folder import RunFolder, RunRecord
from viva.engine.journal import Journal
from viva.engine.scorefile import SCORES, score_rows
from viva.engine.stages import NO_REPLY_YET, Evaluation, parts_shown, row_of
from viva.errors import StorageError
from viva.runs.graded import is_fresh
from viva.runs.open import OpenRun, open_evidence
from viva.types import Question, ScoreRow

_ALL: Callable[[int], bool] = lambda place: True  # noqa: E731


def answered(opened: OpenRun, wanted: Callable[[int], bool] = _ALL) -> Iterator[Answer]:
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
            shown = parts_shown(evaluation.exam)
            for each in evaluation.exam.questions():
                for sample in range(evaluation.samples):
                    place += 1
                    row = _next_row(rows, folder.path, evaluation, each, sample)
                    if not wanted(place):
                        continue
                    question = evaluation.exam.variant(each, sample)
                    request = evaluation.request(question, sample)
                    entry = journal.read(evaluation.keys.of(request))
                    response = entry.response() if entry else NO_REPLY_YET
                    evidence = evidence_store.about(evaluation, question, sample, response)
                    if row is None:
                        score = evaluation.exam.score(question, response, evidence)
                        row = row_of(evaluation, question, sample, response, score, shown)
                    suspicion = evidence_store.suspicion(evaluation.exam, question, response)
                    said = tuple(describe_evidence(evidence, suspicion))
                    yield answer_of(row, entry, question, request, said)


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


def answered_without_questions(folder: RunFolder, wanted: Callable[[int], bool] = _ALL) -> Iterator[Answer]:
    """The same from scores.jsonl and responses.jsonl alone, where the questions are not at hand: no prompt, no gold.

    A reply is found by model, question and sample; where the run has several exams of that benchmark, in which
    questions share their ids, it is left out rather than guessed.
    """
    journal = folder.journal("responses", write=False)
    try:
        keys = keys_of_answers(journal, folder.record)
        for place, row in enumerate(score_rows(folder.path)):
            if wanted(place):
                key = keys.get((row.benchmark, row.model, row.question, row.sample))
                yield answer_of(row, journal.read(key) if key else None)
    finally:
        journal.close()


def keys_of_answers(journal: Journal, record: RunRecord) -> dict[tuple[str, str, str, int], bytes]:
    """(benchmark, model, question, sample) → where the journal has the reply, of exams that share no benchmark."""
    benchmarks = [exam.spec.benchmark for exam in record.exams]
    return {
        (entry.benchmark, entry.model, entry.question, entry.sample): bytes.fromhex(entry.key)
        for entry in journal.entries()
        if benchmarks.count(entry.benchmark) == 1
    }
