"""Exams with rationales, with replies and verdicts, for several tests."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.benchmarks import open_exam
from viva.contracts import Exam
from viva.types import (
    ANSWER,
    RATIONALE,
    Evidence,
    ExamSpec,
    Kind,
    Mark,
    Opinion,
    Question,
    Response,
    Score,
    ScoreRow,
    TableSpec,
)


def opened(benchmark: str = "clrbench", data: Path | None = None, **settings: Any) -> Exam:
    """An exam as `viva run` opens it; CLR-Bench with its exemplar unless told otherwise."""
    given = {"benchmark": benchmark, "shots": 1} if benchmark == "clrbench" else {"benchmark": benchmark}
    return open_exam(ExamSpec(**{**given, **settings}), data)


def first(exam: Exam, kind: Kind) -> Question:
    """Its first question of a kind."""
    return next(question for question in exam.questions() if question.kind == kind)


def reply(why: str, what: str, **response: Any) -> Response:
    """A reply in the form that is asked for."""
    return Response(text=json.dumps({"Rationale": why, "Answer": what}, ensure_ascii=False), **response)


def evidence(
    *,
    answer: Iterable[str] = (),
    rationale: Iterable[str] = (),
    marks: Iterable[Mark] = (),
    alike: dict[str, float] | None = None,
    judge: str = "judge",
) -> Evidence:
    """Verdict lines about answer and rationale, experts' marks, similarities."""
    said = [(ANSWER, given) for given in answer] + [(RATIONALE, given) for given in rationale]
    return Evidence(
        opinions=[Opinion(judge, aspect, f"Reason.\nVERDICT: {given}") for aspect, given in said],
        marks=list(marks),
        similarities=alike or {},
    )


def row(exam: Exam, question: Question, score: Score, sample: int = 0) -> ScoreRow:
    """A score as scores.jsonl holds it."""
    return ScoreRow(
        benchmark=exam.spec.benchmark,
        exam="exam",
        model="m",
        question=question.id,
        sample=sample,
        repeat=0,
        value=score.value,
        outcome=score.outcome,
        answer=score.answer,
        explanation=score.explanation,
        tags=question.tags,
        parts=score.parts,
        weight=question.weight,
        decided=score.decided,
        limits=score.limits,
    )


def layout(exam: Exam, name: str) -> TableSpec:
    """One of its tables."""
    return next(table for table in exam.layouts() if table.name == name)


def cells(exam: Exam, rows: Iterable[ScoreRow], table: str, of: str = "Overall") -> dict[str, Estimate]:
    """Column → cell of one row of a table."""
    shape = layout(exam, table)
    filled = Breakdown(frame(rows)).table(shape, "exam", "m")
    return dict(zip(filled.columns, filled.cells[filled.rows.index(of)], strict=True))
