"""The authors' own scores of real answers, reproduced: bit for bit where no program has to run.

Programs are compared as text here; test_infibench_programs runs them. Every published template filled in with its
gold answers scores full marks, in any layout.
"""

import csv
import gzip
import json
import textwrap
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rows import table
from viva.benchmarks import open_exam
from viva.benchmarks.infibench.cases import Case
from viva.benchmarks.infibench.caseset import read_cases
from viva.scorers.rubric.code import assemble, extract_code
from viva.scorers.rubric.rubrics import Blanks
from viva.types import ExamSpec, Response


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        for line in file:
            yield json.loads(line)


@pytest.fixture(scope="module")
def folder(published: Path) -> Path:
    return published / "infibench"


@pytest.fixture(scope="module")
def answers(folder: Path) -> dict[tuple[str, int], str]:
    return {(row["case"], row["sample"]): row["text"] for row in lines(folder / "responses_gpt-4.jsonl.gz")}


@pytest.fixture(scope="module")
def official(folder: Path) -> dict[tuple[str, int], dict[str, str]]:
    with (folder / "official_scores_gpt-4.csv").open(newline="", encoding="utf-8") as file:
        return {(row["case"], int(row["sample"])): row for row in csv.DictReader(file)}


def cases(folder: Path, *, published: bool) -> dict[str, Case]:
    return {case.id: case for case in read_cases(folder, published=published)[0]}


@pytest.mark.parametrize("every", [4, pytest.param(1, marks=pytest.mark.slow)])
def test_every_answer_that_runs_no_program_has_exactly_the_authors_score(
    every: int, folder: Path, answers: dict[tuple[str, int], str], official: dict[tuple[str, int], dict[str, str]]
) -> None:
    strict = cases(folder, published=True)
    exam = open_exam(ExamSpec(benchmark="infibench", as_published=True), folder)
    questions = {question.id: question for question in exam.questions()}
    assert answers.keys() == official.keys()
    compared: Counter[str] = Counter()
    different = []
    for (name, sample), text in [*answers.items()][::every]:
        case, row = strict[name], official[name, sample]
        assert ",".join(case.metrics) == row["metrics"]
        assert (case.language, case.type) == (row["lang"], row["type"])
        if case.rubric.tests is None:
            compared[row["metrics"]] += 1
            value = exam.score(questions[name], Response(text=text)).value
            if value is None or value != float(row["score"]):
                different.append((name, sample, value, row["score"]))
    assert not different
    assert compared == {1: {"keywords": 930, "blank_filling": 240}}.get(every, compared)
    assert compared.total() > 250


def test_few_answers_have_another_program_for_a_reader(folder: Path, answers: dict[tuple[str, int], str]) -> None:
    """One has fences that do not pair; in the others, what shows the function's use is no part of the program."""
    repaired = cases(folder, published=False)
    different = Counter[str]()
    for (name, _), text in answers.items():
        tests = repaired[name].rubric.tests
        if tests is not None:
            longest = tests.tests[0].longest_only
            ours = extract_code(text, tests.language, longest_only=longest, test=tests.tests[0].code)
            different[name] += ours != extract_code(text, tests.language, longest_only=longest, published=True)
    assert +different == {"2-11-511": 1, "0-2-154": 2, "1-3-204": 5, "1-4-327": 2}


def test_published_programs_are_assembled_character_for_character(
    folder: Path, answers: dict[tuple[str, int], str]
) -> None:
    """The answers to the published programs are another drawing than those at hand: equal code gives equal programs.

    Where the code differs, everything around it is compared.
    """
    tests = {name: case.rubric.tests for name, case in cases(folder, published=True).items() if case.rubric.tests}

    def program_of(name: str, number: int, answer: str) -> str:
        return "\n".join(assemble(tests[name].tests[number], answer, tests[name].language, published=True))

    ours: dict[tuple[str, int], set[str]] = defaultdict(set)
    for (name, _), text in answers.items():
        for number in range(len(tests[name].tests) if name in tests else 0):
            ours[name, number].add(program_of(name, number, text))
    compared: Counter[str] = Counter()
    for row in lines(folder / "unit_programs_gpt-4.jsonl.gz"):
        place, program = (row["case"], row["test"]), row["program"]
        code = "from __future__ import annotations\n@" if row["case"] == "1-3-212" else "@"
        before, after = program_of(*place, f"```\n{code}\n```").split("@")
        around = program.startswith(before) and program.endswith(after) and len(program) > len(before) + len(after)
        if program in ours[place]:
            compared["whole"] += 1
        elif program == program_of(*place, ""):
            compared["no code"] += 1
        else:
            compared["around the code" if around else f"different: {row['case']} {row['sample']}"] += 1
    assert compared.keys() == {"whole", "around the code", "no code"}
    assert (compared.total(), compared["no code"], compared["whole"] > 300) == (1950, 1, True)


GOLD = {  # where any of several may stand in any blank, or a pattern is no text
    "0-0-4": ("clickable", "hitRect", "feedback", "feedback", "opacity"),
    "0-0-21": ("navigator.clipboard.writeText(this.text1).then(() => {\n  alert('copied')\n})",),
    "2-8-469": ('option go_package = "example.com/pb";',),
    "2-9-474": ("DidYouMean::SPELL_CHECKERS.merge!(error_name => spell_checker)", "thor"),
    "3-12-536": ("ElevatedButton", "TextButton", "OutlinedButton", "shape", "style"),
    "3-12-562": ("add", "subtract", "DateTime", "year"),
}


def layouts(blanks: Blanks, gold: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """The filled-in template as models give it back."""
    segments = blanks.template.split(blanks.marker)

    def filled(dress: Callable[[str], str] = str) -> str:
        return segments[0] + "".join(dress(word) + rest for word, rest in zip(gold, segments[1:], strict=True))

    yield "verbatim", filled()
    yield "re-wrapped", "\n".join(textwrap.wrap(filled(), 60))
    yield "in a fence", f"```\n{filled()}\n```"
    yield "in bold", filled(lambda word: f"**{word}**")
    yield "as code", filled(lambda word: f"`{word}`")
    yield "between sentences", f"Here is the completed text.\n\n{filled()}\n\nI hope this helps! Ask if not."
    yield "in a paragraph", f"Sure. {filled()} I hope this helps! Ask if not."


def test_every_published_template_filled_in_with_gold_scores_full_marks(folder: Path) -> None:
    exam = open_exam(ExamSpec(benchmark="infibench"), folder)
    questions = {question.id: question for question in exam.questions()}
    with table() as row:
        for case in read_cases(folder)[0]:
            if (blanks := case.rubric.blanks) is None:
                continue
            gold = GOLD.get(case.id, tuple(target.accepted[0].text for target in blanks.targets))
            for layout, text in layouts(blanks, gold):
                with row((case.id, layout)):
                    assert exam.score(questions[case.id], Response(text=text)).value == 1.0
            for number in range(len(gold)):
                wrong = (*gold[:number], "another thing", *gold[number + 1 :])
                with row((case.id, "wrong", number)):
                    text = next(text for layout, text in layouts(blanks, wrong) if layout == "in bold")
                    score = exam.score(questions[case.id], Response(text=text)).value
                    assert score is not None
                    assert score < 1.0
