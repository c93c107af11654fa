"""Questions of a `viva build infibench` project graded for real: examples, empty answers, tests in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from viva.benchmarks.custom.examples import check_examples
from viva.benchmarks.custom.questionfiles import own_items
from viva.benchmarks.custom.questionmodel import OwnQuestion, Problem
from viva.benchmarks.rubric_exam import RubricExam
from viva.build.stackexchange.kitchecks import graded_problems, tried_texts
from viva.build.stackexchange.pool import PoolQuestion
from viva.prompting import Templates
from viva.runs.checks import grader
from viva.types import ExamSpec

Placed = tuple[PoolQuestion, OwnQuestion]


def grading_problems(
    questions: Sequence[Placed], notes: list[str], *, unsafe: bool = False
) -> dict[int, list[Problem]]:
    """Question (its number) → what grading its examples and empty answers tells; none where all is well.

    All programs run once, in one sandbox. Where there is none, `notes` says so and each such question has a warning.
    """
    exam = RubricExam(
        ExamSpec(benchmark="infibench"),
        own_items([own for _, own in questions], ""),
        fingerprint="",
        templates=Templates({}),
    )
    answers = ((own, text) for about, own in questions if own.rubric.tests for text in tried_texts(about, own))
    grade = grader(exam, answers, notes, unsafe=unsafe, announced=True)
    return {about.id: [*check_examples(own, grade), *graded_problems(about, own, grade)] for about, own in questions}
