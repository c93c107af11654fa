"""A run opened for the pages of `viva view`, and its tables as far as it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from viva.errors import StorageError

if TYPE_CHECKING:
    from viva.engine.consumption import Consumed
    from viva.engine.stages import EvidenceStore
    from viva.pages.runs.opened import Opened, ResultRow, Tables
    from viva.render.result import Result
    from viva.runs.open import OpenRun
    from viva.types import ScoreRow


def open_run(path: Path) -> Opened:
    """A run as the pages look at it. Raises VivaError where its questions or models cannot be opened."""
    from viva.engine.folder import RunFolder
    from viva.pages.runs.opened import Opened
    from viva.render.result import signature
    from viva.runs.config import LimitOptions
    from viva.runs.open import open_evidence, prepare

    folder = RunFolder.open(path)
    record = folder.record
    opened = prepare(folder, LimitOptions(progress="quiet"))

    def open_evidence_store(stack: ExitStack) -> EvidenceStore:
        return open_evidence(opened, stack)

    exams = dict(zip(map(id, opened.exams), record.exams, strict=True))
    models = dict(zip((model.name for model in opened.models), record.models, strict=True))
    signatures = [
        signature(record, exams[id(evaluation.exam)], evaluation.model.name, models[evaluation.model.name])
        for evaluation in opened.evaluations
    ]

    def tables(rows: Sequence[Sequence[ScoreRow]]) -> Tables:
        return tables_so_far(opened, rows, signatures)

    return Opened(
        evaluations=opened.evaluations, signatures=signatures, open_evidence=open_evidence_store, tables=tables
    )


def graded_results(path: Path) -> list[ResultRow]:
    """The results of a graded run, as `viva runs` lists them.

    Raises VivaError for one that is not graded, that was changed since, or that cannot be read.
    """
    from viva.runs.results import read_run

    return [_result_row(one) for one in read_run(path, "none").results]


def _result_row(result: Result) -> ResultRow:
    from viva.pages.runs.opened import ResultRow

    return ResultRow(exam=result.exam, model=result.model, estimate=result.overall)


def tables_so_far(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]], signatures: Sequence[str]) -> Tables:
    """The tables that `viva score` would print of these rows, one list of them a sitting."""
    from viva.pages.runs.opened import Tables
    from viva.render.consumption import consumption_grid, judging_notes
    from viva.render.result import across_models, footnotes, grid, side_by_side, summary
    from viva.runs.score import result_of, with_estimates

    judged = bool(opened.folder.record.judges)
    results = [
        msgspec.structs.replace(result_of(evaluation, own, said, judged=judged), consumed=took)
        for evaluation, own, said, took in zip(
            opened.evaluations, rows, signatures, _consumed(opened, rows), strict=True
        )
    ]
    results, estimated = with_estimates(opened.folder, opened.exams[0].headline(), results, rows)
    each = [
        (result.exam, result.model, [grid(table) for table in result.tables if not table.across or len(results) == 1])
        for result in results
    ]
    took = consumption_grid(results)
    return Tables(
        results=[_result_row(one) for one in results],
        took=took if took.rows else None,
        first=[summary(results), *across_models(results)],
        languages=side_by_side(results),
        each=each,
        notes=[*estimated, *footnotes(results), *judging_notes(_judging(opened)), *opened.notes()],
    )


def _judging(opened: OpenRun) -> dict[str, Consumed]:
    from viva.runs.score import judging_consumed

    try:
        return judging_consumed(opened)
    except StorageError:
        return {}


def _consumed(opened: OpenRun, rows: Sequence[Sequence[ScoreRow]]) -> list[Consumed | None]:
    """What the answers of each sitting took so far; None for recorded replies, and where the journal is damaged."""
    from viva.engine.consumption import Consumption
    from viva.engine.stages import recorded

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
