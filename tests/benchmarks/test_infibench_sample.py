"""The bundled questions in InfiBench's manner are what their README says, and grade as their own examples say."""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

import pytest

import viva
from rows import table, tabled
from thorough import THOROUGH
from tiers import absent
from viva.benchmarks.custom.examples import as_wanted
from viva.benchmarks.custom.questionloading import read_questions
from viva.benchmarks.custom.questionmodel import Example, OwnQuestion, QuestionFile
from viva.sandbox import NoIsolationError, Sandbox
from viva.scorers.rubric.code import assemble, default_seconds
from viva.scorers.rubric.points import grade
from viva.scorers.rubric.rubrics import Graded, Rubric
from viva.types import Execute, Execution

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
    parts = {
        "keywords": rubric.keywords,
        "blank_filling": rubric.blanks,
        "unit_test": rubric.tests,
        "similarity": rubric.similarity,
    }
    return [name for name, part in parts.items() if part]


# --- running the tests of answers ---


def programs(question: OwnQuestion, text: str) -> list[Execute]:
    tests = question.rubric.tests
    made = []
    for test in tests.tests if tests else ():
        assert tests
        program, code = assemble(test, text, tests.language)
        seconds = test.seconds or default_seconds(tests.language)
        made.append(
            Execute(
                question=question.id,
                sample=0,
                language=tests.language,
                program=program,
                test=code,
                files=tests.files,
                seconds=seconds,
            )
        )
    return made


class Workshop:
    """One sandbox for all tests of this file, and what became of every program: equal ones are run once."""

    def __init__(self) -> None:
        self._runner = asyncio.Runner()
        self._sandbox: Sandbox | None = None
        self._ended: dict[Execute, Execution] = {}

    def executed(self, requests: Sequence[Execute]) -> list[Execution]:
        new = [request for request in dict.fromkeys(requests) if request not in self._ended]
        if new:
            self._ended.update(zip(new, self._runner.run(self._run(new)), strict=True))
        return [self._ended[request] for request in requests]

    async def _run(self, requests: Sequence[Execute]) -> list[Execution]:
        if self._sandbox is None:
            try:
                self._sandbox = Sandbox()
            except NoIsolationError as problem:
                absent(f"programs cannot be isolated here: {problem}")
        assert self._sandbox is not None
        return await asyncio.gather(*map(self._sandbox.run, requests))

    def close(self) -> None:
        if self._sandbox is not None:
            self._runner.run(self._sandbox.close())
        self._runner.close()

    def graded(self, question: OwnQuestion, texts: Sequence[str]) -> list[Graded]:
        requests = [programs(question, text) for text in texts]
        ended = iter(self.executed([request for one in requests for request in one]))
        results = [
            grade(question.rubric, text, executions=[next(ended) for _ in one])
            for text, one in zip(texts, requests, strict=True)
        ]
        for result in results:
            if "no toolchain" in result.pending:
                absent(result.pending)
        return results

    def shares(self, question: OwnQuestion, texts: Sequence[str]) -> list[float]:
        found = [result.share for result in self.graded(question, texts)]
        assert None not in found, question.id
        return [share for share in found if share is not None]


@pytest.fixture(scope="module")
def workshop() -> Iterator[Workshop]:
    each = Workshop()
    yield each
    each.close()


QUICK = ("python", "ruby")
BY_LANGUAGE = pytest.mark.parametrize(
    "language",
    [
        "",
        *(pytest.param(one, marks=pytest.mark.sandbox) for one in QUICK),
        *(pytest.param(one, marks=[pytest.mark.sandbox, pytest.mark.slow]) for one in sorted(TESTED.difference(QUICK))),
    ],
)
"""The language of a question's tests; "" for the questions without."""


def asked_in(language: str) -> list[OwnQuestion]:
    tests = [(question, question.rubric.tests) for question in questions().values()]
    return [question for question, one in tests if (one.language if one else "") == language]


# --- what is there ---


def test_every_file_can_be_read_whole() -> None:
    for name, file in files().items():
        assert not [str(problem) for problem in file.problems if "fine if that is meant" not in problem.text], name
        assert file.title, name
        assert len(file.questions) >= 10, name


def test_all_metrics_occur_alone_and_mixed_and_the_tag_names_them() -> None:
    found = {question.id: metrics(question.rubric) for question in questions().values()}
    assert {name: " + ".join(one) for name, one in found.items()} == {
        question.id: question.tags["metric"] for question in questions().values()
    }
    kinds = Counter(map(tuple, found.values()))
    assert {one for kind in kinds if len(kind) == 1 for one in kind} == {
        "keywords", "blank_filling", "unit_test", "similarity",
    }  # fmt: skip
    assert len([kind for kind in kinds if len(kind) > 1]) >= 3


def test_every_sandboxed_language_has_unit_tests() -> None:
    tested = Counter(question.rubric.tests.language for question in questions().values() if question.rubric.tests)
    assert set(tested) == TESTED
    assert tested["python"] >= 4
    assert tested["javascript"] >= 3
    for question in questions().values():
        if question.rubric.tests:
            assert question.tags["language"] == question.rubric.tests.language, question.id


def test_the_whole_grading_language_is_shown() -> None:
    source = "\n".join(path.read_text(encoding="utf-8") for path in SAMPLE.glob("*.yaml"))
    for key in ("regex", "any", "all", "when", "negative", "ignore_case", "weight", "max", "min", "low", "high",
                "blanks", "before", "files", "seconds", "longest_block"):  # fmt: skip
        assert re.search(rf"(?m)^[^#]*\b{key}:", source), key


def test_the_readme_counts_right() -> None:
    readme = (SAMPLE / "README.md").read_text(encoding="utf-8")
    examples = sum(len(question.examples) for question in questions().values())
    assert readme.split("\n\n")[1].startswith(f"{len(questions())} questions of the kind")
    assert f"with {examples} example answers" in readme
    for name, file in files().items():
        counted = Counter(metric for question in file.questions for metric in metrics(question.rubric))
        row = [len(file.questions), *(counted[one] for one in ("keywords", "blank_filling", "unit_test", "similarity"))]
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


@BY_LANGUAGE
def test_every_example_scores_what_it_says(workshop: Workshop, language: str, pytestconfig: pytest.Config) -> None:
    for question, row in tabled(*asked_in(language)):
        with row:
            assert {example.wanted for example in question.examples} >= {"full", "none"}
            examples = tried(question, quick=bool(pytestconfig.getoption("quick")))
            results = workshop.graded(question, [example.answer for example in examples])
            for example, result in zip(examples, results, strict=True):
                assert result.share is not None, result.pending
                said = [line for part in result.parts.values() for line in part.details]
                assert as_wanted(result.share, example.wanted), (example.line, example.wanted, result.share, said)


@BY_LANGUAGE
def test_a_question_repeated_as_its_answer_earns_nothing(workshop: Workshop, language: str) -> None:
    for question, row in tabled(*asked_in(language)):
        with row:
            assert workshop.shares(question, [question.text]) == [0.0]


def test_the_prose_around_a_filled_in_template_earns_nothing(workshop: Workshop) -> None:
    with table() as row:
        for question in questions().values():
            if metrics(question.rubric) == ["blank_filling"]:
                (full, *_) = [example.answer for example in question.examples if example.wanted == "full"]
                prose = re.sub(r"(?s)```.*?```", "", full)
                with row(question.id):
                    assert workshop.shares(question, [prose])[0] == 0.0


# --- the answer file ---


def rows() -> Iterator[dict[str, object]]:
    with (SAMPLE / "answers.jsonl").open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def answers() -> dict[str, list[str]]:
    grouped = groupby(rows(), key=lambda row: str(row["case"]))
    return {case: [str(row["text"]) for row in each] for case, each in grouped}


def test_the_answer_file_has_three_groups_of_ten_for_each_of_its_questions() -> None:
    assert all(set(row) == {"case", "sample", "text"} for row in rows())
    numbers = [(row["case"], row["sample"]) for row in rows()]
    assert numbers == [(case, sample) for case in answers() for sample in range(30)]
    assert set(answers()) == set(BEST)
    assert len(questions()) == sum(len(file.questions) for file in files().values()) >= 36
    assert {metric for case in answers() for metric in metrics(questions()[case].rubric)} == {
        "keywords", "blank_filling", "unit_test", "similarity",
    }  # fmt: skip
    assert "" in {text for texts in answers().values() for text in texts}


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
def test_the_best_of_each_ten_answers_is_known(workshop: Workshop, programs_run: bool) -> None:
    for (case, wanted), row in tabled(*BEST.items()):
        question = questions()[case]
        if bool(question.rubric.tests) != programs_run:
            continue
        with row:
            found = workshop.shares(question, answers()[case])
            best = [max(found[start : start + 10]) for start in (0, 10, 20)]
            assert best == pytest.approx(wanted, abs=1e-4)
            assert 0.1 < sum(found) / 30 < 0.6, "neither hopeless nor easy"
