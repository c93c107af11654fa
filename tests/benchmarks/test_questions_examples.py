"""Example answers: possible scores, whether grading gives them, and the documentation's worked examples."""

import re
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from tiers import absent
from viva.benchmarks import CUSTOM, open_exam
from viva.benchmarks.custom.examples import check_examples, impossible, shares_of, total_of
from viva.benchmarks.custom.questionloading import read_questions, sound_questions
from viva.benchmarks.custom.questionmodel import Example, OwnQuestion, tables
from viva.benchmarks.rubric_exam import RubricExam
from viva.errors import VivaError
from viva.runs.checks import example_problems
from viva.scorers.rubric.code import languages_of_tests
from viva.scorers.rubric.points import grade
from viva.scorers.rubric.rubrics import (
    Accepted,
    Blank,
    Blanks,
    ChoicePart,
    Graded,
    JudgePart,
    Keyword,
    Literally,
    Points,
    Rubric,
    Similarity,
    Test,
    TruthPart,
    UnitTests,
    When,
)
from viva.types import ExamSpec

DOCS = Path(__file__).parents[2] / "docs"
sys.path.append(str(DOCS.parent / ".ci"))

import reference  # noqa: E402


def words(*weights: float, most: float | None = None, least: float | None = 0.0) -> Rubric:
    """Keywords a, b, c … of these weights; a negative weight is a negative item."""
    items = tuple(
        Keyword(rule=Literally("abcdefgh"[index]), weight=abs(weight), negative=weight < 0)
        for index, weight in enumerate(weights)
    )
    return Rubric(keywords=items, max_score=most, min_score=least)


@each_row(
    (words(1, 1), "full", ""),
    (words(1, 1), "none", ""),
    (words(1, 1), 0.25, "no answer scores 0.25; near it are 0, 0.5"),
    (words(1, 1, 1), 1 / 3, ""),
    (words(1, 1, 1), 0.333, "near it are 0, 0.333333"),
    (words(1, 1, most=3), "full", "no answer scores more than 0.6667"),
    (words(1, 1, most=3), 0.9, "more than 0.6667"),
    (words(1, 1, most=1), 0.5, "0, 1"),
    (words(1, 1, least=1), "none", "less than 0.5"),
    (words(1, 1, least=1), 0.5, ""),
    (words(2, -1), 0.5, ""),
    (words(1, -1, least=None), "below 1", ""),
    (words(1, least=1), "below 1", "nothing here scores below 1"),
    (Rubric(choice=ChoicePart(options=("x", "y"), answer="A")), 0.5, "0, 1"),
    (Rubric(truth=TruthPart(answer=True)), 1.0, ""),
    (Rubric(judge=JudgePart(reference="x")), 0.37, ""),
    (Rubric(similarity=(Similarity(metric="rougeL", references=("x",)),)), 0.37, ""),
    (Rubric(tests=UnitTests(language="r", tests=(Test(code="x"), Test(code="y", weight=3)))), 0.25, ""),
    (Rubric(tests=UnitTests(language="r", tests=(Test(code="x"), Test(code="y", weight=3)))), 0.5, "0.25, 0.75"),
    (Rubric(blanks=Blanks(template="a [blank]", targets=(Blank(accepted=(Accepted("x"),)),))), 0.5, "0, 1"),
)
def test_a_score_that_no_answer_can_get_is_known_beforehand(rubric: Rubric, wanted: object, word: str) -> None:
    said = impossible(shares_of(rubric), wanted)
    assert (word in said) if word else not said


WEIGHTS = st.sampled_from([0.1, 0.25, 1 / 3, 0.5, 1.0, 2.0, 3.0, -0.1, -1.0, -2.5])


@given(
    weights=st.lists(WEIGHTS, min_size=1, max_size=8).filter(lambda weights: max(weights) > 0),
    text=st.text("abcdefgh ", max_size=8),
    most=st.none() | st.sampled_from([0.1, 1.0, 2.5, 100.0]),
    least=st.sampled_from([None, 0.0, 0.05]),
)
def test_a_score_that_an_answer_gets_is_never_called_impossible(
    weights: list[float], text: str, most: float | None, least: float | None
) -> None:
    rubric = words(*weights, most=most, least=least)
    share = grade(rubric, text).share
    assert share is not None
    assert impossible(shares_of(rubric), share) == ""
    if most is None:
        assert total_of(rubric) == pytest.approx(grade(rubric, text).total)


def test_very_many_different_weights_do_not_take_forever() -> None:
    items = tuple(Keyword(rule=Literally(str(index)), weight=2.0**-index + 1) for index in range(200))
    assert shares_of(Rubric(keywords=items))[2] is None


def by_rubric(question: OwnQuestion, answer: str) -> Graded:
    return grade(question.rubric, answer)


def question(rubric: Rubric, *examples: Example) -> OwnQuestion:
    return OwnQuestion(id="one", text="?", rubric=rubric, examples=examples, line=3)


@each_row(
    ("a b", "full", ""),
    ("a", "full", "should score full, and scores 0.5 (1 of 2 points): +1 matched: a; +0 unmatched: b"),
    ("", "none", ""),
    ("", "above 0", "an empty answer always scores none"),
    ("a", "none", "should score none, and scores 0.5"),
    ("a b", "below 1", "should score below 1, and scores 1"),
    ("x", "above 0", "should score above 0, and scores 0"),
    ("a", 0.5, ""),
    ("a", 0.5 + 1e-10, ""),
    ("a", 0.5 + 1e-8, "should score 0.50000001, and scores 0.5"),
)
def test_an_example_that_scores_otherwise_is_reported(answer: str, wanted: object, found: str) -> None:
    problems = check_examples(question(words(1, 1), Example(answer, wanted, 7)), by_rubric)
    assert len(problems) == bool(found)
    for problem in problems:
        assert (problem.line, problem.severity, problem.where) == (7, "error", "question one, examples, item 1")
        assert problem.text.startswith(found)


def refusing(own: OwnQuestion, answer: str) -> Graded:
    if answer == "a":
        raise VivaError("no")
    return Graded(share=1.0, points=1.0, total=1.0, parts={"keywords": Points(1.0, 1.0)})


def test_what_cannot_be_known_here_is_a_warning_and_what_can_never_be_graded_an_error() -> None:
    judged = Rubric(keywords=words(1).keywords, judge=JudgePart(reference="x"))
    never = Rubric(keywords=(Keyword(rule=Literally("a")), Keyword(rule=When(Literally("a"), "item x"))))
    examples = Example("a", "full", 7), Example("b", "full", 8)
    found = [
        check_examples(question(rubric, *examples), grader)
        for rubric, grader in ((judged, by_rubric), (never, by_rubric), (words(1), refusing))
    ]
    assert {(one.severity, one.text) for one in found[0]} == {("warning", "not checked: no judge was asked")}
    assert (found[1][0].severity, found[1][0].text[:16]) == ("error", "cannot be graded")
    assert [(one.line, one.text) for one in found[2]] == [(7, "cannot be graded: no")], "of this example only"


def test_a_hostile_detail_stays_short_and_in_one_line() -> None:
    details = tuple(f"+0 test {number}: \n{'x' * 1000}" for number in range(50))

    def long_winded(own: OwnQuestion, answer: str) -> Graded:
        return Graded(share=0.0, points=0.0, total=1.0, parts={"unit_test": Points(0.0, 1.0, details)})

    (problem,) = check_examples(question(words(1), Example("a", "full")), long_winded)
    assert len(problem.text) < 1000
    assert "\n" not in problem.text
    assert problem.text.endswith("… 44 more")


# --- the worked examples ---


def test_the_worked_examples_have_nothing_wrong() -> None:
    read = read_questions(DOCS / "own-questions.yaml")
    assert read.problems == ()
    assert len(read.questions) >= 10


@pytest.mark.sandbox
def test_the_worked_examples_score_as_they_say() -> None:
    exam = open_exam(ExamSpec(benchmark=CUSTOM, name="own-questions"), DOCS / "own-questions.yaml")
    assert isinstance(exam, RubricExam)
    notes: list[str] = []
    problems = example_problems(sound_questions(DOCS / "own-questions.yaml").questions, exam, notes)
    if notes:
        absent(notes[0])
    assert {(problem.severity, problem.where.partition(",")[0]) for problem in problems} == {
        ("warning", "question not-modified")
    }, "no judge was asked"


def test_the_documentation_shows_the_worked_examples_as_they_are() -> None:
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    whole = (DOCS / "own-questions.yaml").read_text(encoding="utf-8")
    blocks = [block for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL) if block.startswith("  - id:")]
    assert len(blocks) >= 1
    assert [block.split("\n")[0] for block in blocks if block not in whole] == []
    assert "[own-questions.yaml](own-questions.yaml)" in page
    shown = re.findall(r"^```yaml\n(.*?)^```$", reference.examples(), re.MULTILINE | re.DOTALL)
    assert shown == [whole]
    assert len(re.findall(r"^  # \d+\. .*\n  - id: ", whole, re.MULTILINE)) >= 10, "each with what it shows"


def test_the_documentation_has_a_row_for_every_key() -> None:
    page = (DOCS / "data.md").read_text(encoding="utf-8")
    keys = {key for level in tables()["levels"].values() for key in level["keys"]}
    assert sorted(key for key in keys if f"`{key}`" not in page) == []
    assert sorted(name for name in languages_of_tests() if f"`{name}`" not in page) == []
