"""Who decides an aspect: expert beats judge beats similarity; panels by mean, median and majority."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evidence import opinion
from rows import each_row, tabled, tables_beside
from viva.scorers.resolution import Panel, decide, marks_by_judge, review_item, settle, spread
from viva.scorers.verdict import read_mark, undecided
from viva.types import ANSWER, RATIONALE, Mark, Opinion

TABLES = tables_beside(__file__)

SCALE = (0.0, 0.5, 1.0)
PANELS: tuple[Panel, ...] = ("mean", "median", "majority")


def mark(value: float, aspect: str = RATIONALE, reviewer: str = "ada") -> Mark:
    return Mark(reviewer, aspect, value)


# Who decides


def test_expert_beats_judge_beats_similarity() -> None:
    cases = (
        ((), (), None, None, None),
        ((), (), 0.95, 1.0, "similarity"),
        ((), (), 0.90, 1.0, "similarity"),
        ((), (), 0.8999999, None, None),
        ((), (), 0.0, None, None),
        ((), (), -1.0, None, None),
        ((), (0.5,), 0.95, 0.5, "judge"),
        ((), (0.0,), None, 0.0, "judge"),
        ((mark(0.0),), (1.0,), 0.99, 0.0, "expert"),
        ((mark(1.0),), (0.0,), 0.1, 1.0, "expert"),
        ((mark(0.5),), (), None, 0.5, "expert"),
        ((mark(0.0), mark(1.0, reviewer="bob")), (1.0, 1.0), None, 0.5, "expert"),
        ((mark(1.0, ANSWER),), (0.5,), None, 0.5, "judge"),  # a mark of something else
        ((mark(1.0, ANSWER),), (), None, None, None),
    )
    for (marks, verdicts, alike, value, by), row in tabled(*cases):
        with row:
            opinions = {"judge": verdicts}
            decision = decide(RATIONALE, marks=marks, opinions=opinions, replies=len(verdicts), similarity=alike)
            assert (decision.value, decision.by) == (value, by)
            assert decision.verdicts == verdicts, "what the judges gave is kept, whoever decides"
            assert decision.why


def test_the_reasons_name_who_decided_or_what_is_missing() -> None:
    assert "ada 0.5, bob 1" in decide(RATIONALE, marks=(mark(0.5), mark(1.0, reviewer="bob"))).why
    assert "0.9312" in decide(RATIONALE, similarity=0.93121).why
    assert decide(RATIONALE).why == "no judge was asked"
    assert decide(RATIONALE, replies=2).why == "no judge came to a decision"
    assert "0.8999 is below 0.9" in decide(RATIONALE, similarity=0.8999).why
    assert decide(RATIONALE, opinions={"a": (1.0, 0.0)}, panel="majority").why == "no majority of 2 verdicts"
    # judges were heard and disagree: what is like the gold in words does not settle that
    decision = decide(RATIONALE, opinions={"a": (0.0,), "b": (1.0,)}, replies=2, panel="majority", similarity=0.95)
    assert (decision.value, decision.by) == (None, None)
    assert decision.verdicts == (0.0, 1.0)


# Panels


@each_row(
    ({}, None, None, None),
    ({"a": ()}, None, None, None),
    ({"a": (0.5,)}, 0.5, 0.5, 0.5),
    ({"a": (1.0,), "b": (0.0,)}, 0.5, 0.5, None),
    ({"a": (1.0,), "b": (0.5,)}, 0.75, 0.75, None),
    ({"a": (1.0,), "b": (0.5,), "c": (0.0,)}, 0.5, 0.5, None),
    ({"a": (1.0,), "b": (1.0,), "c": (0.0,)}, 2 / 3, 1.0, 1.0),
    ({"a": (1.0, 1.0), "b": (0.0,)}, 0.5, 1.0, 1.0),  # a judge that was asked twice has one voice in the mean
    ({"a": (1.0, 0.0), "b": ()}, 0.5, 0.5, None),  # who gave no mark has none
    ({"a": (1.0, 1.0), "b": (0.0, 0.0)}, 0.5, 0.5, None),
    ({"a": (0.5, 0.5, 1.0), "b": (1.0,)}, 5 / 6, 0.75, None),
    ({"a": (0.0,), "b": (0.0,), "c": (1.0,), "d": (1.0,), "e": (0.5,)}, 0.5, 0.5, None),
)
def test_what_a_panels_verdicts_become(opinions, mean, median, majority) -> None:
    assert settle(opinions, "mean") == (None if mean is None else pytest.approx(mean))
    assert settle(opinions, "median") == median
    assert settle(opinions, "majority") == majority


PANEL = st.dictionaries(st.sampled_from("abcde"), st.lists(st.sampled_from(SCALE), max_size=4).map(tuple), max_size=5)


@given(PANEL, st.sampled_from(PANELS))
def test_a_panel_stays_between_its_verdicts_whatever_their_order(opinions, panel: Panel) -> None:
    given_ = [mark for marks in opinions.values() for mark in marks]
    value = settle(opinions, panel)
    assert value == pytest.approx(settle(dict(reversed(opinions.items())), panel))
    if value is None:
        assert panel == "majority" or not given_
        assert len(set(given_)) != 1
    else:
        assert min(given_) - 1e-12 <= value <= max(given_) + 1e-12
    assert spread(given_) == (max(given_) - min(given_) if given_ else 0.0)


# What judges wrote


def test_replies_without_a_mark_and_of_other_aspects_are_left_out() -> None:
    opinions = [
        Opinion("a", RATIONALE, "VERDICT: 1"),
        Opinion("b", RATIONALE, "VERDICT: none"),
        Opinion("a", ANSWER, "VERDICT: 0"),
        Opinion("a", RATIONALE, "hm"),
        Opinion("a", RATIONALE, "VERDICT: 0.5"),
        Opinion("c", RATIONALE, "VERDICT: 0"),
    ]
    assert marks_by_judge(opinions, RATIONALE, lambda one: read_mark(one, SCALE)) == {"a": (1.0, 0.5), "c": (0.0,)}
    assert marks_by_judge((), RATIONALE, lambda reply: 1.0) == {}


def test_a_draft_shows_all_that_was_written_and_each_judges_mean() -> None:
    wrote = [Opinion("a", RATIONALE, "Good.\nVERDICT: 1\n"), Opinion("b", ANSWER, "no"), Opinion("a", RATIONALE, "x")]
    decision = decide(RATIONALE, opinions={"a": (1.0, 0.5)}, replies=2)
    draft = review_item(RATIONALE, decision, wrote, {"a": (1.0, 0.5), "b": ()}, text="t", gold="g", scale=SCALE)
    assert (draft.value, draft.decided, draft.opinions, draft.scale) == (0.75, "judge", {"a": 0.75}, SCALE)
    assert draft.reasons == "mean of 2 verdicts\n\na: Good.\nVERDICT: 1\n\na: x"


@each_row(*TABLES["a mark of three steps and none"])
def test_a_mark_of_three_steps_and_none(reply, mark, none) -> None:
    assert read_mark(opinion(reply), SCALE) == mark
    assert undecided(opinion(reply)) == none
