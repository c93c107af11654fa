"""`viva check`: a data set and its grading, tested with the set's own gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from viva.benchmarks import find_benchmark, question_file
from viva.cli.checkexplained import explained_problems, said
from viva.cli.exams import label, open_exams
from viva.cli.options import exam_options
from viva.cli.settings import data_folder
from viva.contracts import Exam
from viva.errors import EXIT_INCOMPLETE, DataError, MissingDataError
from viva.prompting import prompt_text
from viva.runs.config import Choice, pick
from viva.scorers.golden import phrasings, wrong_answer
from viva.types import Choose, Defect, Likelihood, Question, Response, Sampling
from viva.visible import one_line, visible


@click.command(name="check", short_help="Test a data set and its grading with its own gold answers.")
@click.argument("benchmark")
@click.option("--all", "show_all", is_flag=True, help="List every defect, also the many of a kind that were repaired.")
@exam_options
@click.option(
    "--unsafe-host-execution", is_flag=True, help="Run the examples' programs WITHOUT a sandbox, with all your rights."
)
def check_command(benchmark: str, show_all: bool, unsafe_host_execution: bool, **given: Any) -> int:
    """For every question of BENCHMARK: its gold answer, in several phrasings, must score 1, a wrong one 0, and an empty
    reply must be unscored as empty. Lists the data set's defects. Exit code 3 when a sound question fails.

    All languages are checked unless --language says otherwise. In place of a benchmark, a question file of your own
    (NAME.yaml): it is validated, and its example answers must score as it says.
    """
    choice = pick(Choice, given)
    if file := question_file(benchmark):
        return _check_file(file, choice, unsafe=unsafe_host_execution)
    failed = 0
    for exam in _exams(benchmark, choice):
        found = failures(exam)
        failed += len(found)
        unsound = sum(1 for question in exam.questions() if question.answer is None)
        kinds = Counter(question.kind for question in exam.questions())
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        click.echo(
            f"{label(exam)}: {len(exam):,} questions ({counts}), {len(exam) - unsound:,} sound, {unsound} unsound"
        )
        for line in _defect_lines(list(exam.defects), show_all=show_all):
            click.echo(f"  {line}")
        for failure in found[:20]:
            click.echo(f"  FAILED {failure}")
        verdict = "gold scores 1, wrong scores 0, empty is empty: all as it should be"
        if set(kinds) == {"free"}:
            verdict = "every prompt is there, empty is empty (the set holds no gold answers that could be graded)"
        click.echo(f"  self-test: {f'{len(found)} failures' if found else verdict}")
    return EXIT_INCOMPLETE if failed else 0


def _check_file(file: Path, choice: Choice, *, unsafe: bool) -> int:
    from viva.benchmarks.rubric_exam import RubricExam
    from viva.cli.checkfile import check_question_file

    exam: Exam | None = None
    try:
        exam = open_exams((str(file),), choice)[0][0]
    except DataError:
        if not file.is_file():
            raise
    return check_question_file(file, exam if isinstance(exam, RubricExam) else None, unsafe=unsafe)


def _exams(benchmark: str, choice: Choice) -> Iterator[Exam]:
    """The exams asked for; without a choice of languages, those whose files are there."""
    languages = choice.language or find_benchmark(benchmark).about.languages
    if not choice.language and data_folder(choice, benchmark) is None:
        languages = tuple(language for language in languages if language in ("en", "zh"))  # what the sample has
    missing: MissingDataError | None = None
    found = 0
    for language in languages:
        choice = msgspec.structs.replace(choice, language=(language,))
        try:
            opened = open_exams((benchmark,), choice)
        except MissingDataError as problem:
            missing = problem
            continue
        found += len(opened)
        yield from (exam for exam, _ in opened)
    if missing and not found:
        raise missing


def failures(exam: Exam, at_most: int | None = None) -> list[str]:
    """What went wrong in the self-test, in words; with `at_most`, over so many questions evenly spread."""
    step = max(1, len(exam) // at_most) if at_most else 1
    found: list[str] = []
    for index, question in enumerate(exam.questions()):
        if index % step == 0:
            found.extend(f"question {visible(question.id)}: {problem}" for problem in _problems(exam, question))
    return found


def _problems(exam: Exam, question: Question) -> Iterator[str]:
    request = exam.request(question, 0, Sampling())
    if not request.prompt:
        yield "its prompt is empty"
    if isinstance(request, Choose):
        yield from _chosen_problems(exam, question, len(request.continuations))
    else:
        yield from _written_problems(exam, question)


def _written_problems(exam: Exam, question: Question) -> Iterator[str]:
    """An answer that is written: the gold one scores 1, a wrong one 0, in every phrasing."""
    if question.answer is None:
        score = exam.score(question, Response(text="A"))
        if score.outcome != "unsound":
            yield f"has no usable gold answer, yet an answer is {score.outcome}"
        return
    if exam.spec.as_published:
        return  # the authors' readings are wrong for some gold answers: that is what --as-published is for
    empty = exam.score(question, Response(text=" \n"))
    if empty.value is not None or empty.outcome != "empty":
        yield f"an empty reply is {empty.outcome}, not empty"
    if exam.spec.rationale:
        yield from explained_problems(exam, question)
        return
    if question.kind == "free":
        return  # what a rubric must give is said by example answers: see checkfile.py
    if question.kind in ("blank", "open"):
        yield from _judged_problems(exam, question)
        return
    for what, answer, value in (("gold", question.answer, 1.0), ("wrong", wrong_answer(question), 0.0)):
        for reply in phrasings(question, answer):
            score = exam.score(question, Response(text=reply))
            if score.value != value:
                shown = f"{what} {one_line(answer, 60)} as {one_line(reply, 60)!r}"
                yield f"{shown} scores {score.value} ({score.outcome})"


def _chosen_problems(exam: Exam, question: Question, options: int) -> Iterator[str]:
    """A chosen answer: each option in turn is nearly certain, and one of them is right."""
    scores = [
        exam.score(
            question, Response(likelihoods=tuple(Likelihood(-0.1 if at == sure else -9.0) for at in range(options)))
        )
        for sure in range(options)
    ]
    if question.answer is None:
        if any(score.outcome != "unsound" for score in scores):
            yield "has no usable gold answer, yet a choice is graded"
        return
    right = [score.answer for score in scores if score.value == 1.0]
    if right != [question.answer] or any(score.value not in (0.0, 1.0) for score in scores):
        yield f"gold {one_line(question.answer, 60)}, and what scores 1 is {right}"


def _judged_problems(exam: Exam, question: Question) -> Iterator[str]:
    """A judged question: the judge is asked about the gold answer, and its best and worst verdicts count as such."""
    gold = Response(text=str(question.answer))
    requests = exam.judgements(question, gold, 1, {})
    if len(requests) != 1 or str(question.answer) not in prompt_text(requests[0].prompt):
        yield "the judge would not see the gold answer"
    best, worst = ("1", "0") if question.kind == "blank" else ("10", "1")
    for mark, wanted in ((best, 1.0), (worst, 0.0 if question.kind == "blank" else 0.1)):
        score = exam.score(question, gold, said(f"Reason.\nVERDICT: {mark}"))
        if score.value != wanted:
            yield f"the verdict {mark} scores {score.value}, not {wanted}"
    if exam.score(question, gold).outcome != "ungraded":
        yield "without a verdict it is graded all the same"


def _defect_lines(defects: list[Defect], *, show_all: bool) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[Defect]] = {}
    for defect in defects:
        grouped.setdefault((defect.kind, defect.action), []).append(defect)
    for (kind, action), group in grouped.items():
        yield f"{kind}: {len(group)} ({action})"
        shown = group if show_all or len(group) <= 20 else group[:3]
        for defect in shown:
            yield f"    {visible(defect.question)}: {one_line(defect.detail, 150)}"
        if len(shown) < len(group):
            yield f"    ... and {len(group) - len(shown)} more (--all lists them)"
