"""best@k and pass@k: against enumeration, against figures worked out by hand, and what they promise."""

from __future__ import annotations

import itertools
import math
import random
import statistics
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.analysis.best import (
    best_at,
    best_in_groups,
    best_of,
    group_maxima,
    grouped_best,
    interval,
    maximum_weights,
    mean_score,
    pass_at,
    passing,
)
from viva.analysis.uncertainty import share_interval, wilson, zero_one_interval
from viva.errors import DataError

SCORES = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 3))
ANSWERS = st.lists(SCORES, min_size=1, max_size=8)
HOLED = st.lists(st.one_of(SCORES, st.none()), min_size=1, max_size=8)

# Unbiased


@given(scores=ANSWERS, data=st.data())
def test_the_unbiased_best_is_the_mean_over_all_subsets(scores: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(scores)))
    subsets = list(itertools.combinations(scores, k))
    assert best_at(scores, k) == pytest.approx(statistics.fmean(map(max, subsets)), abs=1e-12)
    solved = [any(score >= 0.5 for score in subset) for subset in subsets]
    assert pass_at(scores, k, full=0.5) == pytest.approx(statistics.fmean(solved), abs=1e-12)


@given(scores=ANSWERS)
def test_the_unbiased_best_rises_with_k_from_the_mean_to_the_maximum(scores: list[float]) -> None:
    found = [best_at(scores, k) for k in range(1, len(scores) + 1)]
    assert found[0] == pytest.approx(statistics.fmean(scores), abs=1e-12)
    assert found[-1] == max(scores)
    assert all(later >= earlier - 1e-12 for earlier, later in itertools.pairwise(found))


@given(scores=ANSWERS, data=st.data())
def test_the_order_of_the_answers_is_nothing_to_the_unbiased_best(scores: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(scores)))
    assert best_at(data.draw(st.permutations(scores)), k) == best_at(scores, k)


def test_the_unbiased_best_by_hand() -> None:
    """Pairs of 0.2, 0.5, 1: maxima 0.5, 1, 1. Of 0, 0, 1, 1 (ties): five of the six pairs hold a 1."""
    assert best_at([0.5, 1.0, 0.2], 2) == pytest.approx((0.5 + 1 + 1) / 3)
    assert best_at([0.0, 1.0, 0.0, 1.0], 2) == pytest.approx(5 / 6)
    assert best_at([-1.0, -0.5], 2) == -0.5
    assert best_at([-1.0, -0.5], 1) == -0.75
    assert best_at([0.25], 1) == 0.25


def test_pass_at_k_is_one_minus_the_chance_to_draw_only_failures() -> None:
    with table() as row:
        for n, right, k in [(30, 9, 10), (200, 1, 100), (5, 5, 2), (5, 0, 5), (100, 37, 10)]:
            with row((n, right, k)):
                scores = [1.0] * right + [0.4] * (n - right)
                assert pass_at(scores, k) == pytest.approx(1 - math.comb(n - right, k) / math.comb(n, k), abs=1e-14)


def test_a_share_of_one_that_was_rounded_is_full_marks_and_nothing_less_is() -> None:
    assert pass_at([0.9999999, 1.0, 0.999, 0.0]) == 0.5


def test_the_weights_of_thousands_of_answers_are_exact() -> None:
    with table() as row:
        for n, k in [(1, 1), (2, 1), (30, 10), (1000, 10), (5000, 2500), (4000, 4000), (3000, 1)]:
            with row((n, k)):
                weights = maximum_weights(n, k)
                assert len(weights) == n - k + 1
                assert math.fsum(weights) == pytest.approx(1.0, abs=1e-14)
                assert weights[0] == pytest.approx(k / n, rel=1e-15)
                for rank in {0, (n - k) // 2, n - k}:  # by the definition, one by one
                    exact = Fraction(math.comb(n - 1 - rank, k - 1), math.comb(n, k))
                    assert weights[rank] == float(exact)


def test_the_best_of_thousands_lies_where_order_statistics_put_it() -> None:
    """The maximum of k draws from 0, 1/n, ... (n-1)/n without replacement: k(n+1)/(k+1) is its expected rank."""
    n, k = 4000, 37
    scores = [rank / n for rank in range(n)]
    random.Random(3).shuffle(scores)
    assert best_at(scores, k) == pytest.approx((k * (n + 1) / (k + 1) - 1) / n, rel=1e-12)


@pytest.mark.parametrize("wrong", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_is_refused_wherever_it_stands(wrong: float) -> None:
    for scores in ([wrong], [0.0, wrong, 1.0], [1.0, wrong]):
        for reduce in (best_at, pass_at):
            with pytest.raises(DataError, match="no number"):
                reduce(scores, 1)
        with pytest.raises(DataError, match="no number"):
            grouped_best(scores, 2)
        for suite in (best_in_groups, best_of):
            with pytest.raises(DataError, match="no number"):
                suite([[0.5, 0.5], scores], 1)


@pytest.mark.parametrize("k", [0, -1, 4])
def test_a_k_that_cannot_be_is_refused(k: int) -> None:
    with pytest.raises(DataError, match=f"best@{k} of 3"):
        best_at([0.1, 0.2, 0.3], k)


# Grouped, as published


@given(scores=ANSWERS, size=st.integers(1, 9))
def test_the_grouped_best_is_the_mean_of_the_maxima_and_their_sd(scores: list[float], size: int) -> None:
    maxima = [max(scores[start : start + size]) for start in range(0, len(scores), size)]
    mean, sd = grouped_best(scores, size)
    assert mean == pytest.approx(statistics.fmean(maxima), abs=1e-12)
    assert sd == pytest.approx(statistics.stdev(maxima) if len(maxima) > 1 else 0.0, abs=1e-9)
    assert min(scores) - 1e-12 <= mean <= max(scores) + 1e-12


def test_the_grouped_best_by_hand() -> None:
    """Groups of two: (0, 1), (0.5, 0.25), (0.3): maxima 1, 0.5, 0.3; the last group is short."""
    mean, sd = grouped_best([0.0, 1.0, 0.5, 0.25, 0.3], 2)
    assert mean == pytest.approx(0.6)
    assert sd == pytest.approx(math.sqrt((0.16 + 0.01 + 0.09) / 2))
    assert grouped_best([0.0, 1.0], 10) == (1.0, 0.0)
    assert grouped_best([-0.5, -1.0], 2) == (-0.5, 0.0)


def test_an_unscored_answer_keeps_its_place_in_the_groups() -> None:
    assert group_maxima([None, 0.5, 1.0, 0.0], 2) == [0.5, 1.0]
    assert group_maxima([0.5, 1.0, 0.0], 2) == [1.0, 0.0]
    assert group_maxima([None, None, 0.25], 2) == [None, 0.25]
    assert grouped_best([None, None, 0.25], 2) == (0.25, 0.0)
    with pytest.raises(DataError, match="no answer"):
        grouped_best([None], 2)


@pytest.mark.parametrize("size", [0, -3])
def test_groups_of_nothing_are_refused(size: int) -> None:
    with pytest.raises(DataError, match="groups of"):
        group_maxima([1.0], size)


def test_grouped_and_unbiased_best_expect_the_same() -> None:
    """Over all orders of five answers, the grouped best of whole groups averages to the unbiased one."""
    scores = [0.0, 0.1, 0.4, 0.9]
    grouped = statistics.fmean(grouped_best(order, 2)[0] for order in itertools.permutations(scores))
    assert grouped == pytest.approx(best_at(scores, 2))


# Over questions


def test_a_suite_by_hand() -> None:
    """Groups of two, two groups. Maxima a: 1, 0.5; b: 0, 0.6. Group means 0.5 and 0.55; question means 0.75 and 0.3."""
    suite = [[1.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.6, 0.2]]
    found = best_in_groups(suite, 2)
    assert found.mean == pytest.approx(0.525)
    assert found.sd == pytest.approx(0.05 / math.sqrt(2))
    assert (found.questions, found.short, found.floor, found.ceiling) == (2, 0, None, None)
    assert (found.low, found.high) == pytest.approx(share_interval(0.525, 0.225**2, 2, 1))
    assert mean_score(suite).mean == pytest.approx((0.5 + 0.2) / 2)
    assert passing(suite).mean == pytest.approx(0.125)
    assert passing(suite, 4).mean == pytest.approx(0.5)
    assert best_of(suite, 4).mean == pytest.approx(0.8)


def test_the_suites_sd_is_of_the_groups_totals_and_not_the_sum_of_the_questions() -> None:
    """Two questions that scatter against each other: every group totals 1, though each question's maxima vary."""
    found = best_in_groups([[1.0, 0.0], [0.0, 1.0]], 1)
    assert found.sd == pytest.approx(0.0)
    assert best_in_groups([[1.0, 0.0], [1.0, 0.0]], 1).sd == pytest.approx(math.sqrt(0.5))
    assert best_in_groups([[1.0, 0.0], [1.0, 0.0]], 2).sd is None  # of one group nothing is known


@given(suite=st.lists(ANSWERS, min_size=1, max_size=5), size=st.integers(1, 8))
def test_whole_suites_total_as_the_authors_do(suite: list[list[float]], size: int) -> None:
    """Each question cut to the same length: the mean of the groups' totals, over the number of questions."""
    n = min(map(len, suite))
    cut = [scores[:n] for scores in suite]
    totals = [sum(max(scores[start : start + size]) for scores in cut) for start in range(0, n, size)]
    found = best_in_groups(cut, size)
    assert found.mean == pytest.approx(statistics.fmean(totals) / len(cut), abs=1e-12)
    if len(totals) > 1:
        assert found.sd == pytest.approx(statistics.stdev(totals) / len(cut), abs=1e-9)
    else:
        assert found.sd is None
    assert found.short == (len(cut) if n % size else 0)


@given(suite=st.lists(HOLED, min_size=1, max_size=5), k=st.integers(1, 9))
def test_estimates_are_bounded_and_what_is_unscored_widens_them(suite: list[list[float | None]], k: int) -> None:
    scored = [score for scores in suite for score in scores if score is not None]
    whole = all(score is not None for scores in suite for score in scores)
    for found in (best_of(suite, k), best_in_groups(suite, k), mean_score(suite), passing(suite, k)):
        if found.mean is None:
            continue
        assert min([*scored, 0.0]) - 1e-9 <= found.mean <= max([*scored, 1.0]) + 1e-9
        assert (found.floor is None) == (found.ceiling is None) == whole
        if found.floor is not None:
            assert found.floor <= found.ceiling + 1e-9  # type: ignore[operator]
        if found.low is not None:
            assert found.low <= found.mean + 1e-9
            assert found.mean <= found.high + 1e-9  # type: ignore[operator]


def test_the_bounds_by_hand() -> None:
    """Best of two of (1, 0.5, unscored) and nothing scored at all: 1 and unknown."""
    found = best_in_groups([[1.0, 0.5, None], [None, None]], 3)
    assert (found.mean, found.questions, found.floor, found.ceiling) == (1.0, 1, 0.5, 1.0)
    mean = mean_score([[1.0, None], [0.0, 0.5]])
    assert (mean.mean, mean.floor, mean.ceiling) == (0.625, 0.375, 0.625)
    assert mean_score([[None], [None]]).mean is None
    assert mean_score([]).mean is None


def test_questions_with_fewer_than_k_answers_count_with_what_they_have_and_are_counted() -> None:
    found = best_of([[0.0, 1.0, 0.0], [0.5, None, 0.25]], 3)
    assert (found.mean, found.short, found.questions) == (0.75, 1, 2)
    assert best_of([[0.0, 1.0], [0.5, 0.25]], 3).mean is None
    assert best_of([[0.0, 1.0], [0.5, 0.25]], 3).short == 2


# Intervals


def test_the_interval_is_over_questions_by_their_own_variance() -> None:
    import scipy.stats

    values = [0.1, 0.9, 0.4, 1.0, 0.7]
    expected = share_interval(statistics.fmean(values), statistics.variance(values) / 5, 5, 4)
    assert interval(values) == pytest.approx(expected)
    outside = [0.1, 0.9, -0.4, 1.0, 0.7]
    low, high = scipy.stats.t.interval(0.95, 4, loc=statistics.fmean(outside), scale=scipy.stats.sem(outside))
    assert interval(outside) == pytest.approx((low, high))


def test_scores_of_zero_and_one_get_their_interval_and_so_do_equal_ones() -> None:
    assert interval([1.0, 0.0, 1.0, 1.0]) == pytest.approx(zero_one_interval(3, 4))
    assert interval([1.0] * 8) == pytest.approx(wilson(8, 8))
    low, high = interval([0.5] * 8) or (0.5, 0.5)
    assert high - low > 0.1


def test_one_question_has_no_interval_and_negative_scores_are_not_cut_off_at_nothing() -> None:
    assert interval([0.5]) is None
    low, high = interval([-1.0, -0.5, 0.0]) or (0.0, 0.0)
    assert low < -1.0 < -0.5 < high


def test_the_interval_of_best_at_10_covers_95_per_cent() -> None:
    """Questions of many difficulties; the truth is best@10 over all questions there are."""
    draw = random.Random(5)
    truth = statistics.fmean(1 - (1 - p / 1000) ** 10 for p in range(0, 1000))
    covered: list[bool] = []
    for _ in range(200):
        suite = [[float(draw.random() < p) for _ in range(30)] for p in (draw.random() for _ in range(60))]
        found = best_of(suite, 10)
        assert found.low is not None
        assert found.high is not None
        covered.append(found.low <= truth <= found.high)
    assert 0.90 <= statistics.fmean(covered) <= 0.995
