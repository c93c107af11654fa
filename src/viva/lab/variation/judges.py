"""What a run's answers earn under each of its judges alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from msgspec.structs import replace

from viva.engine.folder import ExamRecord, RunFolder
from viva.engine.stages import NO_REPLY_YET, Evaluation, EvidenceStore, parts_shown, row_of
from viva.runs.config import LimitOptions
from viva.runs.open import open_evidence, prepare
from viva.types import ScoreRow

Marked = tuple[tuple[ScoreRow, ...], bool]
"""One answer: its row under each judge, in the order of the run's judges, and whether any of them gave a reply."""


def rows_by_judge(path: Path) -> Iterator[tuple[ExamRecord, str, Iterator[Marked]]]:
    """Exam, model and answers, one model on one exam after the other; answers must be read before the next.

    All is graded here from the files of the run, without the marks of experts, which count before any judge's. Raises
    VivaError where the run's questions are not here.
    """
    folder = RunFolder.open(path)
    opened = prepare(folder, LimitOptions(progress="quiet"))
    exams = {exam.spec.label: exam for exam in folder.record.exams}
    with ExitStack() as stack:
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            yield exams[evaluation.label], evaluation.model.name, _marked(folder, evaluation, evidence_store)


def _marked(folder: RunFolder, evaluation: Evaluation, evidence_store: EvidenceStore) -> Iterator[Marked]:
    exam, shown = evaluation.exam, parts_shown(evaluation.exam)
    judges = [judge.model.name for judge in evidence_store.judge_panel.judges] if evidence_store.judge_panel else []
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        for question, sample, entry in evaluation.answers(journal):
            response = entry.response() if entry else NO_REPLY_YET
            evidence = evidence_store.about(evaluation, question, sample, response)
            alone = (
                replace(evidence, marks=(), opinions=[one for one in evidence.opinions if one.judge == judge])
                for judge in judges
            )
            scores = [exam.score(question, response, one) for one in alone]
            rows = tuple(row_of(evaluation, question, sample, response, score, shown) for score in scores)
            yield rows, bool(evidence.opinions)
