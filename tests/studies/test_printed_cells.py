"""What every printed number promises, over random tables of scores: means, intervals and bounds hold together.

A table has what runs have: lost, ungraded and unreadable answers, one and several answers in one or two repeats,
questions that count several times, groups of one question, groups without an answer, and lines without any question.
A completion is the same table with every lost answer given some score.
"""

import csv
import io
import math
import random
from collections.abc import Sequence
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Struct
from msgspec.structs import replace

from analysis.answers import graded
from viva.analysis.breakdown import Breakdown, frame
from viva.analysis.columns import Columns
from viva.analysis.comparing import Difference, compared, compared_apart, paired
from viva.analysis.estimate import Estimate
from viva.analysis.raters.agreement import agree
from viva.analysis.raters.ratings import Ratings
from viva.analysis.slices import slices
from viva.analysis.standings import ranks
from viva.api.frames import scores_frame
from viva.errors import DataError
from viva.runs.score_table import ModelScores
from viva.studies.breakdown.tables import Shown, findings
from viva.studies.item_scores import table_rows
from viva.studies.score_table.tables import ranked_rows
from viva.types import UNANSWERED, Aggregate, ScoreRow, TableSpec

ROUNDING = 1e-9
LESS = settings(max_examples=settings.default.max_examples // 2)
"""For what takes many cells an example."""
WHOLE = Aggregate("all")
LAYOUT = TableSpec(
    "t", "By everything",
    (WHOLE, Aggregate("a", {"subject": ("a",)}), Aggregate("nobody", {"subject": ("z",)}), Aggregate("macro",
    over="subject")),
    (
        Aggregate("as asked"), Aggregate("best", attempts="best"), Aggregate("best@2", attempts="best@2"),
        Aggregate("pass@1", attempts="pass@1"), Aggregate("full part", part="full"),
    ),
)  # fmt: skip

_answer = st.one_of(
    st.sampled_from([0.0, 1.0, 0.5, 0.1]),
    st.floats(0.0, 1.0),
    st.sampled_from(["error", "ungraded", "unsound", "unparsed", "empty", "truncated", "refused"]),
)


class Question(Struct, frozen=True):
    """One question: its group (none for "-"), how often it is listed, and its answers, a list a repeat."""

    subject: str
    weight: int
    answers: list[list[float | str]]


_question = st.builds(
    Question,
    st.sampled_from(["a", "b", "c", "d", "-"]),
    st.sampled_from([1, 1, 1, 2, 5]),
    st.lists(st.lists(_answer, min_size=1, max_size=3), min_size=1, max_size=2),
)
_single = st.builds(
    Question,
    st.sampled_from(["a", "b", "c"]),
    st.just(1),
    st.lists(st.tuples(_answer).map(list), min_size=1, max_size=1),
)
QUESTIONS = st.one_of(st.lists(_question, min_size=1, max_size=14), st.lists(_single, min_size=1, max_size=40))


def rows_of(questions: Sequence[Question], fill: random.Random | None = None) -> list[ScoreRow]:
    """The rows of a table; `fill` decides every answer that is missing, as likely at an end as between. What cannot be
    read is wrong, and not missing."""
    found: list[ScoreRow] = []
    for number, one in enumerate(questions):
        sample = 0
        for repeat, answers in enumerate(one.answers):
            for answer in answers:
                value = answer
                if fill is not None and isinstance(value, str) and value in UNANSWERED:
                    value = fill.choice([0.0, 1.0, fill.random()])
                parts = {} if isinstance(value, str) else {"full": float(value >= 1.0)}
                tags = {} if one.subject == "-" else {"subject": one.subject}
                more = {"tags": tags, "weight": one.weight, "parts": parts}
                found.append(graded(f"q{number}", value, sample=sample, repeat=repeat, **more))
                sample += 1
    return found


def table_of(rows: Sequence[ScoreRow], attempts: str = "") -> Any:
    return Breakdown(frame(rows), attempts).table(LAYOUT, "b-en", "m")


def holds_together(cell: Estimate) -> None:
    """The mean lies within its bounds, these within the interval, and all of them in the scale."""
    assert cell.n == sum(cell.outcomes.values())
    assert -ROUNDING <= cell.floor <= cell.ceiling + ROUNDING <= 1 + 2 * ROUNDING
    assert (cell.low is None) == (cell.high is None)
    if not cell.n:
        assert (cell.mean, cell.low, cell.high) == (None, None, None)
    if cell.mean is not None:
        assert cell.floor - ROUNDING <= cell.mean <= cell.ceiling + ROUNDING
        assert cell.complete == (cell.ceiling - cell.floor < ROUNDING and not cell.unanswered)
    if cell.low is not None and cell.high is not None:
        assert 0.0 <= cell.low <= cell.floor + ROUNDING
        assert cell.ceiling - ROUNDING <= cell.high <= 1.0
        assert cell.low < cell.high, "no finite sample is certain"
        assert cell.ranged == (cell.mean is None)


@LESS
@given(QUESTIONS, st.sampled_from(["", "best"]), st.randoms(use_true_random=False))
def test_every_cell_of_a_table_holds_together_and_its_bounds_hold_every_completion(
    questions: list[Question], attempts: str, dice: random.Random
) -> None:
    found = table_of(rows_of(questions), attempts)
    for cells in found.cells:
        for cell in cells:
            holds_together(cell)
    for _ in range(2):
        completed = table_of(rows_of(questions, dice), attempts)
        assert (completed.rows, completed.columns) == (found.rows, found.columns)
        for label, cells, others in zip(found.rows, found.cells, completed.cells, strict=True):
            for column, cell, other in zip(found.columns, cells, others, strict=True):
                if column != "best@2":  # of which some were asked but once
                    assert (other.mean is None) == (cell.n == 0), (label, column)
                    assert other.complete or not cell.n
                if other.mean is not None:
                    assert cell.floor - ROUNDING <= other.mean <= cell.ceiling + ROUNDING, (label, column)


@given(QUESTIONS)
def test_the_points_of_a_frame_have_the_mean_of_the_table(questions: list[Question]) -> None:
    rows = rows_of(questions)
    cell = Breakdown(frame(rows)).cell(WHOLE)
    points, weight = pl.col("points"), pl.col("weight")
    known = scores_frame(rows).filter(points.is_not_null())
    if cell.ranged:  # what is known is wrong, and says nothing of the rest
        assert known["points"].max() == 0.0
    elif cell.mean is None:
        assert not known.height
    else:
        mean = known.select((points * weight).sum() / weight.sum()).item()
        assert mean == pytest.approx(cell.mean)


def apart(questions: Sequence[Question], others: Sequence[Question]) -> tuple[list[Question], list[Question]]:
    """Two models' answers to the same questions, as far as both have some: of one group and weight."""
    second = [Question(one.subject, one.weight, two.answers) for one, two in zip(questions, others, strict=False)]
    return list(questions), second


def holds_difference(found: Difference) -> None:
    if found.floor is not None and found.ceiling is not None:
        assert -1 - ROUNDING <= found.floor <= found.ceiling + ROUNDING <= 1 + 2 * ROUNDING
        if found.difference is not None:
            assert found.floor - ROUNDING <= found.difference <= found.ceiling + ROUNDING
        if found.low is not None and found.high is not None:
            assert -1 <= found.low <= found.floor + ROUNDING
            assert found.ceiling - ROUNDING <= found.high <= 1
            assert found.low < found.high
    if found.error is not None:
        assert found.error > 0
    if found.p is not None:
        assert 0 < found.p <= 1
        if not found.complete and found.low is not None and found.high is not None:
            assert (found.p <= 0.05) == (not found.low <= 0 <= found.high) or found.p == pytest.approx(0.05, abs=0.02)
    if found.wins is not None and found.ties is not None and found.losses is not None:
        assert found.wins + found.ties + found.losses == found.n


@LESS
@given(
    QUESTIONS, QUESTIONS, st.sampled_from(["", "subject"]), st.sampled_from(["", "subject"]), st.booleans(),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_every_difference_holds_together_and_its_bounds_hold_every_completion(
    one: list[Question], other: list[Question], over: str, cluster: str, paired_up: bool, dice: random.Random
) -> None:
    sides = apart(one, other)
    if not all(any(question.subject != "-" for question in side) for side in sides):
        over = cluster = ""

    def difference(fill: random.Random | None) -> Difference:
        scores = [frame(rows_of(side, fill)) for side in sides]
        if cluster:
            scores = [Columns(s.numbers, {**s.texts, "cluster": s.texts[f"tag:{cluster}"]}) for s in scores]
        first, second = (Breakdown(each).questions(WHOLE) for each in scores)
        return compared(paired(first, second, over)) if paired_up else compared_apart(first, second, over)

    found = difference(None)
    holds_difference(found)
    for _ in range(2):
        completed = difference(dice)
        holds_difference(completed)
        assert completed.unscored == 0
        assert found.floor - ROUNDING <= completed.difference <= found.ceiling + ROUNDING


def test_a_tag_that_nothing_has_makes_one_group_in_a_table_and_is_refused_where_it_was_asked_for() -> None:
    breakdown = Breakdown(frame(rows_of([Question("-", 1, [[1.0], [0.0]]), Question("-", 1, [["error"], [0.5]])])))
    plain, macro = breakdown.cell(WHOLE), breakdown.cell(Aggregate("", over="subject"))
    assert (macro.mean, macro.sd, macro.floor, macro.ceiling) == (plain.mean, plain.sd, plain.floor, plain.ceiling)
    questions = breakdown.questions(WHOLE)
    for compare in (
        lambda: paired(questions, questions, "subject"),
        lambda: compared_apart(questions, questions, "subject"),
    ):
        with pytest.raises(DataError, match="no tag 'subject'"):
            compare()


def test_the_bounds_of_a_difference_hold_it_where_one_side_of_a_lost_pair_is_known() -> None:
    """Over the two pairs the second is 87.5 points better; over all three questions it can be 80.6 at most, and is not
    said to be more."""
    first = [Question("a", 1, [["error"]]), Question("a", 1, [[0.0]]), Question("a", 1, [[0.0]])]
    second = [Question("a", 1, [[0.0, "error", "error"]]), Question("a", 1, [[1.0]]), Question("a", 1, [[0.75]])]
    found = compared(paired(*(Breakdown(frame(rows_of(side))).questions(WHOLE) for side in (first, second))))
    assert found.difference == found.ceiling == pytest.approx((2 / 3 + 1.75) / 3)
    assert found.floor == pytest.approx((-1 + 1.75) / 3)


@given(QUESTIONS)
def test_every_slice_holds_together(questions: list[Question]) -> None:
    rows = rows_of(questions)
    if all(one.subject == "-" for one in questions):
        return
    found = slices("b-en", "m", frame(rows), [("subject",)], smallest=1)
    for one in found.slices:
        holds_together(one.cell)
        if one.low is not None and one.high is not None:
            assert -1 <= one.low <= one.difference + ROUNDING
            assert one.difference - ROUNDING <= one.high <= 1
        for p in (one.p, one.adjusted):
            assert p is None or 0 < p <= 1
    for line in csv.DictReader(io.StringIO(findings((found,), Shown()).to_csv())):
        if line["low"] and not line["mean"]:
            assert 0 <= float(line["low"]) < float(line["high"]) <= 1
        elif line["low"]:
            assert float(line["low"]) <= float(line["mean"]) + ROUNDING <= float(line["high"]) + 2 * ROUNDING


SCORES = st.lists(
    st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0, 0.5]), st.floats(0, 1)), min_size=1, max_size=6),
    min_size=1, max_size=8,
)  # fmt: skip


TAGS: dict[str, dict[str, str]] = {question: {} for question in "abcdefgh"}


@given(SCORES, st.integers(1, 5), st.randoms(use_true_random=False))
def test_every_estimate_from_a_score_table_holds_together_and_its_bounds_hold_every_completion(
    questions: list[list[float | None]], k: int, dice: random.Random
) -> None:
    filled = [[dice.choice([0.0, 1.0, dice.random()]) if s is None else s for s in scores] for scores in questions]
    found, completed = (
        next(
            ranked_rows(
                "m",
                list(table_rows("", "m", ModelScores(dict(zip("abcdefgh", each, strict=False)), TAGS), k)),
                k,
                (k,),
            )
        )
        for each in (questions, filled)
    )
    for name, cell in found.measures.items():
        holds_together(cell)
        other = completed.measures[name]
        holds_together(other)
        assert other.mean is not None or "@" in name or "^" in name, "of more answers than there are nothing is known"
        if other.mean is not None:
            assert cell.floor - ROUNDING <= other.mean <= cell.ceiling + ROUNDING, name


@LESS
@given(st.lists(QUESTIONS, min_size=2, max_size=4), st.booleans(), st.randoms(use_true_random=False))
def test_every_rank_range_holds_the_rank_of_every_completion(
    models: list[list[Question]], exact: bool, dice: random.Random
) -> None:
    """What is lost alone: `exact` takes means as known, so that ranges rest on the bounds and on nothing else."""
    cells = [Breakdown(frame(rows_of(model))).cell(WHOLE) for model in models]
    kept = [place for place, cell in enumerate(cells) if cell.mean is not None]
    scores = []
    for place in kept:
        cell = cells[place]
        scores.append(replace(cell, low=cell.floor, high=cell.ceiling) if exact else cell)
    found = ranks(scores)
    for _ in range(2):
        filled = (rows_of(models[place], dice) for place in kept)
        truths = [Breakdown(frame(rows)).cell(WHOLE).mean or 0.0 for rows in filled]
        for place, (rank, truth) in enumerate(zip(found, truths, strict=True)):
            if rank.first is not None and rank.last is not None:
                others = truths[:place] + truths[place + 1 :]  # one that is equal but for rounding may be either
                assert rank.first <= rank.place <= rank.last
                assert rank.first <= 1 + sum(other > truth - ROUNDING for other in others)
                assert rank.last >= len(truths) - sum(other < truth + ROUNDING for other in others)


MARKS = st.one_of(st.none(), st.sampled_from([0.0, 1.0]), st.sampled_from([0.0, 0.25, 0.5, 1.0]), st.floats(0, 1))


@settings(max_examples=settings.default.max_examples // 10)
@given(st.lists(st.tuples(MARKS, MARKS, MARKS), min_size=2, max_size=8))
def test_every_measure_of_agreement_and_every_score_from_labels_holds_together(
    marks: list[tuple[float | None, ...]],
) -> None:
    if not any(one[0] is not None for one in marks):
        return
    rated = Ratings(items=tuple(map(str, range(len(marks)))), raters=("judge", "a", "b"), values=tuple(marks))
    found = agree(rated, judge="judge", ppi=True)
    for one in (*found.among, *found.judged, *(one for pair in found.pairs for one in pair.measures)):
        if one.low is not None and one.high is not None:
            assert one.low <= one.value + ROUNDING
            assert one.value - ROUNDING <= one.high <= 1 + ROUNDING
            assert one.low >= (0 if one.kind in ("agreement", "distance") else -1 if one.kind == "bias" else -math.inf)
    for estimate in (found.powered.combined, found.powered.labels_alone):
        for low, high in (estimate.questions, estimate.run) if estimate else ():
            assert 0 <= low <= estimate.value + ROUNDING
            assert estimate.value - ROUNDING <= high <= 1
