"""A run opened for the pages of `viva view`, and its tables as far as it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.engine.budget import Consumed, Consumption
from viva.engine.folder import RunFolder
from viva.engine.stages import Evaluation, EvidenceStore, recorded
from viva.errors import StorageError
from viva.render.costs import consumption_table, judging_notes
from viva.render.result import Result, across_models, footnotes, score_table, side_by_side, signature, summary
from viva.render.table import Table
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, open_evidence, prepare
from viva.runs.results import read_run
from viva.runs.scoring import judging_consumed, result_of, with_estimates
from viva.types import ScoreRow


class ResultRow(Struct, frozen=True, kw_only=True):
    """One model's result on one exam, to be drawn."""

    exam: str
    model: str
    estimate: Estimate
    answer: Estimate | None = None
    """Of the answers alone (`Result.answer`)."""


class Tables(Struct, frozen=True, kw_only=True):
    """A run's tables: over all models, of every sitting (model and exam), and what belongs below."""

    results: Sequence[ResultRow]
    took: Table | None = None
    """What answers took; None where nobody counted."""
    first: Sequence[Table]
    languages: Sequence[Table] = ()
    """Models that were asked in several languages, language beside language."""
    each: Sequence[tuple[str, str, Sequence[Table]]] = ()
    """Exam, model, tables."""
    notes: Sequence[str] = ()


class Opened(Struct, frozen=True):
    """A run opened to be looked at, and what produced the numbers of each sitting."""

    run: OpenRun
    signatures: Sequence[str]

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """Its models on its exams."""
        return self.run.evaluations

    def open_evidence(self, stack: ExitStack) -> EvidenceStore:
        """All that was found out about the answers; the stack closes it."""
        return open_evidence(self.run, stack)

    def tables(self, rows: Sequence[Sequence[ScoreRow]]) -> Tables:
        """The tables that `viva score` would print of these rows, one list of them a sitting."""
        return tables_so_far(self.run, rows, self.signatures)


def open_run(path: Path) -> Opened:
    """A run as the pages look at it. Raises VivaError where its questions or models cannot be opened."""
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


def graded_results(path: Path) -> list[ResultRow]:
    """The results of a graded run, as `viva runs` lists them.

    Raises VivaError for one that is not graded, that was changed since, or that cannot be read.
    """
    return [result_row(one) for one in read_run(path, "none").results]


def result_row(result: Result) -> ResultRow:
    """Return what is drawn of a result."""
    return ResultRow(exam=result.exam, model=result.model, estimate=result.overall, answer=result.answer)


def tables_so_far(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]], signatures: Sequence[str]) -> Tables:
    """The tables that `viva score` would print of these rows, one list of them a sitting."""
    judged = bool(opened.folder.record.judges)
    results = [
        msgspec.structs.replace(result_of(evaluation, own, said, judged=judged), consumed=took)
        for evaluation, own, said, took in zip(
            opened.evaluations, rows, signatures, _consumed(opened, rows), strict=True
        )
    ]
    results, estimated = with_estimates(opened.folder, opened.exams[0].headline(), results, rows)
    each = [
        (
            result.exam,
            result.model,
            [score_table(table) for table in result.tables if not table.across or len(results) == 1],
        )
        for result in results
    ]
    took = consumption_table(results)
    return Tables(
        results=[result_row(one) for one in results],
        took=took if took.rows else None,
        first=[summary(results), *across_models(results)],
        languages=side_by_side(results),
        each=each,
        notes=[*estimated, *footnotes(results), *judging_notes(_judging(opened)), *opened.notes()],
    )


def _judging(opened: OpenRun) -> dict[str, Consumed]:
    try:
        return judging_consumed(opened)
    except StorageError:
        return {}


def _consumed(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]]) -> list[Consumed | None]:
    """What the answers of each sitting took so far; None for recorded replies, and where the journal is damaged."""
    found: list[Consumed | None] = [None] * len(opened.evaluations)
    if all(map(recorded, opened.evaluations)):
        return found
    try:
        journal = opened.folder.journal("responses", write=False)
    except StorageError:
        return found  # the page lists the damaged lines
    try:
        for number, (evaluation, own) in enumerate(zip(opened.evaluations, rows, strict=True)):
            if recorded(evaluation):
                continue
            consumption = Consumption(evaluation.price)
            for _, _, entry in evaluation.answers(journal):
                if entry:
                    consumption.count(entry)
            found[number] = consumption.consumed(sum(row.outcome == "right" for row in own))
    except StorageError:
        return found
    finally:
        journal.close()
    return found
