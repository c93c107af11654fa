"""`viva check`: a data set and its grading, tested with the set's own gold answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import msgspec

from viva.benchmarks import CUSTOM, file_benchmark, find_benchmark, is_table, question_file
from viva.benchmarks.card.draft import card_name, card_of, draft_cards, write_cards
from viva.benchmarks.custom.questionloading import read_questions
from viva.benchmarks.rubric_exam import RubricExam
from viva.cli.options import exam_options
from viva.contracts import Exam
from viva.errors import EXIT_INCOMPLETE, DataError, MissingDataError
from viva.fields import pick
from viva.runs.checks import check_rubrics, example_problems, failures, proposed_calls, weak_tests
from viva.runs.config import TaskOptions
from viva.runs.exams import open_exams
from viva.sources.sourcelist import data_folder
from viva.types import Defect, outcome_name
from viva.visible import escape_invisible, one_line, plural, some


@click.command
@click.argument("benchmark")
@click.option("--all", "show_all", is_flag=True, help="List every defect, also the many of a kind that were repaired.")
@exam_options
@click.option(
    "--unsafe-host-execution", is_flag=True, help="Run the examples' programs WITHOUT a sandbox, with all your rights."
)
def check_command(benchmark: str, show_all: bool, unsafe_host_execution: bool, **given: Any) -> int:
    """For every question of BENCHMARK: its gold answer, in several phrasings, must score 1, a wrong one 0, and an empty
    reply must be unscored as empty. Lists the data set's defects. Exit code 3 when a sound question fails, or
    a gold is invalid.

    All languages are checked unless --language says otherwise. In place of a benchmark, a question file of your own
    (NAME.yaml): it is validated, and its example answers must score as it says. Or a table (data.csv), by the card that
    is there for it, or would be.
    """
    choice = pick(TaskOptions, given)
    file = question_file(benchmark)
    if file and file_benchmark(file) == CUSTOM:
        return _check_file(file, choice, unsafe=unsafe_host_execution, show_all=show_all)
    with _cards_of(benchmark) as names:
        exams = [exam for name in names for exam in _exams(name, choice)]
    failed = unsound = 0
    for exam in exams:
        failures_here = failures(exam)
        failed += len(failures_here)
        invalid = sum(1 for question in exam.questions() if question.answer is None)
        unsound += invalid
        kinds = Counter(question.kind for question in exam.questions())
        counts = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
        click.echo(
            f"{exam.spec.label}: {len(exam):,} questions ({counts}), {len(exam) - invalid:,} sound, "
            f"{invalid} invalid gold"
        )
        rubrics = check_rubrics(exam, unsafe=unsafe_host_execution) if isinstance(exam, RubricExam) else None
        for line in _defect_lines([*exam.defects, *(rubrics.defects if rubrics else ())], show_all=show_all):
            click.echo(f"  {line}")
        for failure in failures_here if show_all else failures_here[:FAILURES]:
            click.echo(f"  FAILED {failure}")
        if not show_all and len(failures_here) > FAILURES:
            click.echo(f"  ... and {len(failures_here) - FAILURES:,} more failures (--all lists them)")
        verdict = "gold scores 1, wrong scores 0, empty is empty: all as it should be"
        if set(kinds) == {"free"}:
            verdict = "every prompt is there, empty is empty (the set holds no gold answers that could be graded)"
        if rubrics:
            for note in (*rubrics.notes, rubrics.summary):
                click.echo(f"  {escape_invisible(note)}")
        click.echo(f"  self-test: {f'{len(failures_here)} failures' if failures_here else verdict}")
    if unsound:
        click.echo(
            f"viva: {unsound:,} {'gold is' if unsound == 1 else 'golds are'} invalid: such questions are asked and "
            "left unscored (`viva run --strict` refuses the set)",
            err=True,
        )
    return EXIT_INCOMPLETE if failed or unsound else 0


def _check_file(file: Path, choice: TaskOptions, *, unsafe: bool, show_all: bool) -> int:
    exam: Exam | None = None
    with suppress(DataError):
        exam = open_exams((str(file),), choice)[0][0]
    return check_question_file(file, exam if isinstance(exam, RubricExam) else None, unsafe=unsafe, show_all=show_all)


@contextmanager
def _cards_of(benchmark: str) -> Iterator[list[str]]:
    """Yield the names to check; for a table its card, or temporary drafts of it."""
    table = Path(benchmark)
    own = card_of(table) if is_table(benchmark) else benchmark
    if own:
        yield [str(own)]
        return
    with TemporaryDirectory() as folder:
        drafts, message = draft_cards(table, Path(folder) / card_name(table))
        write_cards(drafts)
        click.echo(escape_invisible(message.replace(f"{folder}/", "")))
        click.echo(f"{table}: no card is written; `viva init {table}` writes what is checked here", err=True)
        yield [*map(str, drafts)]


def _exams(benchmark: str, choice: TaskOptions) -> Iterator[Exam]:
    """Yield the exams asked for; without a choice of languages, those whose files are there."""
    if question_file(benchmark):
        yield from (exam for exam, _ in open_exams((benchmark,), choice))
        return
    languages = choice.language or find_benchmark(benchmark).about.languages
    if not choice.language and data_folder(choice.data, benchmark) is None:
        languages = tuple(language for language in languages if language in ("en", "zh"))  # the sample's languages
    missing: MissingDataError | None = None
    count = 0
    for language in languages:
        choice = msgspec.structs.replace(choice, language=(language,))
        try:
            opened = open_exams((benchmark,), choice)
        except MissingDataError as problem:
            missing = problem
            continue
        count += len(opened)
        yield from (exam for exam, _ in opened)
    if missing and not count:
        raise missing


def _defect_lines(defects: list[Defect], *, show_all: bool) -> Iterator[str]:
    grouped: dict[tuple[str, str], list[Defect]] = {}
    for defect in defects:
        grouped.setdefault((defect.kind, defect.action), []).append(defect)
    worst = {"unsound": 0, "repaired": 1, "noted": 2}
    for (kind, action), group in sorted(grouped.items(), key=lambda item: (worst[item[0][1]], -len(item[1]))):
        yield f"{kind}: {len(group)} ({outcome_name(action)})"
        shown = group if show_all or len(defects) <= LISTED else group[:3]
        for defect in shown:
            yield f"    {escape_invisible(defect.question)}: {one_line(defect.detail, 150)}"
        if len(shown) < len(group):
            yield f"    ... and {len(group) - len(shown)} more (--all lists them)"


FAILURES = 10
LISTED = 15
"""Up to this many defects of a set are all listed; of more, the first of each kind. --all lists everything."""
SHOWN = 15
"""Most errors, and most warnings, that are listed; the rest is counted."""


def check_question_file(path: Path, exam: RubricExam | None, *, unsafe: bool = False, show_all: bool = False) -> int:
    """Print what is wrong with a question file and with its examples. Returns the exit code.

    `exam`: the opened file; None where its errors prevent that, and examples are not graded.
    """
    read = read_questions(path)
    problems = list(read.problems)
    notes: list[str] = []
    if exam is not None:
        problems += example_problems(read.questions, exam, notes, unsafe=unsafe)
        notes += [f"{path}: {test.question}: {test.kind}: {test.detail}" for test in weak_tests(exam, unsafe=unsafe)]
        shared = proposed_calls(exam)
        for first, *more in shared if show_all else shared[:SHOWN]:
            notes += [f"{path}: {first}", *more]
        if not show_all and len(shared) > SHOWN:
            notes.append(f"... and {len(shared) - SHOWN:,} more such tests (--all lists them)")
    problems.sort(key=lambda problem: (problem.line, problem.column))
    for severity in ("error", "warning"):  # errors first, before maybe a thousand warnings
        matching = [problem for problem in problems if problem.severity == severity]
        for problem in matching if show_all else matching[:SHOWN]:
            click.echo(escape_invisible(f"{path}:{problem}"))
        if not show_all and len(matching) > SHOWN:
            click.echo(f"... and {len(matching) - SHOWN:,} more {severity}s (--all lists them)")
    for note in notes:
        click.echo(escape_invisible(note))
    errors = sum(problem.severity == "error" for problem in problems)
    examples = sum(len(question.examples) for question in read.questions)
    if read.left_out and exam:
        named = some([test.id for test in read.left_out], 10)
        click.echo(escape_invisible(f"asked and left unscored, because of errors: {named}"))
    click.echo(
        f"{path}: {plural(len(read.questions), 'question')}, {plural(examples, 'example answer')}, "
        f"{plural(errors, 'error')}, {plural(len(problems) - errors, 'warning')}"
        + ("" if exam else "; the examples were not graded, because of the errors")
    )
    return EXIT_INCOMPLETE if errors else 0
