"""From a run's journals to its scores file and its results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import msgspec

from viva.engine.scorefile import new_scores
from viva.engine.stages import Sitting, scores, suspicions
from viva.reports.canaries import canary_notes
from viva.reports.deciding import Deciding
from viva.reports.result import Report, Result, Suspicious, signature
from viva.runs.canaries import canary_marks
from viva.runs.config import Output
from viva.runs.open import Examination, gather
from viva.runs.published_rows import unknown_notes, with_rows_beside
from viva.types import ScoreRow


def grade_run(examination: Examination, output: Output) -> Report:
    """Score every answer, write scores.jsonl anew, and sum up as far as `output` shows it. Asks nobody."""
    folder, record = examination.folder, examination.folder.record
    opened = dict(zip((model.name for model in examination.examinees), record.models, strict=True))
    remembered = {id(exam): record for exam, record in zip(examination.exams, record.exams, strict=True)}
    results: list[Result] = []
    with ExitStack() as stack:
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        gathered = gather(examination, stack)
        write = stack.enter_context(new_scores(folder.path)).write
        for sitting in examination.sittings:
            deciding, isolations = Deciding(), Counter[str]()
            rows = _counted(deciding.watched(scores(sitting, answers, gathered)), isolations)
            exam = remembered[id(sitting.exam)]
            model = opened[sitting.model.name]
            said = signature(record, exam, sitting.model.name, model)
            result = _result(sitting, _written(rows, write), output, said, judged=bool(record.judges))
            result = msgspec.structs.replace(
                result,
                decided=deciding.shares(),
                reviewed=deciding.reviewed,
                trained=model.trained,
                programs=isolations["separate"] + isolations["shared"],
                shared=isolations["shared"],
                suspicious=Suspicious.of(suspicions(sitting, answers, gathered)),
            )
            results.append(with_rows_beside(result, output.beside, exam, record))
    notes = [*unknown_notes(output.beside, record.exams, opened), *examination.notes()]
    if any(result.reviewed for result in results):
        notes.append(
            "Experts' marks count before verdicts, where there are any: a mean of both depends on what was marked. "
            f"`viva agree {folder.path}` says how far the verdicts can be trusted, and what the experts' mean would be."
        )
    canaries = canary_marks(examination)
    return Report(
        run=str(folder.path),
        results=tuple(results),
        notes=(*notes, *canary_notes(canaries)),
        canaries=canaries,
    )


def _result(sitting: Sitting, rows: Iterator[ScoreRow], output: Output, said: str, *, judged: bool) -> Result:
    from viva.analysis.breakdown import Breakdown, frame

    every = sitting.exam.layouts()
    breakdown = Breakdown(frame(rows), sitting.exam.headline().attempts, every)
    short = output.format == "terminal" and not output.all
    layouts = [layout for layout in every if not (layout.detail and short)]
    return Result(
        exam=sitting.label,
        benchmark=sitting.exam.spec.benchmark,
        language=sitting.exam.spec.language,
        model=sitting.model.name,
        overall=breakdown.cell(sitting.exam.headline()),
        tables=tuple(breakdown.table(layout, sitting.label, sitting.model.name) for layout in layouts),
        signature=said,
        judged=judged,
    )


def _counted(rows: Iterator[ScoreRow], isolations: Counter[str]) -> Iterator[ScoreRow]:
    for row in rows:
        isolations[row.isolation] += 1
        yield row


def _written(rows: Iterator[ScoreRow], write: Callable[[bytes], object]) -> Iterator[ScoreRow]:
    """Each row on its way to the tables also goes to the file: a run can have more rows than fit in memory."""
    encode = msgspec.json.Encoder().encode
    for row in rows:
        write(encode(row) + b"\n")
        yield row
