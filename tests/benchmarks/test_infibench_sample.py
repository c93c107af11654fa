"""The bundled InfiBench-like questions match their README, and grade their examples as stated."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

import viva
from rows import tabled
from thorough import THOROUGH
from tiers import absent
from viva.benchmarks import open_exam
from viva.benchmarks.custom.examples import as_wanted
from viva.benchmarks.custom.questionloading import read_questions
from viva.benchmarks.custom.questionmodel import Example, OwnQuestion, QuestionFile
from viva.benchmarks.rubric_exam import RubricExam
from viva.runs.checks import grader
from viva.scorers.rubric.rubrics import Graded, Rubric
from viva.types import ExamSpec

SAMPLE = Path(viva.__file__).parent / "benchmarks" / "infibench" / "sample"
TESTED = {"python", "javascript", "typescript", "java", "cpp", "go", "r", "csharp", "ruby"}
SLOW = {"cpp", "java", "csharp", "go", "typescript"}


@cache
def files() -> dict[str, QuestionFile]:
    return {path.name: read_questions(path) for path in sorted(SAMPLE.glob("*.yaml"))}


@cache
def questions() -> dict[str, OwnQuestion]:
    return {question.id: question for file in files().values() for question in file.questions}


def metrics(rubric: Rubric) -> list[str]:
    parts = (rubric.keywords, rubric.blanks, rubric.tests, rubric.similarity)
    return [name for name, part in zip(METRICS, parts, strict=True) if part]


def graded(asked: Sequence[tuple[OwnQuestion, str]]) -> list[Graded]:
    """What answers earn; the tests of all of them run in one sandbox."""
    exam = open_exam(ExamSpec(benchmark="infibench"), None)
    assert isinstance(exam, RubricExam)
    notes: list[str] = []
    grade = grader(exam, asked, notes, unsafe=False)
    found = [grade(*one) for one in asked]
    missing = [*notes, *(one.pending for one in found if "no toolchain" in one.pending)]
    if missing:
        absent(missing[0])
    return found


METRICS = ("keywords", "blank_filling", "unit_test", "similarity")
QUICK = ("python", "ruby")
SANDBOXED = [pytest.param(one, marks=[pytest.mark.sandbox, *([] if one in QUICK else [pytest.mark.slow])])
             for one in sorted(TESTED)]  # fmt: skip
"""The languages of questions' tests."""


def asked_in(language: str) -> list[OwnQuestion]:
    tests = [(question, question.rubric.tests) for question in questions().values()]
    return [question for question, one in tests if (one.language if one else "") == language]


# --- what is there ---


def test_every_file_can_be_read_whole() -> None:
    for name, file in files().items():
        assert not [str(problem) for problem in file.problems if "fine if that is meant" not in problem.text], name
        assert file.title, name
        assert len(file.questions) >= 10, name


def test_every_sandboxed_language_and_metric_occurs_and_tags_name_them() -> None:
    tested = Counter(question.rubric.tests.language for question in questions().values() if question.rubric.tests)
    assert (set(tested), tested["python"] >= 4, tested["javascript"] >= 3) == (TESTED, True, True)
    kinds = {tuple(metrics(question.rubric)) for question in questions().values()}
    assert kinds >= {(name,) for name in METRICS}
    assert len(kinds) >= len(METRICS) + 3
    for question in questions().values():
        assert question.tags["metric"] == " + ".join(metrics(question.rubric)), question.id
        tests = question.rubric.tests
        assert tests is None or question.tags["language"] == tests.language, question.id


def test_the_readme_counts_right() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    examples = sum(len(question.examples) for question in questions().values())
    assert readme.split("\n\n")[1].startswith(f"{len(questions())} questions of the kind")
    assert f"with {examples} example answers" in readme
    for name, file in files().items():
        counted = Counter(metric for question in file.questions for metric in metrics(question.rubric))
        row = [len(file.questions), *(counted[one] for one in METRICS)]
        assert f"| `{name}` | {' | '.join(map(str, row))} |" in readme
    levels = Counter(question.tags["level"] for question in questions().values())
    assert f"({', '.join(str(levels[level]) for level in '1234')} and {levels['5']} questions)" in readme
    types = Counter(question.tags["type"] for question in questions().values())
    assert all(f"{count} {name}" in " ".join(readme.split()) for name, count in types.items())


# --- what it is worth ---


def tried(question: OwnQuestion, *, quick: bool) -> list[Example]:
    """All examples; where compiling or starting takes long, or time is short, one of full marks and one of none."""
    tests = question.rubric.tests
    if THOROUGH or tests is None or (not quick and tests.language not in SLOW):
        return list(question.examples)
    kinds = {example.wanted: example for example in question.examples}
    return [kinds["full"], kinds["none"]]


@pytest.mark.parametrize("language", ["", *SANDBOXED])  # "" for the questions without tests
def test_every_example_scores_what_it_says(language: str, pytestconfig: pytest.Config) -> None:
    quick = bool(pytestconfig.getoption("quick"))
    asked = [(question, example) for question in asked_in(language) for example in tried(question, quick=quick)]
    results = graded([(question, example.answer) for question, example in asked])
    for ((question, example), result), row in tabled(*zip(asked, results, strict=True)):
        with row:
            assert {example.wanted for example in question.examples} >= {"full", "none"}
            assert result.share is not None, result.pending
            said = [line for part in result.parts.values() for line in part.details]
            assert as_wanted(result.share, example.wanted), (example.line, example.wanted, result.share, said)


def prose_around(question: OwnQuestion) -> list[str]:
    """The prose around a filled-in template."""
    if metrics(question.rubric) != ["blank_filling"]:
        return []
    full = next(example.answer for example in question.examples if example.wanted == "full")
    return [re.sub(r"(?s)```.*?```", "", full)]


@pytest.mark.parametrize(
    "language", ["", *(pytest.param(one, marks=[pytest.mark.sandbox, pytest.mark.slow]) for one in sorted(TESTED))]
)
def test_a_question_repeated_as_its_answer_and_the_prose_around_an_answer_earn_nothing(language: str) -> None:
    asked = [(question, text) for question in asked_in(language) for text in (question.text, *prose_around(question))]
    assert {result.share for result in graded(asked)} == {0.0}


# --- the answer file ---


def rows() -> Iterator[dict[str, object]]:
    with (SAMPLE / "answers.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answers() -> dict[str, list[str]]:
    grouped = groupby(rows(), key=lambda row: str(row["case"]))
    return {case: [str(row["text"]) for row in each] for case, each in grouped}


def test_the_answer_file_has_three_groups_of_ten_for_each_of_its_questions() -> None:
    numbers = [(row["case"], row["sample"]) for row in rows()]
    assert numbers == [(case, sample) for case in answers() for sample in range(30)]
    assert set(answers()) == set(BEST)
    assert {metric for case in answers() for metric in metrics(questions()[case].rubric)} == set(METRICS)


BEST = {
    "query-string": (1, 2 / 3, 1),
    "debounce-every-key": (1, 1, 1 / 2),
    "retry-decorator": (1, 0.8, 1),
    "failing-paths": (1, 1, 1 / 2),
    "scaler-leak": (2 / 3, 1, 1),
    "network-on-main": (1 / 3, 1, 1),
    "split-and-scale": (1, 2 / 3, 1),
    "gone-before-reply": (1, 3 / 4, 1),
    "who-are-you": (1, 0.72, 0.5895),
    "rare-fraud": (0.939, 1, 0.2951),
}


@pytest.mark.parametrize("programs_run", [False, pytest.param(True, marks=[pytest.mark.sandbox, pytest.mark.slow])])
def test_the_best_of_each_ten_answers_is_known(programs_run: bool) -> None:
    for (case, wanted), row in tabled(*BEST.items()):
        question = questions()[case]
        if bool(question.rubric.tests) != programs_run:
            continue
        with row:
            found = [result.share or 0.0 for result in graded([(question, text) for text in answers()[case]])]
            best = [max(found[start : start + 10]) for start in (0, 10, 20)]
            assert best == pytest.approx(wanted, abs=1e-4)
            assert 0.1 < sum(found) / 30 < 0.6, "neither hopeless nor easy"
