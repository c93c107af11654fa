"""Who decided what, and how far judges agreed: counted, and printed in every form."""

from __future__ import annotations

from benchmarks.explaining import evidence, first, opened, reply
from render.samples import report, result
from rows import tabled
from viva.render.deciders import DeciderCounts, deciding_tables
from viva.render.formats import FORMATS
from viva.render.table import Table
from viva.types import ANSWER, RATIONALE, Decider, Mark, Outcome, Question, Response, Score

QUESTION = Question(id="q", kind="open", text="Why?", language="en", answer="So.")
COLUMNS = ("", "rule", "similarity", "judge", "expert", "undecided", "not read")


def watched(*scores: Score) -> DeciderCounts:
    deciding = DeciderCounts()
    for score in scores:
        deciding.watch(score)
    return deciding


def told(*scores: Score) -> list[Table]:
    return deciding_tables(watched(*scores).decided(), "")


def score(
    decided: dict[str, Decider] | None = None,
    verdicts: dict[str, tuple[float, ...]] | None = None,
    outcome: Outcome = "right",
) -> Score:
    value = {"right": 1.0, "wrong": 0.0}.get(outcome)
    return Score(value=value, outcome=outcome, decided=decided or {}, verdicts=verdicts or {})


def test_each_aspect_has_its_shares() -> None:
    (grid,) = told(
        *(score({ANSWER: "rule", RATIONALE: "similarity"}) for _ in range(3)),
        score({ANSWER: "similarity", RATIONALE: "judge"}, {RATIONALE: (1.0,)}),
        score({ANSWER: "rule", RATIONALE: "expert"}),
        score({ANSWER: "rule"}, {RATIONALE: ()}, "ungraded"),
    )
    assert (grid.title, grid.header) == ("Who decided", COLUMNS)
    assert tuple(grid.texts()) == (
        (ANSWER, "5 (83.3 %)", "1 (16.7 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)"),
        (RATIONALE, "0 (0.0 %)", "3 (50.0 %)", "1 (16.7 %)", "1 (16.7 %)", "1 (16.7 %)", "0 (0.0 %)"),
    )


def test_where_rules_decide_everything_there_is_no_table() -> None:
    runs: dict[str, tuple[Score, ...]] = {
        "no answer": (),
        "nothing decided": (score(),),
        "rules": (score({ANSWER: "rule"}), score({ANSWER: "rule", RATIONALE: "rule"}, outcome="wrong")),
        "empty": (score(outcome="empty"), score(outcome="error")),
        "refused": (score({ANSWER: "rule"}), score(outcome="refused")),
    }
    for (_name, scores), row in tabled(*runs.items()):
        with row:
            deciding = watched(*scores)
            assert told(*scores) == []
            assert not deciding.reviewed


def test_what_nobody_decided_is_counted_where_it_was_to_be_judged() -> None:
    (grid,) = told(score(verdicts={ANSWER: (), RATIONALE: ()}, outcome="ungraded"))
    assert [(row[0], row[-2]) for row in grid.texts()] == [(ANSWER, "1 (100.0 %)"), (RATIONALE, "1 (100.0 %)")]


def test_shares_are_of_all_answers_also_of_those_that_left_nothing_to_decide() -> None:
    (grid,) = told(
        score({ANSWER: "rule", RATIONALE: "judge"}),
        score({RATIONALE: "judge"}),  # the answer could not be read, the rationale earns half
        score(outcome="empty"),
        score(outcome="refused"),
        score(outcome="error"),  # no answer at all
        score(outcome="unsound"),
    )
    assert tuple(grid.texts()) == (
        (ANSWER, "1 (25.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "3 (75.0 %)"),
        (RATIONALE, "0 (0.0 %)", "0 (0.0 %)", "2 (50.0 %)", "0 (0.0 %)", "0 (0.0 %)", "2 (50.0 %)"),
    )


def test_an_exam_without_rationales_counts_its_rules_too() -> None:
    exam = opened("csbench")
    choice, blank = first(exam, "choice"), first(exam, "blank")
    deciding = DeciderCounts()
    for question, text, found in (
        (choice, str(choice.answer), evidence()),
        (choice, "", evidence()),
        (blank, "x", evidence(answer=["1"])),
        (blank, "x", evidence()),
    ):
        deciding.watch(exam.score(question, Response(text=text), found))
    (grid,) = deciding_tables(deciding.decided(), "")
    quarter, none = "1 (25.0 %)", "0 (0.0 %)"
    assert tuple(grid.texts()) == ((ANSWER, quarter, none, quarter, none, quarter, quarter),)


def test_how_far_judges_agreed() -> None:
    _, grid = told(
        score({RATIONALE: "judge"}, {RATIONALE: (1.0, 1.0)}),
        score({RATIONALE: "judge"}, {RATIONALE: (1.0, 0.5, 0.0)}),
        score({RATIONALE: "judge"}, {RATIONALE: (0.5,)}),  # one verdict has nobody to differ from
        score(verdicts={RATIONALE: (0.0, 0.5)}, outcome="ungraded"),  # nor does a tie decide
    )
    assert "agreed" in grid.title
    assert tuple(grid.texts()) == ((RATIONALE, "3", "33.3 %", "0.500"),)


def test_experts_are_told_apart() -> None:
    assert watched(score({RATIONALE: "judge"}), score({RATIONALE: "expert"})).reviewed
    assert not watched(score({RATIONALE: "judge"})).reviewed


def test_an_exams_own_scores() -> None:
    exam = opened()
    choice, blank = first(exam, "choice"), first(exam, "open")
    deciding = DeciderCounts()
    for question, found in (
        (choice, evidence(rationale=["1", "0"])),
        (choice, evidence(alike={RATIONALE: 0.95})),
        (choice, evidence(marks=[Mark("ada", RATIONALE, 0.5)], rationale=["1"])),
        (choice, evidence()),
        (blank, evidence(alike={ANSWER: 0.95}, rationale=["0.5"])),
    ):
        deciding.watch(exam.score(question, reply("It is so.", "B"), found))
    shares, agreed = deciding_tables(deciding.decided(), "")
    assert {row[0]: row[1:] for row in shares.texts()} == {
        ANSWER: ("4 (80.0 %)", "1 (20.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)", "0 (0.0 %)"),
        RATIONALE: ("0 (0.0 %)", "1 (20.0 %)", "2 (40.0 %)", "1 (20.0 %)", "1 (20.0 %)", "0 (0.0 %)"),
    }
    assert tuple(agreed.texts()) == ((RATIONALE, "1", "0.0 %", "1.000"),)


def test_the_tables_are_printed_with_their_exam_and_model() -> None:
    decided = watched(score({RATIONALE: "judge"}, {RATIONALE: (1.0, 0.5)})).decided()
    for form, row in tabled("terminal", "markdown", "latex"):
        with row:
            text = FORMATS[form](report(result(decided=decided, model="openai/z|1\x1b[31m")))
            assert "Who decided" in text
            assert "100.0" in text
            assert "0.500" in text
            assert "\x1b" not in text
            assert "Who decided" not in FORMATS[form](report())
