"""The results of an adaptive run: in place of means over the questions drawn, what all questions would give."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import msgspec

from viva.engine.folder import AdaptiveRecord, RunFolder
from viva.engine.scorefile import score_rows
from viva.reports.result import Result, signed
from viva.runs.draws import Until, estimate, estimated_cell, question_scores, read_draws
from viva.types import Aggregate, ScoreRow
from viva.visible import one_line


def with_estimates(
    folder: RunFolder,
    headline: Aggregate,
    results: Sequence[Result],
    rows: Sequence[Sequence[ScoreRow]] | None = None,
) -> tuple[list[Result], list[str]]:
    """The results with estimates, and what must be known beside them; of any other run the results, and nothing.

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
        f"{adaptive.known:,} other models' scores predict least (--until {one_line(adaptive.until, 40)}); its interval "
        f"holds {holds}{missing}. Tables of parts are left out: what was drawn is no sample of them."
    )
