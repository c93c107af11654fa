"""How CS-Bench grades: rules for letters and truth values, a judge for the rest, as published; types of errors."""

import itertools
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from benchmarks.handmade import csbench, opened, record
from evidence import heard, opinion
from rows import each_row, table, tabled, tables_beside
from servers.fixtures import LocalServer, Viva
from viva.benchmarks import find_benchmark
from viva.benchmarks.csbench.csbench import COMPREHENSION
from viva.benchmarks.csbench.errorlabels import ErrorTypes
from viva.benchmarks.csbench.recordfiles import KINDS
from viva.contracts import Exam
from viva.errors import DataError
from viva.types import ANSWER, ExamSpec, Failure, Kind, Question, Response, Score

TAGS = {"domain": "OS", "subfield": "OS: Overview", "format": "x", "tag": "Knowledge", "language": "en"}


@cache
def usual() -> Exam:
    return opened("csbench")


@cache
def as_published() -> Exam:
    return opened("csbench", as_published=True)


def question(kind: Kind, answer: str | None) -> Question:
    options = ("a stack", "a queue", "a heap", "a tree") if kind == "choice" else ()
    return Question(id="q", kind=kind, text="What is it?", language="en", options=options, answer=answer, tags=TAGS)


CHOICE = question("choice", "B")
TRUE, FALSE = question("truth", "true"), question("truth", "false")
BLANK = question("blank", "48-bit")
OPEN = question("open", "Because it is balanced.")


def graded(asked: Question, reply: str, *verdicts: str, exam: Exam | None = None, **response: object) -> Score:
    exam = usual() if exam is None else exam
    return exam.score(asked, Response(text=reply, **response), heard(*verdicts))  # type: ignore[arg-type]


@each_row(
    (CHOICE, Response(text="B")),
    (TRUE, Response(text="B")),
    (question("blank", None), Response(text="x")),
    *itertools.product((BLANK, OPEN), (Response(), Response(text=" \n\t"), Response(error=Failure("status", "500")))),
)
def test_no_judge_is_asked_where_a_rule_decides_about_nothing_or_without_a_gold(
    asked: Question, response: Response
) -> None:
    assert usual().judgements(asked, response, 3, {}) == ()
    requests = usual().judgements(OPEN, Response(text="my answer"), 3, {})
    assert [(request.sample, request.sampling.temperature) for request in requests] == [(at, 0) for at in range(3)]
    assert len({request.prompt for request in requests}) == 1


# The judge's verdict


@each_row(  # which line counts, and what contradicts it, is in scorers/test_verdict.py
    (BLANK, "It is the same.\nVERDICT: 1", 1.0),
    (BLANK, "VERDICT: 0", 0.0),
    (OPEN, "Good.\nVERDICT: 8/10", 0.8),
    (OPEN, "VERDICT: 10", 1.0),
    (OPEN, "Bad.\nVERDICT: 1", 0.1),
    *((BLANK, verdict, None) for verdict in ("", "1", "VERDICT: 2", "VERDICT: -1", "VERDICT: 0.5", "VERDICT: yes")),
    *((OPEN, verdict, None) for verdict in ("VERDICT: 0", "VERDICT: 11", "VERDICT: 8/5", "VERDICT: 7.5", "8/10")),
)
def test_a_verdict_is_read_from_the_last_line_and_without_one_the_answer_is_ungraded(
    asked: Question, verdict: str, value: float | None
) -> None:
    score = graded(asked, "my answer", verdict)
    assert score.value == (None if value is None else pytest.approx(value))
    assert score.outcome == {None: "ungraded", 1: "right", 0: "wrong"}.get(value, "partly")
    assert usual().readable(asked, opinion(verdict, ANSWER)) == (value is not None)
    assert "my answer" in score.answer


def test_several_verdicts_are_averaged_and_the_unreadable_left_out() -> None:
    score = graded(OPEN, "x", "VERDICT: 7", "no verdict", "VERDICT: 8")
    assert score.value == pytest.approx(0.75)
    assert score.verdicts == {ANSWER: (0.7, 0.8)}
    assert (score.parts, score.decided) == ({}, {ANSWER: "judge"})
    assert graded(BLANK, "x", "VERDICT: 1", "VERDICT: 0", "VERDICT: 0").value == pytest.approx(1 / 3)
    assert graded(BLANK, "x", "VERDICT: 1", "VERDICT: 0").outcome == "partly"
    assert graded(BLANK, "x", "VERDICT: 1", "VERDICT: 1").outcome == "right"
    assert graded(BLANK, "x", "?", "?").outcome == "ungraded"


# As published


@each_row(  # more in test_published_readers.py
    ("A queue is right, so the answer is B.", "A"),
    ("the answer is b", "B"),
    ("The vitamin-c tablet", "C"),
    ("x_a a1 Ba", None),
    ("答案是B", None),  # boundaries in the sense of Unicode
    ("答案是B。A", "A"),
    ("Je suis désolé", None),
    ("E", None),
    ("", None),
)
def test_as_published_the_first_a_to_d_of_any_case_is_the_choice(reply: str, letter: str | None) -> None:
    for gold in "ABCD":
        score = graded(question("choice", gold), reply, exam=as_published())
        assert score.value == (None if letter is None else float(letter == gold))
        assert score.answer == (letter or "")
        assert "as published" in score.explanation


@each_row(
    *itertools.product(("True", "False", "true", "FALSE", "The statement is true.", "no idea", ""), (TRUE, FALSE))
)
def test_as_published_no_assertion_is_ever_right(reply: str, asked: Question) -> None:
    score = graded(asked, reply, exam=as_published())
    assert (score.value, score.outcome) == (0.0, "wrong")
    assert "as published" in score.explanation


NUMBERS = tables_beside(__file__)["numbers"]


def test_as_published_the_last_number_is_the_mark() -> None:
    with table() as row:
        for verdict, of_open, of_blank in NUMBERS:
            for asked, value in ((OPEN, of_open), (BLANK, of_blank)):
                with row((asked.kind, verdict)):
                    assert graded(asked, "x", verdict, exam=as_published()).value == pytest.approx(value)
                    assert as_published().readable(asked, opinion(verdict, ANSWER)), "no judge is asked again"


# Tables


def test_the_tables_are_those_of_the_paper() -> None:
    layouts = {layout.name: layout for layout in usual().layouts()}
    domains, formats, subfields = (layouts[name] for name in ("domains", "formats", "subfields"))
    assert [line.label for line in domains.rows] == ["DSA", "CO", "CN", "OS", "Overall"]
    assert [line.label for line in domains.columns] == ["Knowledge", "Reasoning", "Average"]
    assert [line.label for line in formats.rows[:4]] == [*KINDS]
    assert len(subfields.rows) == len({line.label for line in subfields.rows}) == 26
    assert Counter(line.label.split(":")[0] for line in subfields.rows if line.label.endswith("Overview")).total() == 3
    assert (usual().headline().where, usual().headline().over) == ({}, "")


def test_as_published_a_blank_reply_goes_to_the_judge(viva: Viva, server: LocalServer) -> None:
    judge = f"--model baseline/silent --judge openai/m --judge-base-url {server.url} --progress quiet".split()
    for more, judged, outcome in (((), 0, "empty"), (("--as-published",), 20, "wrong")):
        viva("run", "csbench", *judge, *more, "--run", f"runs/{judged}")
        assert server.asked == judged
        kinds = {row["outcome"] for row in viva.scores(f"runs/{judged}") if row["tags"]["format"] not in COMPREHENSION}
        assert kinds == {outcome}


def test_as_published_a_judges_prompt_needs_no_fences() -> None:
    mine: dict[str, object] = {"judge": {"en": {"blank": {"user": "{question} {gold} {answer}"}}}}
    published = ExamSpec(benchmark="csbench", language="en", as_published=True)
    assert find_benchmark("csbench").open(published, None, mine).templates
    with pytest.raises(DataError, match="fence"):
        find_benchmark("csbench").open(ExamSpec(benchmark="csbench", language="en"), None, mine)


# Types of errors


ROWS = [
    record(1, Explanation="Since it is so."),
    record(2, "C", Tag="Reasoning"),
    record(3, "True", Format="Assertion", Question="A stack is first in, first out."),
    record(4, "a queue", Format="Fill-in-the-blank", Question="First in, first out: that is ____."),
    record(5, "It ends.", Format="Open-ended", Question="What does it do?"),
]
WRONG = Score(value=0.0, outcome="wrong", answer="B")


def questions(folder: Path) -> list[Question]:
    return list(opened("csbench", csbench(folder, "en", ROWS)).questions())


def test_wrong_multiple_choice_answers_are_labelled_as_in_the_paper_and_others_on_request(tmp_path: Path) -> None:
    choice, _, truth, blank, essay = questions(tmp_path)
    usual, every = ErrorTypes(), ErrorTypes(["Multiple-choice", "Assertion", "Fill-in-the-blank", "Open-ended"])
    assert usual.wrong(choice, Score(value=None, outcome="unparsed"))
    assert usual.wrong(choice, WRONG)
    assert not any(usual.wrong(question, WRONG) for question in (truth, blank, essay))
    assert all(every.wrong(question, WRONG) for question in (choice, truth, blank))
    low, high = Score(value=0.3, outcome="partly"), Score(value=0.4, outcome="partly")
    assert every.wrong(essay, low)
    assert not every.wrong(essay, high)
    assert not every.wrong(blank, low)


def test_what_is_not_a_wrong_answer_shows_no_error(tmp_path: Path) -> None:
    choice, *_ = questions(tmp_path)
    assert not ErrorTypes().wrong(replace(choice, tags={**choice.tags, "tag": "Feeling"}), WRONG)
    for outcome, row in tabled("right", "empty", "truncated", "refused", "error", "unsound"):
        with row:
            assert not ErrorTypes().wrong(choice, Score(value=None, outcome=outcome))  # type: ignore[arg-type]


@each_row(
    (
        {"en": {"user": "{question} {gold}\n{fence}\n{answer}\n{fence}\n{types} {example} {answer}"}},
        "between them alone",
    ),
    ({"en": {"user": "{question}"}}, "lacks"),
    ({"it": {"user": "x"}}, "unknown key"),
)
def test_instructions_of_ones_own_keep_the_fence(over: Any, said: str, *, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=said):
        ErrorTypes(over=over)
    knowledge, reasoning, *_ = questions(tmp_path)
    own = ErrorTypes(over={"en": {"Knowledge": "K1: all wrong. K2: half. K3: mixed up."}})
    assert "K1: all wrong." in own.request(knowledge, Response(text="B"), 0).prompt[1].content  # type: ignore[union-attr]
    replies = ("So.\nERRORS: K2, K3", "ERRORS: R1", "ERRORS: none")
    assert [own.labels(knowledge, reply) for reply in replies] == [("K2", "K3"), None, ()]
    assert [own.labels(reasoning, reply) for reply in replies] == [None, ("R1",), ()]
