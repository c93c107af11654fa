"""From a run's journals to its scores file and its results: estimates of adaptive runs, marks of canaries, what judging
took."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack

import msgspec

from viva.benchmarks import find_benchmark
from viva.contracts import Exam
from viva.engine.budget import Consumed, Consumption, cut_off
from viva.engine.folder import AdaptiveRecord, RunFolder
from viva.engine.scorefile import new_scores, score_rows
from viva.engine.stages import Evaluation, recorded, scores, with_questions
from viva.errors import flag
from viva.providers import traits_of
from viva.render.deciders import CanaryMarks, DeciderCounts, canary_notes
from viva.render.formats import judging_notes
from viva.render.result import Report, Result, signature
from viva.render.table import signed
from viva.runs.config import OutputOptions
from viva.runs.draws import Until, estimate, estimated_cell, question_scores, read_draws
from viva.runs.open import OpenRun, open_evidence
from viva.runs.progress import Screen
from viva.runs.published_rows import unknown_notes, with_published_rows
from viva.types import Aggregate, Constant, Response, ScoreRow, StopReason
from viva.visible import one_line


def grade_run(opened_run: OpenRun, output: OutputOptions) -> Report:
    """Score every answer, rewrite scores.jsonl, and aggregate what `output` shows. Sends no request."""
    folder, record = opened_run.folder, opened_run.folder.record
    opened = dict(zip((model.name for model in opened_run.models), record.models, strict=True))
    remembered = {id(exam): record for exam, record in zip(opened_run.exams, record.exams, strict=True)}
    results: list[Result] = []
    screen = Screen(opened_run.limits.progress)
    expected = sum(exam.questions for exam in record.exams) * len(record.models) * record.samples * record.repeats
    with ExitStack() as stack:
        stack.callback(screen.close)
        answers = folder.journal("responses", write=False)
        stack.callback(answers.close)
        evidence_store = open_evidence(opened_run, stack)
        averages = [(exam.headline(), exam.layouts()) for exam in opened_run.exams]
        write = stack.enter_context(new_scores(folder.path, averages)).write
        graded = itertools.count(1)
        for evaluation in opened_run.evaluations:
            deciding, isolations, cut = DeciderCounts(), Counter[str](), Counter[StopReason]()
            consumption = Consumption(evaluation.price)
            every = _shown(scores(evaluation, answers, evidence_store, consumption.count), screen, graded, expected)
            rows = _counted(deciding.watched(every), isolations, cut)
            exam = remembered[id(evaluation.exam)]
            model = opened[evaluation.model.name]
            said = signature(record, exam, evaluation.model.name, model)
            shortened = not output.everything
            result = result_of(evaluation, _written(rows, write), said, judged=bool(record.judges), shortened=shortened)
            result = msgspec.structs.replace(
                result,
                decided=deciding.decided(),
                reviewed=deciding.reviewed,
                trained=model.trained,
                programs=isolations["separate"] + isolations["shared"],
                shared=isolations["shared"],
                consumed=None if recorded(evaluation) else consumption.consumed(),
                cut_off=dict(cut),
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
    """Return what came of one model on one exam; `shortened`: without the tables of details."""
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
        constant=constant_of(evaluation.exam),
    )


@functools.lru_cache(maxsize=4)
def constant_of(exam: Exam) -> Constant | None:
    """Score the best constant answer of an exam, once for all its models: seconds in a table of twenty."""
    return exam.constant()


def _shown(rows: Iterator[ScoreRow], screen: Screen, graded: Iterator[int], expected: int) -> Iterator[ScoreRow]:
    """Yield rows on their way, and how many of those of all models there were where that takes long."""
    for row, number in zip(rows, graded, strict=False):
        if screen.due():
            screen.show(f"grading: {number:,}/{expected:,}")
        yield row


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


def judging_consumed(opened: OpenRun) -> dict[str, Consumed]:
    """Judge → what all its replies took, also those that held no verdict or were asked for again. Recorded ones, and
    verdicts of another run, took nothing."""
    judges = opened.judge_panel.judges if opened.judge_panel else ()
    found = {
        judge.model.name: Consumption(judge.price)
        for judge in judges
        if not traits_of(judge.model.identity.get("provider", "")).recorded
    }
    if found:
        journal = opened.folder.journal("annotations", write=False)
        try:
            for entry in journal.lines():
                if entry.model in found:
                    found[entry.model].count_judging(entry)
        finally:
            journal.close()
    return {name: took.consumed(0) for name, took in found.items() if took.replies}


def canary_marks(opened: OpenRun) -> tuple[CanaryMarks, ...]:
    """Return what every judge of a run gave its canaries, exam by exam, from the journals alone."""
    judge_panel, canaries = opened.judge_panel, opened.folder.record.canaries
    if judge_panel is None or not canaries:
        return ()
    marks: dict[tuple[str, str], list[tuple[float, float | None]]] = {}
    with ExitStack() as stack:
        evidence_store = open_evidence(opened, stack)
        for exam, question, canary in with_questions(canaries, opened.exams):
            response = Response(text=canary.text)
            for judge in judge_panel.judges:
                into = marks.setdefault((exam.spec.label, judge.model.name), [])
                for opinion in evidence_store.opinions(judge, exam, question, response, {}):
                    into.append((canary.mark, exam.mark(question, opinion) if opinion else None))
    return tuple(
        CanaryMarks(exam=exam, judge=judge, known=tuple(k for k, _ in found), given=tuple(g for _, g in found))
        for (exam, judge), found in marks.items()
        if found
    )


def with_estimates(
    folder: RunFolder,
    headline: Aggregate,
    results: Sequence[Result],
    rows: Sequence[Sequence[ScoreRow]] | None = None,
) -> tuple[list[Result], list[str]]:
    """Return the results with estimates, and what must be known beside them; of any other run the results, and nothing.

    Tables of parts are left out: the questions drawn are no sample of any part. `rows`: of each result; by default
    scores.jsonl has them. Questions that were drawn after these were read do not count.
    """
    from viva.analysis.breakdown import frame

    adaptive = folder.record.adaptive
    if adaptive is None:
        return list(results), []
    if rows is None:
        by_model = itertools.groupby(score_rows(folder.path), key=lambda row: row.model)  # of one exam
        frames = [frame(mine) for _, mine in by_model]
    else:
        frames = [frame(mine) for mine in rows]
    if len(frames) < len(results):  # nothing was drawn yet
        return list(results), []
    found = [question_scores(mine, headline) for mine in frames]
    read = set(frames[0].texts["question"].values)
    until, draws = read_draws(folder)
    draws = [draw for draw in draws if draw.question in read]
    estimated = [
        msgspec.structs.replace(
            result,
            overall=estimated_cell(result.overall, draws, mine, target, until),
            tables=(),
            estimated=adaptive.questions,
        )
        for target, (result, mine) in enumerate(zip(results, found, strict=True))
    ]
    answers = min(sum(draw.question in mine for draw in draws) for mine in found)
    notes = [_note(estimated[0].exam, answers, len(draws), adaptive, until)]
    if until.kind == "score":
        low, high = estimated[0].overall.low, estimated[0].overall.high
        above, below = low is not None and low > until.value, high is not None and high < until.value
        side = "above" if above else "below" if below else "not known to be above or below"
        notes.append(f"{one_line(results[0].model, 40)}: the score is {side} {100 * until.value:g} %.")
    if until.kind == "difference":
        known = estimate(draws, found, len(found), until)
        a, b = (one_line(result.model, 40) for result in results)
        low, high = known.low or 0.0, known.high or 0.0
        better = f"{a} is better" if low > 0 else f"{b} is better" if high < 0 else "it is not known yet"
        points = " to ".join(signed(100 * value) for value in (low, high))
        notes.append(
            f"{a} less {b}: {signed(100 * (known.mean or 0.0))} points ({points}, whenever one looks): {better}."
        )
    return estimated, notes


def _note(exam: str, answers: int, drawn: int, adaptive: AdaptiveRecord, until: Until) -> str:
    of = f"{drawn:,}" if answers == drawn else f"{answers:,} scored of {drawn:,}"
    holds = "for a number chosen before" if until.kind == "number" else "whenever one looks or stops"
    missing = "" if answers == drawn else ", and whatever those without a score would have got"
    return (
        f"{exam}: adaptive, an estimate for all {adaptive.questions:,} questions from {of}, drawn where "
        f"{adaptive.known:,} other models' scores predict least ({flag('until')} {one_line(adaptive.until, 40)}); "
        "its interval "
        f"holds {holds}{missing}. Tables of parts are left out: what was drawn is no sample of them."
    )
