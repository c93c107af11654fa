"""The metrics of a rubric put together."""

from rows import each_row
from viva.scorers.resolution import Decision
from viva.scorers.rubric import patterns
from viva.scorers.rubric.points import grade
from viva.scorers.rubric.rubrics import (
    Accepted,
    Blank,
    Blanks,
    ChoicePart,
    JudgePart,
    Keyword,
    Literally,
    Pattern,
    Points,
    Rubric,
    Similarity,
    TruthPart,
    UnitTests,
    When,
)
from viva.scorers.rubric.rubrics import Test as UnitTest
from viva.types import Execution

HIT = Keyword(rule=Literally("yes"))
MISS = Keyword(rule=Literally("no such text"))
COST = Keyword(rule=Literally("yes"), negative=True)
BLANKS = Blanks(template="We say [blank] to it.\n", targets=(Blank(accepted=(Accepted("yes"),)),))
TESTS = UnitTests(language="python", tests=(UnitTest(code="a", weight=1.0), UnitTest(code="b", weight=2.0)))
SIMILAR = Similarity(metric="rouge1", references=("We say yes to it",))
CHOICE = ChoicePart(options=("red", "green"), answer="B", weight=2.0)
TRUTH = TruthPart(answer=True)
JUDGE = JudgePart(reference="yes", weight=4.0)
PASSED, FAILED = Execution("passed"), Execution("failed", "AssertionError:\n  \x1b[31m1 != 2")
ANSWER = "We say yes to it.\n"


@each_row(
    (Rubric(keywords=(HIT, MISS)), 1.0, 2.0),
    (Rubric(keywords=(HIT, MISS), max_score=1.0), 1.0, 1.0),
    (Rubric(keywords=(HIT, HIT), max_score=1.0), 1.0, 1.0),
    (Rubric(keywords=(HIT,), max_score=4.0), 1.0, 4.0),
    (Rubric(keywords=(MISS, COST)), 0.0, 1.0),
    (Rubric(keywords=(MISS, COST), min_score=0.0), 0.0, 1.0),
    (Rubric(keywords=(MISS, COST), min_score=-0.5), -0.5, 1.0),
    (Rubric(keywords=(HIT,), max_score=0.5, min_score=2.0), 2.0, 0.5),  # the minimum has the last word
    (Rubric(keywords=(COST,), max_score=1.0, min_score=0.0), 0.0, 1.0),
    (Rubric(blanks=BLANKS), 1.0, 1.0),
    (Rubric(similarity=(SIMILAR,)), 1.0, 1.0),
    (Rubric(keywords=(HIT, MISS), blanks=BLANKS, similarity=(SIMILAR,)), 3.0, 4.0),
)
def test_points_are_added_clipped_and_divided(rubric, points, total):
    graded = grade(rubric, ANSWER)
    assert (graded.points, graded.total, graded.share) == (points, total, points / total)
    assert (graded.pending, graded.invalid_gold) == ("", "")
    published = grade(rubric, ANSWER, published=True).share
    below = rubric.min_score is None and points == 0.0 and rubric.keywords == (MISS, COST)
    assert published == (-1.0 if below else graded.share), "below nothing where the rubric has no minimum"


def test_metrics_are_added_in_the_published_order():
    rubric = Rubric(
        judge=JUDGE, truth=TRUTH, choice=CHOICE, similarity=(SIMILAR,), tests=TESTS, blanks=BLANKS, keywords=(HIT,)
    )
    graded = grade(
        rubric, ANSWER, executions=[PASSED] * 2, judged=Decision(value=0.5), custom=lambda _: Points(0.5, 1.0)
    )
    assert list(graded.parts) == [
        "keywords", "blank_filling", "unit_test", "similarity", "customized", "choice", "truth", "judge",
    ]  # fmt: skip
    tenths = Rubric(
        keywords=(Keyword(rule=Literally("yes"), weight=0.1),),
        blanks=Blanks(template=BLANKS.template, targets=(Blank(accepted=(Accepted("yes"),), weight=0.2),)),
        similarity=(Similarity(metric="rouge1", references=SIMILAR.references, weight=0.3),),
    )
    assert grade(tenths, ANSWER).points == (0.1 + 0.2) + 0.3 != 0.1 + (0.2 + 0.3)


@each_row("failed", "compile", "timeout", "limit")
def test_tests_earn_their_weight_when_they_pass(verdict):
    graded = grade(Rubric(tests=TESTS), ANSWER, executions=[FAILED, PASSED])
    assert (graded.points, graded.total) == (2.0, 3.0)
    assert graded.parts["unit_test"].details[0].startswith("+0 test 1: failed: AssertionError: ")
    assert graded.parts["unit_test"].details[1] == "+2 test 2: passed"
    assert grade(Rubric(tests=TESTS), ANSWER, executions=[Execution(verdict)] * 2).share == 0.0


@each_row(
    ([], "test 1 of 2 was not run"),
    ([PASSED], "test 2 of 2 was not run"),
    ([PASSED, Execution("toolchain", "no python3 here")], "no toolchain for python: no python3 here"),
    ([Execution("toolchain")], "no toolchain for python"),
)
def test_a_test_that_was_not_run_leaves_the_answer_pending(executions, why):
    graded = grade(Rubric(keywords=(HIT,), tests=TESTS), ANSWER, executions=executions)
    assert (graded.share, graded.pending, graded.invalid_gold) == (None, why, "")
    assert graded.parts["keywords"].points == 1.0


@each_row(
    (Rubric(choice=CHOICE), "The answer is B.", 1.0),
    (Rubric(choice=CHOICE), "The answer is A.", 0.0),
    (Rubric(choice=CHOICE), "I do not know.", 0.0),
    (Rubric(choice=CHOICE), "C", 0.0),  # no such option
    (Rubric(choice=ChoicePart(options=("red", "green"), answer="b")), "green", 1.0),
    (Rubric(truth=TRUTH), "True.", 1.0),
    (Rubric(truth=TRUTH), "错误", 0.0),
)
def test_choice_and_truth_are_read_from_the_answer(rubric, text, share):
    assert grade(rubric, text).share == share


@each_row(
    (Decision(value=1.0), 4.0, ""), (Decision(value=0.0), 0.0, ""), (Decision(value=0.75), 3.0, ""),
    (None, None, "no judge was asked"),
    (Decision(value=None, why="no judge came to a decision"), None, "no judge came to a decision"),
)  # fmt: skip
def test_what_the_judges_decided_earns_its_share_of_the_weight(judged, points, pending):
    graded = grade(Rubric(judge=JUDGE), ANSWER, judged=judged) if judged else grade(Rubric(judge=JUDGE), ANSWER)
    assert (graded.share, graded.pending) == (None if points is None else points / 4, pending)


@each_row(
    (Rubric(keywords=(COST,)), "the rubric's total is 0"),
    (Rubric(keywords=(HIT,), max_score=0.0), "the rubric's total is 0"),
    (Rubric(), "the rubric is empty"),
    (Rubric(keywords=(HIT,), handler="0-0-1"), "no grader called '0-0-1'"),
    (Rubric(keywords=(Keyword(rule=Pattern("(")),)), "'(' is malformed"),
    (Rubric(keywords=(Keyword(rule=Pattern("(s+)+$")),)), "takes more than"),
    (Rubric(keywords=(Keyword(rule=When(HIT.rule, "x")),)), "the condition 'x' cannot be read"),
    (Rubric(blanks=Blanks(template="none", targets=BLANKS.targets)), "0 blanks"),
    (Rubric(similarity=(Similarity(metric="rouge1", references=()),)), "no references"),
    (Rubric(keywords=(HIT,), similarity=(Similarity(metric="rouge1", references=()),)), "no references"),
)
def test_a_rubric_that_cannot_be_applied_gives_no_score_and_says_why(rubric, said, *, monkeypatch):
    monkeypatch.setattr(patterns, "SECONDS", 0.1)
    graded = grade(rubric, "yes " + "s" * 200_000 + "!")
    assert graded.share is None
    assert said in graded.invalid_gold == graded.pending


def test_a_handler_replaces_what_keywords_or_blanks_gave():
    seen: list[object] = []

    def handler(points: Points, status: tuple[bool, ...] | tuple[str, ...]) -> Points:
        seen.append((points.points, points.total, status))
        return Points(3.0, 4.0, ("handled",))

    graded = grade(Rubric(keywords=(HIT, MISS), handler="x"), ANSWER, post_handler=handler)
    assert (graded.points, graded.total, graded.share) == (3.0, 4.0, 0.75)
    assert grade(Rubric(blanks=BLANKS), ANSWER, post_handler=handler).share == 0.75
    assert grade(Rubric(keywords=(HIT,), blanks=BLANKS), ANSWER, post_handler=handler).total == 5.0
    own = grade(Rubric(handler="x", max_score=2.0), ANSWER, custom=lambda text: Points(float(len(text)), 99.0))
    assert (own.points, own.share) == (2.0, 1.0), "a grader of its own gets the whole answer"
    line = "matched: response string: yes, ans: yes"
    assert seen == [(1.0, 2.0, (True, False)), (1.0, 1.0, (line,)), (1.0, 1.0, (True,))]
