"""Questions that a set lists several times, and tables of a subset of the scores."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from viva.types import OUTCOMES, Aggregate, Outcome, ScoreRow

EXACT = Aggregate("exact", part="exact")


def test_a_question_counts_as_often_as_it_is_listed() -> None:
    found = cell([row(1, "right", weight=3), row(2, "wrong"), row(3, "error", weight=2)])
    assert (found.n, found.mean) == (6, pytest.approx(3 / 4))
    assert found.outcomes == {"right": 3, "wrong": 1, "error": 2}
    assert (found.floor, found.ceiling) == (pytest.approx(3 / 6), pytest.approx(5 / 6))


WEIGHTED = st.lists(
    st.tuples(st.sampled_from(OUTCOMES), st.integers(1, 4), st.sampled_from(("TF", "MC"))), min_size=1, max_size=20
)


@given(WEIGHTED)
def test_a_weight_is_as_good_as_the_same_answer_again(rows: list[tuple[Outcome, int, str]]) -> None:
    """Also by groups; and the intervals take both for one question."""
    for line in (Aggregate("micro"), Aggregate("macro", over="format")):
        weighted = cell(
            [row(n, outcome, tags={"format": name}, weight=w) for n, (outcome, w, name) in enumerate(rows)],
            line,
        )
        listed = cell(
            [
                row(n, outcome, tags={"format": name}, sample=again)
                for n, (outcome, w, name) in enumerate(rows)
                for again in range(w)
            ],
            line,
        )
        assert weighted.outcomes == listed.outcomes
        for name in ("n", "mean", "floor", "ceiling", "low", "high"):
            assert getattr(weighted, name) == pytest.approx(getattr(listed, name)), name


def test_the_spread_over_repeats_counts_weights_too() -> None:
    rows = [
        row(1, "right", weight=3),
        row(2, "wrong"),
        row(1, "wrong", weight=3, repeat=1, sample=1),
        row(2, "right", repeat=1, sample=1),
    ]
    found = cell(rows)
    assert found.mean == pytest.approx(1 / 2)
    assert found.sd == pytest.approx(0.5 * 2**-0.5)  # means of 0.75 and 0.25


def test_the_best_of_several_answers_keeps_its_weight() -> None:
    rows = [row(1, "wrong", weight=3), row(1, "right", sample=1, weight=3), row(2, "wrong"), row(2, "wrong", sample=1)]
    assert cell(rows, Aggregate("best", attempts="best")).mean == pytest.approx(3 / 4)
    assert cell(rows, Aggregate("best of two", attempts="best@2")).mean == pytest.approx(3 / 4)


def test_a_part_takes_the_place_of_the_value() -> None:
    rows = [
        row(1, "partly", 0.25, parts={"exact": 0.0, "f1": 0.5}),
        row(2, "right", parts={"exact": 1.0, "f1": 1.0}),
        row(3, "empty"),
        row(4, "error"),
    ]
    assert cell(rows).mean == pytest.approx(1.25 / 3)
    assert cell(rows, EXACT).mean == pytest.approx(1 / 3)
    f1 = cell(rows, Aggregate("f1", part="f1"))
    assert f1.mean == pytest.approx(1.5 / 3)
    assert (f1.floor, f1.ceiling) == (pytest.approx(1.5 / 4), pytest.approx(2.5 / 4))


def test_a_score_without_the_part_counts_whole() -> None:
    rows = [row(1, "right"), row(2, "wrong"), row(3, "partly", 0.5, parts={"exact": 0.0})]
    assert cell(rows, EXACT).mean == pytest.approx(1 / 3)
    assert cell([row(1, "right")], EXACT).mean == 1.0


def test_rows_of_earlier_versions_are_read_and_written_as_they_were() -> None:
    old = (
        b'{"benchmark":"b","exam":"b-en","model":"m","question":"1","sample":0,"repeat":0,"value":1.0,'
        b'"outcome":"right","answer":"","explanation":"","tags":{}}'
    )
    read = msgspec.json.decode(old, type=ScoreRow)
    assert (read.parts, read.weight) == ({}, 1)
    assert msgspec.json.encode(read) == old
