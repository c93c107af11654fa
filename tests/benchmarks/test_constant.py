"""The base class of multiple-choice exams: its best constant answer, shown with every score, and its exemplars."""

import json
from collections.abc import Sequence
from itertools import starmap
from pathlib import Path

import msgspec
import pytest

from benchmarks.handmade_infibench import as_csv, spec
from servers.fixtures import Viva
from viva.benchmarks import open_exam
from viva.benchmarks.infibench.infibench import BENCHMARK
from viva.benchmarks.multiple_choice import MultipleChoiceExam
from viva.benchmarks.rubric_exam import LONGEST_LIST
from viva.benchmarks.varied import Shuffled
from viva.prompting import Templates
from viva.types import Aggregate, ExamSpec, Kind, Message, Question, Response, Sampling


class Macro(MultipleChoiceExam):
    """An exam whose headline is a mean over subjects first."""

    def headline(self) -> Aggregate:
        return Aggregate("Macro", over="subject")


def asked(number: int, subject: str, gold: str | None, kind: Kind = "choice") -> Question:
    return Question(
        id=str(number), kind=kind, text=f"{number}?", language="en", options=("a", "b", "c", "d"), answer=gold,
        tags={"subject": subject},
    )  # fmt: skip


def exam_of(kind: type[MultipleChoiceExam], questions: Sequence[Question]) -> MultipleChoiceExam:
    return kind(ExamSpec(benchmark="exam"), Templates({}), fingerprint="", questions=questions)


def test_the_best_letter_is_that_of_the_headline() -> None:
    """B is the gold of most questions; C that of most small subjects."""
    golds = {"large": "BBBBBBBBAC", "small": "CA", "tiny": "C"}
    pairs = [(subject, gold) for subject, each in golds.items() for gold in each]
    questions = [asked(number, *pair) for number, pair in enumerate(pairs)]
    for kind, letter, score in ((MultipleChoiceExam, "B", 8 / 13), (Macro, "C", (0.1 + 0.5 + 1) / 3)):
        found = exam_of(kind, questions).constant()
        assert found is not None
        assert (found.answers, found.score) == ({"choice": letter}, pytest.approx(score))


def test_each_kind_has_an_answer_and_what_nobody_can_answer_does_not_count() -> None:
    questions = [
        *starmap(asked, ((1, "x", "A"), (2, "x", "A"), (3, "x", "D"), (4, "x", None))),
        asked(5, "x", "true", "truth"),
        msgspec.structs.replace(asked(6, "x", "An essay.", "open"), weight=2),
    ]
    found = exam_of(MultipleChoiceExam, questions).constant()
    assert found is not None
    assert found.answers == {"choice": "A", "truth": "true"}
    assert found.score == pytest.approx(3 / 6)
    assert exam_of(MultipleChoiceExam, questions[-1:]).constant() is None


def test_a_bundled_sample_scores_what_its_best_answer_scores() -> None:
    """By the exam's own grader, a question at a time."""
    exam = open_exam(ExamSpec(benchmark="cmmlu", language="zh"), None)
    found = exam.constant()
    assert found is not None
    scores = {
        letter: sum(exam.score(one, Response(text=letter)).value or 0 for one in exam.questions()) / len(exam)
        for letter in "ABCD"
    }
    assert found.score == pytest.approx(max(scores.values()))
    assert scores[found.answers["choice"]] == max(scores.values())


CASES = (
    spec("keywords:\n  - hashable\n  - content: tuple\n    weight: 3", "words-1"),
    spec("keywords:\n  - content:\n      or: [a long way to say it, brief]", "any-1"),
    spec("keywords:\n  - content:\n      and: [one, two]\n  - content: never\n    neg: true", "all-1"),
    spec("keywords:\n  - content:\n      content: 'f\\(x\\)'\n      regex: true", "pattern-1"),
    spec("unit_test:\n  tests: ['assert solve(2) == 3']", "tested-1"),
    spec("unit_test:\n  tests: ['']", "empty-1"),
)


def test_a_list_of_all_keywords_that_fit_a_reply_is_an_answer(tmp_path: Path) -> None:
    exam = BENCHMARK.open(ExamSpec(benchmark="infibench"), as_csv(tmp_path / "set", list(CASES)), None)
    found = exam.constant()
    assert found is not None
    assert set(found.answers["free"].split("\n")) == {"hashable", "tuple", "brief", "one", "two", "f(x)"}
    assert (found.score, found.tested, Shuffled(exam).constant()) == (pytest.approx(4 / 6), 2, found)
    long = [spec(f"keywords:\n  - {letter * 1_000}", f"{letter}-1") for letter in "abcd"]
    folder = as_csv(tmp_path / "long", [*long, spec("keywords:\n  - brief", "brief-1")])
    found = BENCHMARK.open(ExamSpec(benchmark="infibench"), folder, None).constant()
    assert found is not None
    assert (len(found.answers["free"]) <= LONGEST_LIST, found.score) == (True, pytest.approx(3 / 5))


def test_the_published_questions(published: Path) -> None:
    """The paper's Qwen-7B-Chat has 37.36, its Magicoder-CL-7B 41.71."""
    exam = BENCHMARK.open(ExamSpec(benchmark="infibench"), published / "infibench", None)
    found = exam.constant()
    assert found is not None
    assert round(100 * found.score, 2) == 47.07
    assert found.tested == 51
    assert found.unproven == ("0-0-48", "1-3-212", "1-3-223", "1-3-224", "2-8-450", "2-11-514")


def test_a_run_says_it_with_its_score_and_in_its_json(viva: Viva, tmp_path: Path) -> None:
    ended = viva("run", "cmmlu", "--model", "baseline/random", "--run", tmp_path / "run")
    assert ended.code == 0, ended.err
    said = "best constant answer scores 25.00"
    assert f"The {said} on cmmlu-zh (B)." in ended.out
    [result] = json.loads(viva("score", tmp_path / "run", "--format", "json").out)["results"]
    assert result["constant"] == {"answers": {"choice": "B"}, "score": 0.25, "tested": 0, "unproven": []}
    viva("report", tmp_path / "run", "--out", tmp_path / "report.html")
    assert "best constant answer scores 25.00" in (tmp_path / "report.html").read_text(encoding="utf-8")


# Exemplars of the base class of multiple-choice exams, in cases that no bundled benchmark covers


TEXTS = {
    "task": "Answer.", "task_cot": "Answer, with reasons.", "question": "Q: {question}\n{options}",
    "option": "{letter}) {text}", "lead": "A:", "lead_cot": "Reasons:", "answer": " {answer}",
    "answer_cot": " {explanation} So {answer}.",
}  # fmt: skip


class Grouped(MultipleChoiceExam):
    groups = "topic"


def lettered(name: str, topic: str, explanation: str = "") -> Question:
    options = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    return Question(
        id=name, kind="choice", text=f"{name}?", language="en", options=options, answer="J", explanation=explanation,
        tags={"topic": topic},
    )  # fmt: skip


def shown(shots: int, cot: bool, name: str = "q") -> str:
    pool = [lettered("a", "x", "Ten is the last."), lettered("b", "y"), lettered("c", "x"), lettered("d", "x")]
    spec = ExamSpec(benchmark="exam", shots=shots, chain_of_thought=cot)
    exam = Grouped(spec, Templates(TEXTS), fingerprint="", questions=[lettered(name, "x")], exemplars=pool)
    [question] = exam.questions()
    request = exam.request(question, 0, Sampling())
    assert request.choices == tuple("ABCDEFGHIJ")
    message = request.prompt[0]
    assert isinstance(message, Message)
    return message.content


def test_a_group_is_shown_the_first_of_its_own_exemplars() -> None:
    text = shown(2, cot=False)
    assert [name for name in "abcdq" if f"Q: {name}?" in text] == ["a", "c", "q"]
    assert "Ten is the last" not in text
    assert text.count("J) ten\nA: J") == 2
    assert text.endswith("J) ten\nA:")
    assert shown(0, cot=False).count("Q:") == 1
    text = shown(2, cot=False, name="a")
    assert [text.count(f"Q: {name}?") for name in "acd"] == [1, 1, 1], "another takes the place of the question itself"


def test_exemplars_are_shown_with_their_reasoning_under_chain_of_thought() -> None:
    text = shown(2, cot=True)
    assert "J) ten\nReasons: Ten is the last. So J.\n\nQ: c?" in text
    assert "J) ten\nA: J\n\nQ: q?" in text  # this one has none
    assert text.endswith("J) ten\nReasons:")
