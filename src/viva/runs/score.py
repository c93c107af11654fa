"""From a run's journals to its scores file and its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack

import msgspec

from viva.benchmarks import find_benchmark
from viva.engine.consumption import Consumption, cut_off
from viva.engine.scorefile import new_scores
from viva.engine.stages import Evaluation, recorded, scores, suspicions
from viva.reports.canaries import canary_notes
from viva.reports.consumption import judging_notes
from viva.reports.deciders import DeciderCounts
from viva.reports.result import Report, Result, Suspicious, signature
from viva.runs.canaries import canary_marks
from viva.runs.config import OutputOptions
from viva.runs.estimates import with_estimates
from viva.runs.judging import judging_consumed
from viva.runs.open import OpenRun, open_evidence
from viva.runs.published_rows import unknown_notes, with_published_rows
from viva.types import ScoreRow, StopReason


def grade_run(opened_run: OpenRun, output: OutputOptions) -> Report:
    """Score every answer, rewrite scores.jsonl, and aggregate what `output` shows. Sends no request."""
    folder, record = opened_run.folder, opened_run.folder.record
    opened = dict(zip((model.name for model in opened_run.models), record.models, strict=True))
    remembered = {id(exam): record for exam, record in zip(opened_run.exams, record.exams, strict=True)}
    results: list[Result] = []
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened_run, stack)
        write = stack.enter_context(new_scores(folder.path)).write
        for evaluation in opened_run.evaluations:
            deciding, isolations, cut = DeciderCounts(), Counter[str](), Counter[StopReason]()
            consumption = Consumption(evaluation.price)
            every = scores(evaluation, answers, evidence_store, consumption.count)
            rows = _counted(deciding.watched(every), isolations, cut)
            exam = remembered[id(evaluation.exam)]
            model = opened[evaluation.model.name]
            said = signature(record, exam, evaluation.model.name, model)
            shortened = not output.everything
            result = result_of(evaluation, _written(rows, write), said, judged=bool(record.judges), shortened=shortened)
            result = msgspec.structs.replace(
                result,
                decided=deciding.shares(),
                reviewed=deciding.reviewed,
                trained=model.trained,
                programs=isolations["separate"] + isolations["shared"],
                shared=isolations["shared"],
                consumed=None if recorded(evaluation) else consumption.consumed(),
                cut_off=dict(cut),
                suspicious=Suspicious.of(suspicions(evaluation, answers, evidence_store)),
            )
            results.append(with_published_rows(result, output.published_rows, exam, record))
    results, estimated = with_estimates(folder, opened_run.exams[0].headline(), results)
    notes = [*estimated, *unknown_notes(output.published_rows, record.exams, opened)]
    notes += [*judging_notes(judging_consumed(opened_run)), *opened_run.notes()]
    if any(result.reviewed for result in results):
        notes.append(
            "Experts' marks count before verdicts, where there are any: a mean of both depends on what was marked. "
            f"`viva agreement {folder.path}` says how far the verdicts can be trusted, and what the experts' mean "
            f"would be."
        )
    canaries = canary_marks(opened_run)
    return Report(
        run=str(folder.path),
        results=tuple(results),
        notes=(*notes, *canary_notes(canaries)),
        canaries=canaries,
    )


def result_of(
    evaluation: Evaluation, rows: Iterable[ScoreRow], said: str, *, judged: bool, shortened: bool = False
) -> Result:
    """What came of one model on one exam; `shortened`: without the tables of details."""
    from viva.analysis.breakdown import Breakdown, frame

    every = evaluation.exam.layouts()
    breakdown = Breakdown(frame(rows), evaluation.exam.headline().attempts, every)
    layouts = [layout for layout in every if not (layout.detail and shortened)]
    return Result(
        exam=evaluation.label,
        benchmark=evaluation.exam.spec.benchmark,
        language=evaluation.exam.spec.language,
        model=evaluation.model.name,
        overall=breakdown.cell(evaluation.exam.headline()),
        tables=tuple(breakdown.table(layout, evaluation.label, evaluation.model.name) for layout in layouts),
        signature=said,
        judged=judged,
        pass_line=find_benchmark(evaluation.exam.spec.benchmark).about.pass_line,
    )


def _counted(rows: Iterator[ScoreRow], isolations: Counter[str], cut: Counter[StopReason]) -> Iterator[ScoreRow]:
    for row in rows:
        isolations[row.isolation] += 1
        for reason in cut_off(row):
            cut[reason] += 1
        yield row


def _written(rows: Iterator[ScoreRow], write: Callable[[bytes], object]) -> Iterator[ScoreRow]:
    """Each row on its way to the tables also goes to the file: a run can have more rows than fit in memory."""
    encode = msgspec.json.Encoder().encode
    for row in rows:
        write(encode(row) + b"\n")
        yield row
