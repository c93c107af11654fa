"""Counts of error types: shares over what was labelled, several of them, intervals over questions."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.analysis.errortypes import Errors, Typed, Vote, agreed, counted
from viva.analysis.uncertainty import zero_one_interval

GROUPS = {"Knowledge": ("K1", "K2", "K3"), "Reasoning": ("R1", "R2", "R3")}


def typed(question: object, labels: Vote, **over: Any) -> Typed:
    return Typed(
        **{"model": "m", "question": str(question), "group": "Knowledge", "tags": {}, "labels": labels, **over}
    )


def only(answers: list[Typed], by: str = "") -> Errors:
    (found,) = counted("exam", answers, GROUPS, by)
    return found


def shares(found: Errors) -> dict[str, tuple[int, float | None]]:
    return {one.type: (one.count, one.share) for one in found.shares}


def test_several_types_count_each_and_what_has_none_counts_below() -> None:
    found = only([typed(1, ("K1", "K2")), typed(2, ("K1",)), typed(3, ()), typed(4, None)])
    assert (found.wrong, found.labelled, found.unlabelled, found.fitting) == (4, 3, 1, 2)
    assert shares(found) == {"K1": (2, pytest.approx(2 / 3)), "K2": (1, pytest.approx(1 / 3)), "K3": (0, 0.0)}
    everything = only([typed(n, ("K1", "K2", "K3")) for n in range(5)])
    assert sum(one.share or 0 for one in everything.shares) == pytest.approx(3)


def test_where_nothing_is_labelled_there_is_no_share() -> None:
    found = only([typed(1, None)])
    assert shares(found) == dict.fromkeys(GROUPS["Knowledge"], (0, None))
    assert counted("exam", [], GROUPS) == []


@given(st.integers(1, 80), st.data())
def test_one_answer_a_question_has_the_interval_of_scores_of_0_and_1(n: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(0, n))
    found = only([typed(number, ("K1",) if number < count else ("K2",)) for number in range(n)])
    low, high = zero_one_interval(count, n) or (0.0, 0.0)
    assert (found.shares[0].low, found.shares[0].high) == (pytest.approx(low, abs=1e-9), pytest.approx(high, abs=1e-9))


def test_more_answers_to_the_same_questions_are_no_more_questions() -> None:
    once, often = (
        only([typed(n, ("K1",) if n % 3 else ("K2",)) for n in range(30) for _ in range(times)]).shares[0]
        for times in (1, 8)
    )
    assert (often.share, once.low < once.share < once.high) == (pytest.approx(once.share), True)
    assert often.high - often.low == pytest.approx(once.high - once.low, rel=0.15)


def test_models_kinds_of_question_and_values_of_a_tag_are_apart() -> None:
    answers = [
        typed(1, ("K1",), tags={"domain": "OS"}),
        typed(2, ("K2",), tags={"domain": "CO"}),
        typed(3, ("R3",), group="Reasoning", tags={"domain": "OS"}),
        typed(1, ("K3",), model="n", tags={"domain": "OS"}),
    ]
    found = counted("exam", answers, GROUPS, "domain")
    assert [(one.model, one.group, one.value, one.wrong) for one in found] == [
        ("m", "Knowledge", "OS", 1),
        ("m", "Knowledge", "CO", 1),
        ("m", "Reasoning", "OS", 1),
        ("n", "Knowledge", "OS", 1),
    ]


@each_row(
    ([("K1",)], ("K1",)),
    ([None], None),
    ([], None),
    ([()], ()),
    ([("K1", "K2"), ("K2",), ("K3",)], ("K2",)),
    ([("K2", "K1"), ("K1", "K2")], ("K1", "K2")),
    ([("K1",), ("K2",)], None),
    ([("K1",), None], ("K1",)),
    ([(), (), ("K1",)], ()),
    ([(), ("K1",)], None),
    ([("K1",), ("K2",), ("K3",)], None),
)
def test_judges_agree_on_what_more_than_half_of_them_name(
    votes: object, expected: tuple[str, str] | tuple[()] | tuple[str] | None
) -> None:
    assert agreed(votes) == expected
