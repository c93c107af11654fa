"""Intervals against scipy, against a calculation by hand, and against what they promise: 95 % coverage."""

from __future__ import annotations

import math
import random
import statistics

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from viva.analysis.uncertainty import clustered, standard_deviation, stratified, t_quantile, wilson
from viva.types import Line, ScoreRow

MACRO = Line("macro", over="subject")


@given(data=st.data(), n=st.integers(1, 5000))
def test_wilsons_interval_is_scipys(data: st.DataObject, n: int) -> None:
    right = data.draw(st.integers(0, n))
    ours = wilson(right, n)
    theirs = scipy.stats.binomtest(right, n).proportion_ci(confidence_level=0.95, method="wilson")
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_wilsons_interval_has_width_at_the_ends_and_none_for_nothing() -> None:
    assert wilson(0, 0) is None
    low, high = wilson(10, 10) or (0.0, 0.0)
    assert (low, high) == (pytest.approx(0.7224672), 1.0)
    assert wilson(0, 10) == pytest.approx((0.0, 1 - 0.7224672))


@pytest.mark.parametrize("degrees", [1, 2, 7, 30, 1000])
def test_the_t_quantile_is_scipys(degrees: int) -> None:
    assert t_quantile(degrees) == pytest.approx(scipy.stats.t.ppf(0.975, degrees))


@given(values=st.lists(st.integers(0, 20).map(lambda tenths: tenths / 20), min_size=2, max_size=60))
def test_with_one_answer_a_question_the_clustered_interval_is_the_plain_t_interval(values: list[float]) -> None:
    mean = statistics.fmean(values)
    squares = sum((value - mean) ** 2 for value in values)
    error = statistics.stdev(values) / math.sqrt(len(values))
    found = clustered(mean, squares, len(values), len(values))
    assert found is not None
    half = float(scipy.stats.t.ppf(0.975, len(values) - 1)) * error
    assert found == pytest.approx((max(0.0, mean - half), min(1.0, mean + half)), abs=1e-9)


def test_the_clustered_interval_by_hand() -> None:
    """Twelve questions, answered 3, 2 or 1 times; residual sums per question around the mean of all 24 answers."""
    answers = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1], [0, 1], [0, 0], [1], [1], [0], [1, 1, 1], [0, 0], [1]]
    total = sum(map(len, answers))
    mean = sum(map(sum, answers)) / total
    squares = sum((sum(each) - mean * len(each)) ** 2 for each in answers)
    error = math.sqrt(12 / 11 * squares) / total
    half = 2.200985160 * error  # Student's t, 11 degrees of freedom
    rows = [
        row(question, "right" if value else "wrong", sample=sample)
        for question, each in enumerate(answers)
        for sample, value in enumerate(each)
    ]
    found = cell(rows)
    assert total == 24
    assert found.mean == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx((mean - half, mean + half))


@pytest.mark.parametrize("points", [[0.1, 0.9, 0.4, 1.0, 0.7], [0.5, 0.6], [1.0, 1.0, 0.0, 0.3, 0.3, 0.8, 0.9]])
def test_fractions_get_the_plain_t_interval_of_scipy(points: list[float]) -> None:
    found = cell([row(number, "partly", value) for number, value in enumerate(points)])
    low, high = scipy.stats.t.interval(
        0.95, len(points) - 1, loc=statistics.fmean(points), scale=scipy.stats.sem(points)
    )
    assert (found.low, found.high) == pytest.approx((max(0.0, low), min(1.0, high)))


@pytest.mark.parametrize(("right", "wrong"), [(1, 0), (0, 1), (7, 5), (30, 0), (0, 30), (19, 37)])
def test_questions_asked_once_get_wilsons_interval(right: int, wrong: int) -> None:
    rows = [row(number, "right" if number < right else "wrong") for number in range(right + wrong)]
    theirs = scipy.stats.binomtest(right, right + wrong).proportion_ci(method="wilson")
    assert (cell(rows).low, cell(rows).high) == pytest.approx((theirs.low, theirs.high))


def grouped(groups: dict[str, list[float]], samples: int = 1) -> list[ScoreRow]:
    """Rows of several subjects, every answer `samples` times."""
    return [
        row(
            f"{name}/{number}",
            "right" if value == 1 else "wrong" if value == 0 else "partly",
            value,
            sample=sample,
            tags={"subject": name},
        )
        for name, values in groups.items()
        for number, value in enumerate(values)
        for sample in range(samples)
    ]


GROUPS: dict[str, list[float]] = {"law": [1, 1, 0, 1], "arts": [0, 1], "logic": [1, 0, 0, 0, 1, 1, 1, 0, 1, 1]}


def test_the_macro_average_and_its_interval_by_hand() -> None:
    """(3/4 + 1/2 + 6/10) / 3; its variance is the sum of the subjects' s²/n, divided by 3²."""
    found = cell(grouped(GROUPS), MACRO)
    assert found.mean == pytest.approx((0.75 + 0.5 + 0.6) / 3)
    variance = (0.25 / 4 + 0.5 / 2 + (2.4 / 9) / 10) / 9
    half = 1.959963985 * math.sqrt(variance)
    assert (found.low, found.high) == pytest.approx((found.mean - half, min(1.0, found.mean + half)))
    assert stratified(found.mean, [0.25 / 4, 0.5 / 2, 2.4 / 9 / 10]) == pytest.approx((found.low, found.high))


def test_the_macro_average_weighs_subjects_and_the_micro_average_questions() -> None:
    rows = grouped({"big": [1.0] * 9, "small": [0.0]})
    assert cell(rows, MACRO).mean == pytest.approx(0.5)
    assert cell(rows).mean == pytest.approx(0.9)


def test_a_subject_of_one_question_has_no_variance_to_add_so_there_is_no_interval() -> None:
    found = cell(grouped({"law": [1, 0, 1], "arts": [1]}), MACRO)
    assert found.mean == pytest.approx((2 / 3 + 1) / 2)
    assert (found.low, found.high) == (None, None)
    assert stratified(0.5, []) is None
    assert clustered(0.5, 0.0, 1, 5) is None


# Asking again is not new evidence

ALIKE = ({"law": [1.0] * 6, "arts": [1.0] * 4}, {"law": [0.0] * 6, "arts": [0.0] * 4}, GROUPS)


@pytest.mark.parametrize("groups", ALIKE)
@pytest.mark.parametrize("line", [Line("micro"), MACRO])
def test_the_same_answer_five_times_does_not_narrow_the_interval(groups: dict[str, list[float]], line: Line) -> None:
    once, often = cell(grouped(groups), line), cell(grouped(groups, samples=5), line)
    assert often.mean == pytest.approx(once.mean)
    assert once.low is not None
    assert often.low is not None
    assert often.high - often.low >= 0.99 * (once.high - once.low)  # type: ignore[operator]


@pytest.mark.parametrize("value", [1.0, 0.0, 0.9, 0.25])
@pytest.mark.parametrize("line", [Line("micro"), MACRO])
def test_eight_equal_scores_are_no_certainty(value: float, line: Line) -> None:
    found = cell(grouped({"law": [value] * 4, "arts": [value] * 4}), line)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0.01


# Coverage


def share(hits: list[bool]) -> float:
    return sum(hits) / len(hits)


@pytest.mark.parametrize(("n", "p"), [(20, 0.5), (40, 0.1), (56, 0.9), (200, 0.3), (1000, 0.02)])
def test_wilsons_interval_covers_95_per_cent(n: int, p: float) -> None:
    drawn = np.random.default_rng(1).binomial(n, p, size=4000)
    found = [wilson(int(right), n) or (0.0, 0.0) for right in drawn]
    assert 0.93 <= share([low <= p <= high for low, high in found]) <= 0.98


def correlated(draw: random.Random, questions: int, samples: int) -> list[list[int]]:
    """Answers of a model that knows most questions or does not: the samples of one question mostly agree."""
    knows = [draw.betavariate(0.3, 0.2) for _ in range(questions)]
    return [[int(draw.random() < p) for _ in range(samples)] for p in knows]


def test_five_answers_a_question_cover_95_per_cent_clustered_and_far_less_when_taken_as_independent() -> None:
    truth = 0.3 / 0.5
    draw = random.Random(7)
    covered: list[bool] = []
    naive: list[bool] = []
    for _ in range(250):
        answers = correlated(draw, questions=60, samples=5)
        found = cell(
            row(question, "right" if value else "wrong", sample=sample)
            for question, each in enumerate(answers)
            for sample, value in enumerate(each)
        )
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= truth <= found.high)
        low, high = wilson(sum(map(sum, answers)), 300) or (0.0, 0.0)
        naive.append(low <= truth <= high)
    assert 0.91 <= share(covered) <= 0.99
    assert share(naive) < 0.75


def test_the_macro_interval_covers_95_per_cent() -> None:
    """Thirty subjects of unequal size and difficulty, as CMMLU's are."""
    draw = random.Random(11)
    chances = {f"s{number}": 0.15 + 0.8 * number / 29 for number in range(30)}
    sizes = {name: 10 + 3 * (number % 7) for number, name in enumerate(chances)}
    truth = statistics.fmean(chances.values())
    covered: list[bool] = []
    for _ in range(200):
        drawn = {name: [float(draw.random() < p) for _ in range(sizes[name])] for name, p in chances.items()}
        found = cell(grouped(drawn), MACRO)
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= truth <= found.high)
    assert 0.91 <= share(covered) <= 0.99


# Standard deviation


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_standard_deviation_is_the_samples(values: list[float]) -> None:
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), abs=1e-9)


def test_one_value_has_no_standard_deviation() -> None:
    assert standard_deviation([]) is None
    assert standard_deviation([0.5]) is None
