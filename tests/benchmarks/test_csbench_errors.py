"""Judging the error types of wrong answers: which answers, the prompt, and allowed replies."""

from pathlib import Path

import pytest

from benchmarks.handmade import csbench, opened, record
from rows import tabled
from viva.benchmarks.csbench.errorlabels import ErrorTypes
from viva.errors import DataError
from viva.types import Language, Question, Response, Score

ROWS = [
    record(1, Explanation="Since it is so."),
    record(2, "C", Tag="Reasoning"),
    record(3, "True", Format="Assertion", Question="A stack is first in, first out."),
    record(4, "a queue", Format="Fill-in-the-blank", Question="First in, first out: that is ____."),
    record(5, "It ends.", Format="Open-ended", Question="What does it do?"),
]
WRONG = Score(value=0.0, outcome="wrong", answer="B")


def questions(folder: Path, language: Language = "en") -> list[Question]:
    return list(opened("csbench", csbench(folder, language, ROWS), language=language).questions())


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
    for outcome, row in tabled("right", "empty", "truncated", "refused", "error", "unsound"):
        with row:
            assert not ErrorTypes().wrong(choice, Score(value=None, outcome=outcome))  # type: ignore[arg-type]


def test_a_question_of_another_kind_than_knowledge_and_reasoning_is_left_alone(tmp_path: Path) -> None:
    data = csbench(tmp_path, "en", [record(1, Tag="Knowledge")])
    (question,) = opened("csbench", data).questions()
    import msgspec

    stranger = msgspec.structs.replace(question, tags={**question.tags, "tag": "Feeling"})
    assert not ErrorTypes().wrong(stranger, WRONG)


def test_replies_name_only_the_types_of_their_kind_of_question(tmp_path: Path) -> None:
    knowledge, reasoning, *_ = questions(tmp_path)
    types = ErrorTypes()
    assert types.labels(knowledge, "So.\nERRORS: K2, K3") == ("K2", "K3")
    assert types.labels(knowledge, "ERRORS: R1") is None
    assert types.labels(reasoning, "ERRORS: R1, R3") == ("R1", "R3")
    assert types.labels(reasoning, "ERRORS: none") == ()


def test_instructions_of_ones_own_keep_the_fence(tmp_path: Path) -> None:
    knowledge, *_ = questions(tmp_path)
    own = ErrorTypes(over={"en": {"Knowledge": "K1: all wrong. K2: half. K3: mixed up."}})
    prompt = own.request(knowledge, Response(text="B"), 0).prompt
    assert "K1: all wrong." in prompt[1].content  # type: ignore[union-attr]
    bare = "{question} {gold}\n{fence}\n{answer}\n{fence}\n{types} {example} again: {answer}"
    for over, said in (
        ({"en": {"user": bare}}, "between them alone"),
        ({"en": {"user": "{question}"}}, "lacks"),
        ({"it": {"user": "x"}}, "unknown key"),
    ):
        with pytest.raises(DataError, match=said):
            ErrorTypes(over=over)  # type: ignore[arg-type]
