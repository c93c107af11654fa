"""`viva check FILE`: a question file validated, and its example answers graded for real."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

import click

from viva.benchmarks.questions.examples import check_examples
from viva.benchmarks.questions.loading import read_questions
from viva.benchmarks.questions.model import OwnQuestion, Problem
from viva.benchmarks.rubric_exam import RubricExam
from viva.engine.programs import program_key
from viva.errors import EXIT_INCOMPLETE, VivaError
from viva.scorers.rubric.model import Graded
from viva.types import Evidence, Execute, Execution, Response
from viva.visible import visible

SHOWN = 50
"""Problems that are listed; the rest is counted."""


def check_question_file(path: Path, exam: RubricExam | None, *, unsafe: bool = False) -> int:
    """Print what is wrong with a question file and with its examples. Returns the exit code.

    `exam` is the file opened, None where its errors forbid that: then the examples are not graded.
    """
    read = read_questions(path)
    problems = list(read.problems)
    notes: list[str] = []
    if exam is not None:
        problems += example_problems(read.questions, exam, notes, unsafe=unsafe)
    problems.sort(key=lambda problem: (problem.line, problem.column))
    for problem in problems[:SHOWN]:
        click.echo(visible(f"{path}:{problem}"))
    if len(problems) > SHOWN:
        click.echo(f"... and {len(problems) - SHOWN} more")
    for note in notes:
        click.echo(visible(note))
    errors = sum(problem.severity == "error" for problem in problems)
    examples = sum(len(question.examples) for question in read.questions)
    click.echo(
        f"{path}: {len(read.questions):,} questions, {examples:,} example answers, {errors} errors, "
        f"{len(problems) - errors} warnings" + ("" if exam else "; the examples were not graded, because of the errors")
    )
    return EXIT_INCOMPLETE if errors else 0


def example_problems(
    questions: Sequence[OwnQuestion], exam: RubricExam, notes: list[str], *, unsafe: bool = False
) -> list[Problem]:
    """Every example that does not score as it should, its tests run in the sandbox."""
    asked = {question.id: question for question in exam.questions()}
    wanted: dict[bytes, Execute] = {}
    for own in questions:
        for example in own.examples:
            for request in exam.executions(asked[own.id], Response(text=example.answer)):
                wanted[program_key(request)] = request
    fared = run_programs(wanted, notes, unsafe=unsafe)

    def grade(own: OwnQuestion, answer: str) -> Graded:
        question = asked[own.id]
        requests = exam.executions(question, Response(text=answer))
        executions = [fared.get(program_key(request)) for request in requests]
        return exam.graded(question, answer, Evidence(executions=executions))

    return [problem for own in questions for problem in check_examples(own, grade)]


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
