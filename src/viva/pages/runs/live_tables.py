"""A run opened for the pages of `viva view`, and the tables that its page and its report show."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.budget import Consumed, Consumption
from viva.engine.folder import RunFolder
from viva.engine.stages import Evaluation, EvidenceStore, recorded
from viva.errors import StorageError
from viva.render.deciders import deciding_tables
from viva.render.formats import consumption_table, cut_off_notes, judging_notes, published_scores
from viva.render.result import (
    Result,
    across_models,
    footnotes,
    published_notes,
    score_table,
    side_by_side,
    signature,
    summary,
)
from viva.render.table import Table
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, open_evidence, prepare
from viva.runs.results import read_run
from viva.runs.scoring import judging_consumed, result_of, with_estimates
from viva.types import ScoreRow


class ExamTables(Struct, frozen=True, kw_only=True):
    """The tables of one exam."""

    exam: str
    across: Sequence[Table]
    """Over its models."""
    models: Sequence[tuple[str, Sequence[Table]]]
    """Model by model."""


class Tables(Struct, frozen=True, kw_only=True):
    """The tables of a run, or of several: over all models, exam by exam, and what belongs below."""

    results: Sequence[Result]
    summary: Table
    took: Table
    """What answers took; without rows where nobody counted."""
    exams: Sequence[ExamTables]
    languages: Sequence[Table]
    """Models that were asked in several languages, language beside language."""
    notes: Sequence[str]


class Opened(Struct, frozen=True):
    """A run opened to be looked at, and what produced the numbers of each sitting."""

    run: OpenRun
    signatures: Sequence[str]

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """Its models on its exams."""
        return self.run.evaluations

    def open_evidence(self, stack: ExitStack) -> EvidenceStore:
        """Return all that was found out about the answers; the stack closes it."""
        return open_evidence(self.run, stack)

    def tables(self, rows: Sequence[Sequence[ScoreRow]]) -> Tables:
        """Return the tables that `viva score` would print of these rows, one list of them a sitting."""
        opened, judged = self.run, bool(self.run.folder.record.judges)
        took = _consumed(opened, rows)
        results = [
            msgspec.structs.replace(result_of(evaluation, own, said, judged=judged), consumed=consumed)
            for evaluation, own, said, consumed in zip(opened.evaluations, rows, self.signatures, took, strict=True)
        ]
        results, estimated = with_estimates(opened.folder, opened.exams[0].headline(), results, rows)
        return tables_of(results, [*estimated, *judging_notes(_judging(opened)), *opened.notes()])


def open_run(path: Path) -> Opened:
    """Return a run as the pages look at it. Raises VivaError where its questions or models cannot be opened."""
    folder = RunFolder.open(path)
    record = folder.record
    opened = prepare(folder, LimitOptions(progress="quiet"))

    exams = dict(zip(map(id, opened.exams), record.exams, strict=True))
    models = dict(zip((model.name for model in opened.models), record.models, strict=True))
    signatures = [
        signature(record, exams[id(evaluation.exam)], evaluation.model.name, models[evaluation.model.name])
        for evaluation in opened.evaluations
    ]

    return Opened(opened, signatures)


def graded_results(path: Path) -> Sequence[Result]:
    """Return the results of a graded run, as `viva runs` lists them.

    Raises VivaError for one that is not graded, that was changed since, or that cannot be read.
    """
    return read_run(path, "none").results


def tables_of(results: Sequence[Result], notes: Sequence[str] = ()) -> Tables:
    """Return what the page of a run and a report show of results; `notes` come before those on single figures."""
    answered = [result for result in results if result.answered]
    by_exam = {exam: [r for r in answered if r.exam == exam] for exam in dict.fromkeys(r.exam for r in answered)}
    alone, exams = len(results) == 1, list(by_exam)
    published = [(exam, -(one.score or 0.0), one.model) for exam, one in published_scores(results)]
    published.sort(key=lambda row: (exams.index(row[0]), *row[1:]))  # best first
    beside = [(model, exam, -score) for exam, score, model in published]
    return Tables(
        results=results,
        summary=summary(results, beside),
        took=consumption_table(results),
        exams=[
            ExamTables(exam=exam, across=across_models(own), models=[(r.model, _own(r, alone)) for r in own])
            for exam, own in by_exam.items()
        ],
        languages=[table for table in side_by_side(answered) if table.rows],
        notes=[*notes, *footnotes(results), *cut_off_notes(results), *published_notes(results)],
    )


def _own(result: Result, alone: bool) -> list[Table]:
    tables = [score_table(table, result.beside) for table in result.tables if alone or not table.across]
    tables += deciding_tables(result.decided, f" · {result.exam} · {result.model}")
    return [table for table in tables if table.rows]


def _judging(opened: OpenRun) -> dict[str, Consumed]:
    with suppress(StorageError):
        return judging_consumed(opened)
    return {}


def _consumed(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]]) -> list[Consumed | None]:
    """Return what the answers of each sitting took so far; None for recorded replies, and where the journal is
    damaged.
    """
    found: list[Consumed | None] = [None] * len(opened.evaluations)
    with suppress(StorageError), ExitStack() as stack:  # the page lists the damaged lines
        journal = None if all(map(recorded, opened.evaluations)) else opened.folder.journal("responses", write=False)
        if journal is not None:
            stack.callback(journal.close)
        for number, (evaluation, own) in enumerate(zip(opened.evaluations, rows, strict=True)):
            if journal is None or recorded(evaluation):
                continue
            consumption = Consumption(evaluation.price)
            for _, _, entry in evaluation.answers(journal):
                if entry:
                    consumption.count(entry)
            found[number] = consumption.consumed(sum(row.outcome == "right" for row in own))
    return found
