"""Cells of a breakdown: outcomes, means, bounds, repeats, the papers' numbers; and the same over training."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from benchmarks.handmade import opened
from cli.collected import read_csv
from rows import table
from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.estimate import Estimate
from viva.analysis.training import Point, by_table, by_tag, measured, parts_of, training
from viva.types import OUTCOMES, UNANSWERED, UNREADABLE, Aggregate, Outcome, ScoreRow, TableSpec

MACRO = Aggregate("macro", over="subject")


# Outcomes


@pytest.mark.parametrize("outcome", sorted(UNREADABLE))
def test_what_cannot_be_read_earns_no_point_and_stays_in_the_denominator(outcome: Outcome) -> None:
    found = cell([row(1, "right"), row(2, "right"), row(3, "wrong"), row(4, outcome)])
    assert found.mean == pytest.approx(2 / 4)
    assert (found.floor, found.ceiling) == (pytest.approx(2 / 4), pytest.approx(2 / 4)), "wrong, and not missing"
    assert found.complete
    assert found.outcomes == {"right": 2, "wrong": 1, outcome: 1}


@pytest.mark.parametrize("outcome", sorted(UNANSWERED))
def test_what_is_not_the_models_doing_is_left_out_of_the_mean_and_kept_in_the_bounds(outcome: Outcome) -> None:
    found = cell([row(1, "right"), row(2, "right"), row(3, "wrong"), row(4, outcome)])
    assert (found.n, found.unanswered, found.complete) == (4, 1, False)
    assert found.mean == pytest.approx(2 / 3)
    assert (found.floor, found.ceiling) == (pytest.approx(2 / 4), pytest.approx(3 / 4))


@pytest.mark.parametrize("outcome", sorted(UNANSWERED))
def test_where_nothing_is_answered_there_is_no_mean(outcome: Outcome) -> None:
    for line in (Aggregate("micro"), MACRO):
        found = cell([row(n, outcome, tags={"subject": "law"}) for n in range(3)], line)
        assert (found.n, found.mean, found.low, found.high, found.sd) == (3, None, None, None, None)
        assert (found.floor, found.ceiling) == (0.0, 1.0)


def test_a_published_quarter_for_an_unparsed_reply_counts_in_the_mean() -> None:
    found = cell([row(1, "right"), row(2, "wrong"), row(3, "unparsed", 0.25), row(4, "empty", 0.25)])
    assert found.mean == pytest.approx(1.5 / 4)
    assert (found.floor, found.ceiling) == (pytest.approx(1.5 / 4), pytest.approx(1.5 / 4))
    assert found.complete


# Repeats


def repeated(*means: float) -> list[ScoreRow]:
    """Four questions asked once in each repeat, of which so many per cent are right."""
    return [
        row(q, "right" if q < 4 * mean else "wrong", sample=repeat, repeat=repeat, tags={"subject": f"s{q % 2}"})
        for repeat, mean in enumerate(means)
        for q in range(4)
    ]


def test_the_spread_over_repeats_is_that_of_their_means() -> None:
    for line in (Aggregate("micro"), MACRO):
        found = cell(repeated(0.5, 0.75, 1.0), line)
        assert found.mean == pytest.approx(0.75)
        assert found.sd == pytest.approx(0.25)
    assert [cell(repeated(*means)).sd for means in ((0.5, 0.5), (0.5,))] == [0.0, None]


# Lines


def test_a_cell_holds_what_all_lines_share() -> None:
    rows = [
        row(1, "right", tags={"domain": "OS", "tag": "K"}),
        row(2, "wrong", tags={"domain": "OS", "tag": "R"}),
        row(3, "right", tags={"domain": "CN", "tag": "K"}),
        row(4, "wrong", tags={"tag": "K"}),
        row(5, "wrong", tags={"domain": ""}),
    ]
    systems, networks, knowledge = (
        Aggregate("", {"domain": ("OS",)}),
        Aggregate("", {"domain": ("CN",)}),
        Aggregate("", {"tag": ("K",)}),
    )
    assert [cell(rows, line).n for line in (systems, networks, knowledge)] == [2, 1, 3]
    assert [cell(rows, one, knowledge).n for one in (systems, Aggregate("", {"domain": ("",)}))] == [1, 0]
    assert cell(rows, Aggregate("", over="domain")).groups == 4, "no domain is none, and not an empty one"
    assert cell(rows, systems, networks).n == 0
    assert cell(rows, Aggregate("", {"domain": ("OS", "CN")})).n == 3
    assert [cell(rows, Aggregate("", {tag: ("red",)})).n for tag in ("domain", "colour")] == [0, 0]


def test_nothing_at_all_is_an_empty_table_and_no_error() -> None:
    for line in (Aggregate("micro"), MACRO, Aggregate("", {"domain": ("OS",)})):
        found = cell([], line)
        assert (found.n, found.mean, found.low, found.high, found.sd) == (0, None, None, None, None)
        assert (found.outcomes, found.complete) == ({}, True)


def test_a_tag_that_only_some_answers_have_is_null_for_the_others() -> None:
    table = frame(
        [row(1, "right"), row(2, "right", tags={"x": "a"}), row(3, "wrong"), row(4, "wrong", tags={"y": "b"})]
    ).to_frame()
    assert table["tag:x"].to_list() == [None, "a", None, None]
    assert table["tag:y"].to_list() == [None, None, None, "b"]


# The paper's own figures


def test_the_random_baseline_of_cs_bench_is_the_published_one(published: Path, figures: Path) -> None:
    """1/4 on four options, 1/2 on an assertion, 0 on a blank, 0.1 for an open-ended answer: the row "Random"."""
    exam = opened("csbench", published)
    chance = {"choice": 0.25, "truth": 0.5, "blank": 0.0, "open": 0.1}
    rows = [row(q.id, "partly", chance[q.kind], tags=q.tags) for q in exam.questions()]
    table = Breakdown(frame(rows)).table(exam.layouts()[0], "csbench-en", "random")
    (random,) = [line for line in read_csv(figures / "csbench_en_domains.csv") if line["model"] == "Random"]
    for domain, cells in zip(table.rows, table.cells, strict=True):
        for column, found in zip(table.columns, cells, strict=True):
            figure = float(random[f"{domain}_{column}".lower()])
            assert 100 * found.mean == pytest.approx(figure, abs=0.01), f"{domain} {column}"


def test_the_best_of_fewer_answers_than_ten_is_called_so() -> None:
    lines = (
        Aggregate("best of each ten", attempts="best"),
        Aggregate("best@10 by groups", attempts="best"),
        Aggregate("mean of ten"),
    )
    with table() as case:
        for count, wanted in ((3, "best of each 3"), (9, "best of each 9"), (10, "best of each ten")):
            with case(count):
                found = Breakdown(frame([row(1, "right", sample=n) for n in range(count)]))
                shape = found.table(TableSpec("t", "T", (Aggregate("all"),), lines), "e", "m")
                assert shape.columns[0] == wanted
                assert shape.columns[1] == f"best@{count} by groups"
                assert shape.columns[2] == "mean of ten"


SCORES = st.builds(
    row,
    st.integers(0, 30),
    st.sampled_from(sorted(OUTCOMES)),
    tags=st.sampled_from([{}, {"area": "law"}, {"area": "physics", "kind": "new"}, {"area": "art"}]),
)


@given(st.lists(SCORES, min_size=1, max_size=40, unique_by=lambda one: one.question))
def test_a_cell_is_the_same_by_one_pass_over_a_tag_and_by_its_own_filter(rows: list[ScoreRow]) -> None:
    breakdown = Breakdown(frame(rows))
    for value in ("law", "physics", "art", "absent"):
        alone, filtered = (Aggregate("x", where={"area": values}) for values in ((value,), (value, "nowhere")))
        assert breakdown.cell(alone) == breakdown.cell(filtered)


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
