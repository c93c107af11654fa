"""Questions of a `viva build infibench` project graded for real: examples, empty answers, tests in the sandbox."""

from __future__ import annotations

from collections.abc import Sequence

from viva.authoring.stackexchange.kitchecks import graded_problems, tried_texts
from viva.authoring.stackexchange.pool import PoolQuestion
from viva.benchmarks.custom.benchmark import own_items
from viva.benchmarks.custom.examples import check_examples
from viva.benchmarks.custom.model import OwnQuestion, Problem
from viva.benchmarks.rubric_exam import RubricExam
from viva.engine.programs import program_key
from viva.prompting import Templates
from viva.runs.messages import notify
from viva.runs.question_file_check import run_programs
from viva.scorers.rubric.model import Graded
from viva.types import Evidence, ExamSpec, Execute, Response

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
    asked = {question.id: question for question in exam.questions()}
    wanted: dict[bytes, Execute] = {}
    for about, own in questions:
        for text in tried_texts(about, own) if own.rubric.tests else ():
            for request in exam.executions(asked[own.id], Response(text=text)):
                wanted[program_key(request)] = request
    if wanted:
        notify(f"running {len(wanted):,} test programs in the sandbox")
    fared = run_programs(wanted, notes, unsafe=unsafe)

    def grade(own: OwnQuestion, answer: str) -> Graded:
        question = asked[own.id]
        requests = exam.executions(question, Response(text=answer))
        executions = [fared.get(program_key(request)) for request in requests]
        return exam.graded(question, answer, Evidence(executions=executions))

    return {about.id: [*check_examples(own, grade), *graded_problems(about, own, grade)] for about, own in questions}
