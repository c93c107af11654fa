"""Scores over training: the same numbers as in other tables, in the order of training."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from viva.analysis.breakdown import frame
from viva.analysis.estimate import Estimate
from viva.analysis.training import Point, by_table, by_tag, measured, parts_of, training
from viva.types import Aggregate, TableSpec

OVERALL = Aggregate("Overall")
ROWS = [
    row("a", "right", tags={"format": "TF"}),
    row("b", "wrong", tags={"format": "TF"}),
    row("c", "right", tags={"format": "MC"}),
    row("d", "partly", tags={"format": "FITB"}),
    row("e", "right", tags={}),
]


def cells(**means: float | None) -> dict[str, Estimate]:
    return {name: Estimate(n=1, mean=mean) for name, mean in means.items()}


def point(at: float, **means: float | None) -> Point:
    return Point(checkpoint=f"step{at:g}", at=at, cells=cells(**means))


def test_a_curve_for_each_value_of_a_tag_and_the_headline() -> None:
    scores = frame(ROWS)
    assert parts_of(scores, "format") == ["TF", "MC", "FITB"]
    found = measured(scores, by_tag(scores, "format", OVERALL), "")
    assert {name: one.mean for name, one in found.items()} == {"TF": 0.5, "MC": 1.0, "FITB": 0.5, "Overall": 0.7}
    assert found["TF"] == cell(ROWS, Aggregate("", {"format": ("TF",)}))
    assert found["Overall"] == cell(ROWS)


def test_a_headline_that_averages_groups_first() -> None:
    found = measured(frame(ROWS[:4]), by_tag(frame(ROWS[:4]), "format", Aggregate("OA", over="format")), "")
    assert found["OA"].mean == pytest.approx((0.5 + 1 + 0.5) / 3)


def test_a_value_that_is_called_as_the_headline_keeps_its_curve() -> None:
    scores = frame([row("a", "right", tags={"part": "Overall"}), row("b", "wrong", tags={"part": "x"})])
    lines = by_tag(scores, "part", OVERALL)
    assert list(lines) == ["Overall", "x", "Overall (overall)"]
    assert [one.mean for one in measured(scores, lines, "").values()] == [1.0, 0.0, 0.5]


def test_no_value_of_a_tag_that_nothing_has() -> None:
    assert parts_of(frame(ROWS), "subject") == []
    assert parts_of(frame([]), "format") == []


def test_the_columns_of_a_table_of_models() -> None:
    columns = (
        Aggregate("TF", {"format": ("TF",)}),
        Aggregate("not TF", {"format": ("MC", "FITB")}),
        Aggregate("OA", over="format"),
    )
    layout = TableSpec("formats", "By format", (Aggregate("All", {"format": ("TF", "FITB")}),), columns, across=True)
    found = measured(frame(ROWS), by_table(layout), "")
    assert {name: one.mean for name, one in found.items()} == {"TF": 0.5, "not TF": 0.5, "OA": 0.5}
    assert [one.n for one in found.values()] == [2, 1, 3], "what the row and the column share"


def test_what_several_answers_count_as_is_the_headlines_way() -> None:
    rows = [row("a", "wrong", sample=0, tags={"format": "X"}), row("a", "right", sample=1, tags={"format": "X"})]
    lines = by_tag(frame(rows), "format", OVERALL)
    assert measured(frame(rows), lines, "")["X"].mean == 0.5
    assert measured(frame(rows), lines, "best")["X"].mean == 1.0


def test_checkpoints_stand_in_the_order_of_training() -> None:
    found = training("e", "training tokens", [point(3, x=0.3), point(0, x=0.1), point(1, x=0.5), point(1, x=0.4)])
    assert [one.at for one in found.points] == [0, 1, 1, 3]
    assert [one.cells["x"].mean for one in found.points] == [0.1, 0.5, 0.4, 0.3], "equal ones as they came"
    (curve,) = found.curves
    assert (curve.first, curve.last, curve.best, curve.best_at) == (0.1, 0.3, 0.5, 1)
    # Of the five pairs that differ in training, three rise: 3 - 2 = 1, over √(5 × 6).
    assert curve.tau == pytest.approx(1 / 30**0.5)


def test_a_curve_without_a_figure_has_nothing_to_say() -> None:
    found = training("e", "training tokens", [point(1, x=None, y=0.5), point(2, x=None)])
    assert [curve.name for curve in found.curves] == ["x", "y"]
    assert [(curve.first, curve.last, curve.tau) for curve in found.curves] == [(None, None, None), (0.5, 0.5, None)]
    assert training("e", "training tokens", []).curves == ()


@given(st.lists(st.tuples(st.floats(0, 1e13), st.one_of(st.none(), st.floats(0, 1))), max_size=12))
def test_any_checkpoints(given_points: list[tuple[float, float | None]]) -> None:
    found = training("e", "training tokens", [point(at, x=mean) for at, mean in given_points])
    known = [mean for _, mean in given_points if mean is not None]
    assert [one.at for one in found.points] == sorted(at for at, _ in given_points)
    for curve in found.curves:
        assert (curve.best is None) == (not known)
        if known:
            assert curve.best == max(known)
            assert {curve.first, curve.last} <= set(known)
            assert curve.tau is None or -1 <= curve.tau <= 1
