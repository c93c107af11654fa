"""Parts of a score, known while it waits or given another part; weights of questions; differences."""

import itertools
from operator import attrgetter
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from rows import each_row, tabled
from viva.analysis.uncertainty import wilson
from viva.types import OUTCOMES, SCORED, UNANSWERED, Aggregate, Outcome, ScoreRow

ANSWER = Aggregate("answer", part="a")
FLAWED = Aggregate("flawed where right", part="f", given="a")
GAP = Aggregate("gap", part="g", kind="difference")
MACRO_GAP = Aggregate("macro gap", part="g", over="format", kind="difference")


def waiting(question: object, a: float | None, **more: float) -> ScoreRow:
    """An answer that is graded, and whose score waits for something else."""
    return row(question, "ungraded", parts={**({} if a is None else {"a": a}), **more})


def test_a_known_part_counts_where_the_score_waits() -> None:
    rows = [waiting(1, 1.0), waiting(2, 0.0), waiting(3, 0.5), waiting(4, None), row(5, "right", parts={"a": 1.0})]
    whole, part = cell(rows), cell(rows, ANSWER)
    assert (whole.n, whole.mean, whole.unanswered) == (5, 1.0, 4)
    assert (part.n, part.mean, part.unanswered) == (5, pytest.approx(2.5 / 4), 1)
    assert part.outcomes == {"right": 2, "partly": 1, "wrong": 1, "ungraded": 1}
    assert (part.floor, part.ceiling) == (pytest.approx(2.5 / 5), pytest.approx(3.5 / 5))


@each_row(*OUTCOMES)
def test_an_unknown_part_counts_as_the_score_does(outcome: Any) -> None:
    rows = [row(1, outcome), row(2, "right", parts={"a": 1.0})]
    figures = attrgetter("mean", "floor", "ceiling", "outcomes")
    assert figures(cell(rows, ANSWER)) == figures(cell(rows))


def test_given_takes_only_answers_with_full_marks_in_the_part() -> None:
    rows = [
        row(1, "right", parts={"a": 1.0, "f": 0.0}),
        row(2, "partly", 0.5, parts={"a": 1.0, "f": 1.0}),
        row(3, "partly", 0.5, parts={"a": 0.5, "f": 1.0}),  # half right is not right
        row(4, "wrong", parts={"a": 0.0, "f": 1.0}),
        row(5, "empty"),
        row(6, "error"),
        waiting(7, 1.0),  # right, and its flaw not known yet
        waiting(8, None, f=1.0),  # flawed, and not known to be right
        waiting(9, 0.0, f=1.0),
    ]
    found = cell(rows, FLAWED)
    assert (found.n, found.mean, found.unanswered) == (5, 0.5, 3)  # 6 and 8 may be right
    assert found.low < (wilson(1, 5, 0.90) or (0, 0))[0] + 1e-9, "whatever 6, 7 and 8 are"
    assert found.high > (wilson(4, 5, 0.90) or (0, 0))[1] - 1e-9
    assert (found.floor, found.ceiling) == (pytest.approx(1 / 5), pytest.approx(4 / 5))


def test_given_where_nothing_is_right_or_nobody_has_the_part() -> None:
    wrong = [row(1, "wrong", parts={"a": 0.0, "f": 1.0})]
    assert (cell(wrong, FLAWED).n, cell(wrong, FLAWED).mean) == (0, None)
    assert (cell([row(1, "right")], FLAWED).n, cell([], FLAWED).n) == (0, 0)


# Differences


def test_a_difference_has_an_interval_on_both_sides_of_zero() -> None:
    gaps = (-0.5, 0.0, 0.25, -0.5, 0.0)
    found = cell([row(n, "partly", 0.5, parts={"g": gap}) for n, gap in enumerate(gaps)], GAP)
    assert found.mean == pytest.approx(sum(gaps) / 5)
    assert -1 <= found.low < found.mean < 0 < found.high <= 1


def test_a_difference_that_is_never_below_zero_is_no_share() -> None:
    """Of twenty gaps one is 1: as of a share, the interval ended at 0, and of such gaps as few as 79 % held."""
    for (line, highest), case in tabled(*itertools.product((GAP, MACRO_GAP), (0.0, 0.5, 1.0))):
        with case:
            gaps = [highest] + [0.0] * 19
            rows = [row(n, "partly", 0.5, parts={"g": gap}, tags={"format": "xy"[n % 2]}) for n, gap in enumerate(gaps)]
            found = cell(rows, line)
            assert -0.21 < found.low < -0.05
            assert found.high > highest / 20 + 0.05
    lost = [*rows, row(20, "ungraded", limits={"g": (-0.5, 0.5)})]
    found = cell(lost, GAP)
    assert found.low < -0.1


@each_row(*itertools.product((GAP, MACRO_GAP), (-1.0, -0.5, 0.0, 0.5, 1.0)))
def test_where_every_difference_is_the_same_no_interval_leaves_it_out(line: Aggregate, gap: float) -> None:
    found = cell([row(n, "partly", 0.5, parts={"g": gap}, tags={"format": "xy"[n % 2]}) for n in range(8)], line)
    assert found.mean == pytest.approx(gap)
    assert found.low - 1e-12 <= gap <= found.high + 1e-12


PARTS = st.dictionaries(st.sampled_from("afg"), st.sampled_from((0.0, 0.5, 1.0)), max_size=3)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(OUTCOMES), PARTS, st.sampled_from((-0.5, 0.0, 0.25, 1.0)), st.sampled_from(("x", "y")),
        st.integers(1, 3),
    ),
    max_size=24,
)  # fmt: skip


@given(ROWS, st.sampled_from((ANSWER, FLAWED, GAP, Aggregate("plain"))), st.sampled_from(("", "format")))
def test_any_rows_have_a_mean_within_its_interval_and_bounds(rows, line: Aggregate, over: str) -> None:
    made = [
        row(n, outcome, parts={**parts, **({"g": gap} if "g" in parts else {})}, tags={"format": name}, weight=weight)
        for n, (outcome, parts, gap, name, weight) in enumerate(rows)
    ]
    found = cell(made, Aggregate(line.label, part=line.part, given=line.given, over=over, kind=line.kind))
    chosen = [
        one
        for one in made
        if not line.given
        or one.parts.get(line.given, 0.0) >= 1.0
        or (line.given not in one.parts and one.outcome in UNANSWERED)  # it may have full marks
    ]
    assert found.n == sum(one.weight for one in chosen)
    known = [one for one in chosen if line.part in one.parts and (not line.given or line.given in one.parts)]
    unknown = sum(one.weight for one in chosen if one.outcome in UNANSWERED and one not in known)
    assert found.unanswered == unknown
    assert (found.mean is None) == (unknown == found.n or found.ranged)
    if found.mean is not None and found.low is not None:
        assert found.low - 1e-9 <= found.mean <= found.high + 1e-9
    if found.mean is not None and line.part != "g" and not over:
        assert found.floor - 1e-9 <= found.ceiling <= 1 + 1e-9
        if found.complete and all(one.outcome in SCORED for one in chosen):
            assert found.floor == pytest.approx(found.mean) == pytest.approx(found.ceiling)


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


def test_rows_of_earlier_versions_are_read_and_written_as_they_were() -> None:
    old = (
        b'{"benchmark":"b","exam":"b-en","model":"m","question":"1","sample":0,"repeat":0,"value":1.0,'
        b'"outcome":"right","answer":"","explanation":"","tags":{}}'
    )
    read = msgspec.json.decode(old, type=ScoreRow)
    assert (read.parts, read.weight) == ({}, 1)
    assert msgspec.json.encode(read) == old
