"""A run opened for the pages of `viva view`, and its tables as far as it is."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from viva.engine.stages import Gathered, Sitting
    from viva.reports.result import Result
    from viva.runs.open import Examination
    from viva.types import ScoreRow
    from viva.viewing.opened import Opened, Tables


def open_run(path: Path) -> Opened:
    """A run as the pages look at it. Raises VivaError where its questions or models cannot be opened."""
    from viva.engine.folder import RunFolder
    from viva.reports.result import signature
    from viva.runs.config import Limits
    from viva.runs.open import gather, prepare
    from viva.viewing.opened import Opened

    folder = RunFolder.open(path)
    record = folder.record
    examination = prepare(folder, Limits(progress="quiet"))

    def gathered(stack: ExitStack) -> Gathered:
        return gather(examination, stack)

    exams = dict(zip(map(id, examination.exams), record.exams, strict=True))
    models = dict(zip((model.name for model in examination.examinees), record.models, strict=True))
    signatures = [
        signature(record, exams[id(sitting.exam)], sitting.model.name, models[sitting.model.name])
        for sitting in examination.sittings
    ]

    def tables(rows: Sequence[Sequence[ScoreRow]]) -> Tables:
        return tables_so_far(examination, rows, signatures)

    return Opened(sittings=examination.sittings, signatures=signatures, gather=gathered, tables=tables)


def tables_so_far(examination: Examination, rows: Sequence[Sequence[ScoreRow]], signatures: Sequence[str]) -> Tables:
    """The tables that `viva score` would print of these rows, one list of them a sitting."""
    from viva.reports.result import across_models, footnotes, grid, side_by_side, summary
    from viva.viewing.opened import Tables

    judged = bool(examination.folder.record.judges)
    results = [
        _result(sitting, own, said, judged)
        for sitting, own, said in zip(examination.sittings, rows, signatures, strict=True)
    ]
    each = [
        (result.exam, result.model, [grid(table) for table in result.tables if not table.across or len(results) == 1])
        for result in results
    ]
    first = [summary(results), *across_models(results), *side_by_side(results)]
    return Tables(first=first, each=each, notes=[*footnotes(results), *examination.notes()])


def _result(sitting: Sitting, rows: Sequence[ScoreRow], said: str, judged: bool) -> Result:
    from viva.analysis.breakdown import Breakdown, frame
    from viva.reports.result import Result

    breakdown = Breakdown(frame(rows), sitting.exam.headline().attempts)
    return Result(
        exam=sitting.label,
        benchmark=sitting.exam.spec.benchmark,
        language=sitting.exam.spec.language,
        model=sitting.model.name,
        overall=breakdown.cell(sitting.exam.headline()),
        tables=tuple(breakdown.table(layout, sitting.label, sitting.model.name) for layout in sitting.exam.layouts()),
        signature=said,
        judged=judged,
    )
