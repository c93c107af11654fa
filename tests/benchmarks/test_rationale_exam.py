"""The protocol of rationales: Q→A, Q→R and Q→AR; deciders; prompts of examinee and judge; tables."""

import itertools
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.explaining import cells, evidence, first, layout, opened, reply, row
from benchmarks.handmade import cmmlu, csbench, record, rows
from evidence import opinion
from rows import each_row, table, tabled, tables_beside
from viva.analysis.uncertainty import adjusted_wald, mean_variance, zero_one_interval
from viva.benchmarks.rationale.combining import FLAWED, GAP, IN_FORM, Q_A, Q_R, WRONG, combine
from viva.contracts import Exam
from viva.errors import DataError
from viva.prompting import prompt_text
from viva.types import (
    ANSWER,
    RATIONALE,
    SCORED,
    Failure,
    Kind,
    Language,
    Mark,
    Question,
    Response,
)

WHY = "Both rows are one and the same list."
RULED: tuple[Kind, ...] = ("choice", "choices", "truth", "term")
KINDS: tuple[Kind, ...] = (*RULED, "open")
HALVED: tuple[Kind, ...] = ("choices", "open")
"""Kinds that have half-right answers."""
WRONG_WHERE = "P(rationale wrong | answer right)"
FLAWED_WHERE = "P(rationale not full | answer right)"
GUESSED = "guess gap (Q→A − Q→AR)"


@cache
def clr() -> Exam:
    return opened()


def wrong(question: Question) -> str:
    """An answer that can be read, and is wrong."""
    if question.kind == "truth":
        return "False" if question.answer == "true" else "True"
    if question.kind == "term":
        return "xyzzy"
    return next(letter for letter in "ABCDE" if letter not in str(question.answer))


def right(question: Question) -> str:
    return ", ".join(str(question.answer)) if question.kind == "choices" else str(question.answer)


def half(question: Question) -> str:
    return str(question.answer)[0]


def choices() -> list[Question]:
    return [question for question in clr().questions() if question.kind == "choice"]


def a_choice() -> Question:
    return first(clr(), "choice")


def a_selection() -> Question:
    """With a right option that makes it half-right, and wrong ones."""
    questions = clr().questions()
    return next(q for q in questions if q.kind == "choices" and 1 < len(str(q.answer)) < len(q.options))


def an_open_one() -> Question:
    return first(clr(), "open")


# Combining

CELLS = (  # answer, rationale, both
    (1.0, 1.0, 1.0), (1.0, 0.5, 0.5), (1.0, 0.0, 0.0), (0.0, 1.0, 0.5), (0.0, 0.5, 0.25), (0.0, 0.0, 0.0),
    (0.5, 1.0, 0.75), (0.5, 0.5, 0.375), (0.5, 0.0, 0.0),  # the half-right selection
)  # fmt: skip


def test_every_cell_through_the_exam() -> None:
    """The answer by rule (the open-ended by a verdict), the rationale by a verdict."""
    with table() as case:
        for a, r, value in CELLS:
            for kind in KINDS if a != 0.5 else HALVED:
                with case((kind, a, r)):
                    question = a_selection() if kind == "choices" else first(clr(), kind)
                    said = "Sort it." if kind == "open" else {1.0: right, 0.5: half, 0.0: wrong}[a](question)
                    verdicts = [f"{a:g}"] if kind == "open" else []
                    score = clr().score(question, reply(WHY, said), evidence(answer=verdicts, rationale=[f"{r:g}"]))
                    assert score.value == value
                    assert score.outcome == ("right" if value == 1 else "wrong" if value == 0 else "partly")
                    assert (score.parts, score.verdicts[RATIONALE]) == ({
                        Q_A: a, Q_R: r, GAP: a - value, WRONG: float(r == 0), FLAWED: float(r < 1), IN_FORM: 1.0,
                    }, (r,))  # fmt: skip
                    assert score.decided == {ANSWER: "judge" if kind == "open" else "rule", RATIONALE: "judge"}


@given(st.sampled_from((0.0, 0.5, 1.0)) | st.floats(0, 1), st.sampled_from((0.0, 0.5, 1.0)) | st.floats(0, 1))
def test_a_better_answer_or_rationale_is_never_worth_less(a: float, r: float) -> None:
    assert 0 <= combine(a, r) <= r <= 1
    assert combine(min(1, a + 0.1), r) >= combine(a, r)
    assert combine(a, min(1, r + 0.1)) >= combine(a, r)
    assert combine(1, r) == r


# Who decides: more of it in scorers/test_deciding.py


@each_row(*KINDS)
def test_an_expert_overrules_the_rule_and_the_judges_about_the_answer(kind: str) -> None:
    question = first(clr(), kind)
    said = wrong(question) if kind != "open" else "Sort it."
    found = evidence(answer=["0"] if kind == "open" else [], rationale=["1"], marks=[Mark("ada", ANSWER, 1.0)])
    score = clr().score(question, reply(WHY, said), found)
    assert (score.value, score.parts[Q_A]) == (1.0, 1.0)
    assert score.decided == {ANSWER: "expert", RATIONALE: "judge"}
    assert "ada" in score.explanation


TABLES = tables_beside(__file__)


@each_row("VERDICT: none", "VERDICT: none.", "**VERDICT: none**")
def test_no_decision_is_an_answer_and_not_asked_for_again(verdict: str) -> None:
    assert clr().readable(a_choice(), opinion(verdict, RATIONALE))
    assert clr().mark(a_choice(), opinion(verdict, RATIONALE)) is None
    assert not clr().readable(a_choice(), opinion("VERDICT: perhaps", RATIONALE))
    assert clr().readable(a_choice(), opinion("VERDICT: 0.5", RATIONALE))


# Answers that cannot be read, and replies that are none


@each_row(*itertools.product(RULED, (1.0, 0.5, 0.0)))
def test_an_unreadable_answer_earns_half_of_its_rationale_and_with_a_worthless_one_is_unparsed(
    kind: str, r: float
) -> None:
    score = clr().score(first(clr(), kind), reply(WHY, "well, it depends"), evidence(rationale=[f"{r:g}"]))
    if r:
        assert (score.value, score.outcome) == (r / 2, "partly")
        assert (score.parts[Q_A], score.parts[Q_R], score.parts[GAP]) == (0.0, r, -r / 2)
    elif kind != "term":  # which any text may be
        assert (score.value, score.outcome, Q_A in score.parts) == (None, "unparsed", False)


SILENCES = [
    (Response(text=""), "empty"),
    (Response(text=" \n\u200b"), "empty"),
    (Response(text="<think>The rows are"), "empty"),
    (Response(text="", stop_reason="length"), "truncated"),
    (Response(text="<think>The rows are", stop_reason="length"), "truncated"),
    (Response(error=Failure("timeout", "no reply within 5 s")), "error"),
    (reply("", ""), "empty"),
]


def test_where_nothing_was_said_nothing_is_asked_compared_or_earned() -> None:
    exam = opened(encoder="x")
    for ((response, outcome), kind), case in tabled(*itertools.product(SILENCES, KINDS)):
        with case:
            question = first(exam, kind)
            score = exam.score(question, response)
            assert (score.value, score.outcome) == (None, outcome)
            assert exam.judgements(question, response, 2, {}) == exam.comparisons(question, response) == ()
            assert exam.drafts(question, response, evidence()) == ()


def test_a_reply_cut_off_within_its_rationale_has_a_rationale_and_no_answer() -> None:
    cut = Response(text='{"Rationale": "Both rows are one and the same list, so', stop_reason="length")
    for kind in RULED:
        question = first(clr(), kind)
        assert clr().score(question, cut).outcome == "ungraded"
        assert clr().score(question, cut, evidence(rationale=["0"])).outcome == "truncated"
        assert clr().score(question, cut, evidence(rationale=["1"])).value == 0.5
        assert [request.aspect for request in clr().judgements(question, cut, 1, {})] == [RATIONALE]


REFUSALS = (
    "I'm sorry, but I can't help with that request.",
    "<think>Shall I?</think>I must decline to answer this question.",
    "As an AI language model, I cannot answer questions about this topic, and I would not like to guess either.",
    "抱歉，我无法回答这个问题。",
)


def test_a_refusal_is_not_judged_not_compared_and_worth_nothing() -> None:
    exam = opened(encoder="x")
    heard = evidence(answer=["1"], rationale=["1"], alike={RATIONALE: 1.0, ANSWER: 1.0})
    for (text, kind, stop), case in tabled(*itertools.product(REFUSALS, KINDS, ("stop", "length"))):
        with case:
            question, refused = first(exam, kind), Response(text=text, stop_reason=stop)
            assert exam.judgements(question, refused, 2, {}) == exam.comparisons(question, refused) == ()
            for found in (evidence(), heard):
                score = exam.score(question, refused, found)
                assert (score.value, score.outcome, score.parts) == (None, "refused", {IN_FORM: 0.0})
                assert not score.decided


HESITANT = [
    "I cannot be sure, but the answer is {}.",
    "I'm sorry, but I can't help with a drawing of it. The answer is {}.",
    "I cannot answer with full certainty, as the question is vague. So the answer is {}.",
]


@each_row(*itertools.product(HESITANT, RULED))
def test_a_reply_that_hesitates_and_then_answers_is_an_answer(text: str, kind: str) -> None:
    question = first(clr(), kind)
    said = Response(text=text.format(right(question)))
    score = clr().score(question, said, evidence(rationale=["1"]))
    assert (score.value, score.outcome) == (1.0, "right")
    assert [request.aspect for request in clr().judgements(question, said, 1, {})] == [RATIONALE]
    within = reply("I cannot answer this question, as both are right.", "I cannot answer this question.")
    assert [request.aspect for request in clr().judgements(question, within, 1, {})] == [RATIONALE]


@each_row(*itertools.product(RULED, ("{}", "Answer: {}", '{{"Rationale": "", "Answer": "{}"}}')))
def test_an_answer_without_a_reason_earns_nothing_and_nobody_is_asked(kind: str, form: str) -> None:
    question = first(clr(), kind)
    said = Response(text=form.format(right(question)))
    score = clr().score(question, said)
    assert (score.value, score.outcome) == (0.0, "wrong")
    assert (score.parts[Q_A], score.parts[Q_R], score.parts[GAP]) == (1.0, 0.0, 1.0)
    assert score.decided == {ANSWER: "rule", RATIONALE: "rule"}
    assert clr().judgements(question, said, 1, {}) == ()


def test_a_reply_without_parts_is_its_own_rationale_and_shown_to_the_judge_once() -> None:
    prose = Response(text=f"The correct answer is {a_choice().answer}, because both rows are one and the same list.")
    (request,) = clr().judgements(a_choice(), prose, 1, {})
    assert prompt_text(request.prompt).count("because both rows are one and the same list") == 1
    score = clr().score(a_choice(), prose, evidence(rationale=["1"]))
    assert (score.value, score.parts[IN_FORM]) == (1.0, 0.0)


@given(
    st.text(max_size=40),
    st.sampled_from(KINDS),
    st.lists(st.sampled_from(["0", "0.5", "1", "none", "7", ""]), max_size=3),
    st.sampled_from([{}, {RATIONALE: 0.95}, {RATIONALE: 0.5, ANSWER: 0.95}]),
    st.lists(st.sampled_from([Mark("a", RATIONALE, 0.5), Mark("b", ANSWER, 1.0)]), max_size=2),
    st.sampled_from(['{"Rationale": "%s", "Answer": "%s"}', "Rationale: %s\nAnswer: %s", "%s%s", "%s B %s"]),
)
def test_a_score_is_total_bounded_consistent_and_always_the_same(
    text: str, kind: Kind, verdicts: list[str], alike: dict[str, float], marks: list[Mark], frame: str
) -> None:
    question = first(clr(), kind)
    response = Response(text=frame % (text, text))
    found = evidence(answer=verdicts[:1], rationale=verdicts, alike=alike, marks=marks)
    score = clr().score(question, response, found)
    assert score == clr().score(question, response, found)
    assert (score.value is not None) == (score.outcome in SCORED)
    assert all(0 <= value <= 1 for name, value in score.parts.items() if name != GAP)
    if score.value is not None and score.parts:
        assert score.value == combine(score.parts[Q_A], score.parts[Q_R])
        assert score.parts[GAP] == score.parts[Q_A] - score.value
    for draft in clr().drafts(question, response, found):
        assert draft.value is None or 0 <= draft.value <= 1


# Similarity


def test_the_rationale_is_compared_and_the_open_answer_too() -> None:
    exam = opened(encoder="roberta-large")
    pairs = {one.aspect: one for one in exam.comparisons(an_open_one(), reply(WHY, "Sort it."))}
    assert (pairs[ANSWER].text, pairs[ANSWER].reference) == ("Sort it.", an_open_one().answer)
    assert (pairs[RATIONALE].text, pairs[RATIONALE].reference) == (WHY, an_open_one().explanation)
    assert [one.aspect for one in exam.comparisons(a_choice(), reply(WHY, "B"))] == [RATIONALE]
    assert exam.comparisons(a_choice(), Response(text="B")) == ()
    assert clr().comparisons(an_open_one(), reply(WHY, "Sort it.")) == (), "without an encoder"


@each_row(
    ({}, [ANSWER, RATIONALE]),
    ({ANSWER: 0.9}, [RATIONALE]),
    ({RATIONALE: 0.9}, [ANSWER]),
    ({ANSWER: 0.95, RATIONALE: 1.0}, []),
    ({ANSWER: 0.8999, RATIONALE: 0.8999}, [ANSWER, RATIONALE]),
    ({ANSWER: -1.0, RATIONALE: 0.0}, [ANSWER, RATIONALE]),
)
def test_from_090_on_similarity_settles_it_and_no_judge_is_asked(alike: dict[str, float], asked: list[str]) -> None:
    said = reply(WHY, "Sort it.")
    requests = clr().judgements(an_open_one(), said, 2, alike)
    assert [request.aspect for request in requests] == [aspect for aspect in asked for _ in range(2)]
    score = clr().score(an_open_one(), said, evidence(alike=alike))
    assert score.decided == {aspect: "similarity" for aspect in (ANSWER, RATIONALE) if aspect not in asked}
    assert score.value == (1.0 if not asked else None)


# Tables


def scored(*said: tuple[Question, str, str | None], exam: Exam | None = None) -> list:
    """Rows of scores: question, answer, verdict about the rationale (None: no judge)."""
    exam = clr() if exam is None else exam
    return [
        row(exam, question, exam.score(question, reply(WHY, what), evidence(rationale=[verdict] if verdict else [])))
        for question, what, verdict in said
    ]


def test_the_three_metrics_the_gap_and_the_conditional_share_with_their_intervals() -> None:
    verdicts = ["1"] * 4 + ["0.5"] * 2 + ["0"] * 2  # to right answers
    said = [(question, right(question), verdict) for question, verdict in zip(choices(), verdicts, strict=False)]
    said += [(question, wrong(question), verdict) for question, verdict in zip(choices()[8:], ("1", "0"), strict=False)]
    found = scored(*said)
    metrics = cells(clr(), found, "types")
    guesses = cells(clr(), found, "types-guessing") | cells(clr(), found, "types-luck")
    assert list(metrics) == [Q_A, Q_R, "Q→AR"]
    assert (metrics[Q_A].mean, metrics[Q_R].mean, metrics["Q→AR"].mean) == (0.8, 0.6, pytest.approx(5.5 / 10))
    assert (metrics[Q_A].low, metrics[Q_A].high) == pytest.approx(zero_one_interval(8, 10))
    gap = guesses[GUESSED]
    each = [float(q.parts[GAP]) for q in found]
    assert gap.mean == pytest.approx(0.8 - 0.55) == pytest.approx(sum(each) / 10)
    squares = sum((one - 0.25) ** 2 for one in each)
    assert (gap.low, gap.high) == pytest.approx(
        adjusted_wald(0.25, mean_variance(squares, 10, 10) ** 0.5, 10, 9).interval
    )
    for label, count in ((WRONG_WHERE, 2), (FLAWED_WHERE, 4)):
        share = guesses[label]
        assert (share.n, share.mean) == (8, count / 8), label
        assert (share.low, share.high) == pytest.approx(zero_one_interval(count, 8))
    assert guesses["reply in form"].mean == 1.0
    assert all(cell.complete for cell in (*metrics.values(), *guesses.values()))


def test_the_gap_is_negative_over_groups_too(tmp_path: Path) -> None:
    """CMMLU averages over subjects: intervals of differences must not be cut at 0."""
    text = rows(*((f"第{n}题？", "甲", "乙", "丙", "丁", "A") for n in range(4)))
    exam = opened("cmmlu", cmmlu(tmp_path, {"anatomy": text, "virology": text}), language="zh", rationale=True)

    def gap(letters: str) -> Any:
        asked = zip(exam.questions(), itertools.cycle(letters), strict=False)
        found = [row(exam, q, exam.score(q, reply(WHY, said), evidence(rationale=["1"]))) for q, said in asked]
        return cells(exam, found, "averages-guessing", "Average")[GUESSED]

    mixed = gap("BBBA")
    assert mixed.mean == pytest.approx(-0.375)
    assert -1 <= mixed.low <= mixed.mean <= mixed.high <= 1
    assert gap("B").mean == pytest.approx(-0.5)


def test_answers_and_rationales_count_while_the_other_waits_for_a_judge() -> None:
    found = scored(*((q, right(q), None) for q in choices()[:3]), (choices()[3], wrong(choices()[3]), None))
    metrics = cells(clr(), found, "types")
    guesses = cells(clr(), found, "types-guessing") | cells(clr(), found, "types-luck")
    assert (metrics[Q_A].mean, metrics[Q_A].complete) == (0.75, True)
    assert metrics[Q_A].outcomes == {"right": 3, "wrong": 1}
    for cell in (metrics[Q_R], metrics["Q→AR"], guesses[GUESSED], guesses[WRONG_WHERE]):
        assert (cell.mean, cell.complete) == (None, False)
    assert (guesses[WRONG_WHERE].n, guesses["reply in form"].mean) == (3, 1.0)
    # Else a model that answers unreadably would be the better for it, as long as nobody judges its reasons.
    unread = scored((choices()[0], right(choices()[0]), None), (choices()[1], "it depends", None))
    assert cells(clr(), unread, "types")[Q_A].mean == 0.5
    score = clr().score(an_open_one(), reply(WHY, "Sort it."), evidence(rationale=["0.5"]))
    assert (score.value, score.outcome) == (None, "ungraded")
    metrics = cells(clr(), [row(clr(), an_open_one(), score)], "types")
    assert (metrics[Q_R].mean, metrics[Q_A].mean, metrics["Q→AR"].mean) == (0.5, None, None)
    several = [q for q in clr().questions() if q.kind == "choices" and 1 < len(str(q.answer)) < len(q.options)]
    found = scored((several[0], half(several[0]), "0"), (several[1], right(several[1]), "1"))
    assert cells(clr(), found, "types-luck")[WRONG_WHERE].n == 1, "only fully right answers count as right"


def test_every_table_has_its_three_metrics_and_its_siblings() -> None:
    last = {"guessing": GUESSED, "luck": WRONG_WHERE}
    for shape in (shape for shape in clr().layouts() if not shape.across):
        *_, sibling = shape.name.split("-")
        if sibling in last:
            assert shape.columns[-1].label == last[sibling]
        else:
            assert [column.label for column in shape.columns] == [Q_A, Q_R, "Q→AR"]
            assert all(layout(clr(), f"{shape.name}-{name}").rows == shape.rows for name in last)


# The protocol on other benchmarks

FORMATS = {
    "choice": ("Multiple-choice", "A"),
    "truth": ("Assertion", "True"),
    "blank": ("Fill-in-the-blank", "heap"),
    "open": ("Open-ended", "It is fast."),
}


def computer_science(folder: Path, language: Language, **settings: Any) -> Exam:
    test = [record(n, answer, Format=name) for n, (name, answer) in enumerate(FORMATS.values())]
    return opened("csbench", csbench(folder, language, test, []), language=language, rationale=True, **settings)


def test_cs_bench_keeps_its_own_grading_of_answers(tmp_path: Path) -> None:
    exam = computer_science(tmp_path, "en", encoder="x")
    by_kind = {question.kind: question for question in exam.questions()}
    for kind, said, verdicts, r, value, aspects in (
        ("open", "It is fast.", ["8"], "1", 0.9, [ANSWER, RATIONALE]),
        ("choice", "A", [], "0.5", 0.5, [RATIONALE]),
        ("blank", "heap", ["1"], "0.5", 0.5, [ANSWER, RATIONALE]),
        ("truth", "True", [], "0.5", 0.5, [RATIONALE]),
    ):
        question, answer = by_kind[kind], reply(WHY, said)  # type: ignore[index]
        assert [one.aspect for one in exam.judgements(question, answer, 1, {})] == aspects
        assert exam.score(question, answer, evidence(answer=verdicts, rationale=[r])).value == pytest.approx(value)
        assert exam.comparisons(question, answer) == (), "there is no gold rationale"
    assert exam.mark(by_kind["open"], opinion("VERDICT: 8", ANSWER)) == 0.8
    assert exam.mark(by_kind["open"], opinion("VERDICT: 8", RATIONALE)) is None


@each_row(*TABLES["refused"])
def test_settings_that_do_not_go_with_it_are_refused(benchmark: str, settings: object, words: str) -> None:
    with pytest.raises(DataError, match=re.escape(words)):
        opened(benchmark, **settings)
    assert opened(rationale=False).spec.rationale, "CLR-Bench always asks why"
