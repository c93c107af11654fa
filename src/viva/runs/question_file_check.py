"""The example answers of a question file, graded for real."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from viva.benchmarks.custom.examples import check_examples
from viva.benchmarks.custom.model import OwnQuestion, Problem
from viva.benchmarks.rubric_exam import RubricExam
from viva.engine.programs import program_key
from viva.errors import VivaError
from viva.runs.messages import notify
from viva.scorers.rubric.model import Graded
from viva.types import Evidence, Execute, Execution, Response


def example_problems(
    questions: Sequence[OwnQuestion], exam: RubricExam, notes: list[str], *, unsafe: bool = False
) -> list[Problem]:
    """Every example that does not score as it should, its tests run in the sandbox."""
    answers = ((own, example.answer) for own in questions for example in own.examples)
    grade = grader(exam, answers, notes, unsafe=unsafe)
    return [problem for own in questions for problem in check_examples(own, grade)]


def grader(
    exam: RubricExam,
    answers: Iterable[tuple[OwnQuestion, str]],
    notes: list[str],
    *,
    unsafe: bool,
    announced: bool = False,
) -> Callable[[OwnQuestion, str], Graded]:
    """What grades these answers. All their programs run once, in one sandbox; where there is none, `notes` says so."""
    asked = {question.id: question for question in exam.questions()}
    wanted: dict[bytes, Execute] = {}
    for own, answer in answers:
        for request in exam.executions(asked[own.id], Response(text=answer)):
            wanted[program_key(request)] = request
    if announced and wanted:
        notify(f"running {len(wanted):,} test programs in the sandbox")
    fared = run_programs(wanted, notes, unsafe=unsafe)

    def grade(own: OwnQuestion, answer: str) -> Graded:
        question = asked[own.id]
        requests = exam.executions(question, Response(text=answer))
        executions = [fared.get(program_key(request)) for request in requests]
        return exam.graded(question, answer, Evidence(executions=executions))

    return grade


def run_programs(wanted: dict[bytes, Execute], notes: list[str], *, unsafe: bool) -> dict[bytes, Execution]:
    """Run each program once. Where there is no sandbox, none is run, and `notes` gets a sentence."""
    if not wanted:
        return {}
    from viva.sandbox import Sandbox

    async def everything() -> dict[bytes, Execution]:
        sandbox = Sandbox(unsafe_host_execution=unsafe)
        try:
            fared = await asyncio.gather(*(sandbox.run(request) for request in wanted.values()))
        finally:
            await sandbox.close()
        return dict(zip(wanted, fared, strict=True))

    try:
        return asyncio.run(everything())
    except VivaError as problem:
        notes.append(f"{len(wanted)} test programs were not run: {problem}")
        return {}
