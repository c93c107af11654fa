"""best@k and pass@k: against enumeration and hand-computed numbers, and their properties."""

import itertools
import math
import random
import statistics
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.analysis.breakdown import Breakdown, all_at, best_at, frame, maximum_weights, pass_at
from viva.analysis.estimate import Estimate
from viva.analysis.uncertainty import share_interval
from viva.errors import DataError
from viva.runs.score_table import ModelScores
from viva.studies.item_scores import table_rows
from viva.types import Aggregate

SCORES = st.floats(-1, 1, allow_nan=False).map(lambda value: round(value, 3))
ANSWERS = st.lists(SCORES, min_size=1, max_size=8)
# Unbiased


@given(scores=ANSWERS, data=st.data())
def test_the_unbiased_best_is_the_mean_over_all_subsets(scores: list[float], data: st.DataObject) -> None:
    k = data.draw(st.integers(1, len(scores)))
    subsets = list(itertools.combinations(scores, k))
    assert best_at(scores, k) == pytest.approx(statistics.fmean(map(max, subsets)), abs=1e-12)
    solved = [any(score >= 0.5 for score in subset) for subset in subsets]
    assert pass_at(scores, k, full=0.5) == pytest.approx(statistics.fmean(solved), abs=1e-12)
    all_solved = [all(score >= 0.5 for score in subset) for subset in subsets]
    assert all_at(scores, k, full=0.5) == pytest.approx(statistics.fmean(all_solved), abs=1e-12)


@each_row((30, 9, 10), (200, 1, 100), (5, 5, 2), (5, 0, 5), (100, 37, 10))
def test_pass_at_k_is_one_minus_the_chance_to_draw_only_failures(n: int, right: int, k: int) -> None:
    scores = [1.0] * right + [0.4] * (n - right)
    assert pass_at(scores, k) == pytest.approx(1 - math.comb(n - right, k) / math.comb(n, k), abs=1e-14)


def test_a_share_of_one_that_was_rounded_is_full_marks_and_nothing_less_is() -> None:
    assert pass_at([0.9999999, 1.0, 0.999, 0.0]) == 0.5


@each_row((1, 1), (2, 1), (30, 10), (1000, 10), (5000, 2500), (4000, 4000), (3000, 1))
def test_the_weights_of_thousands_of_answers_are_exact(n: int, k: int) -> None:
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


@pytest.mark.parametrize("k", [0, -1, 4])
def test_a_k_that_cannot_be_is_refused(k: int) -> None:
    with pytest.raises(DataError, match=f"best@{k} of 3"):
        best_at([0.1, 0.2, 0.3], k)


# Over questions: what the paper groups, and any k of all


def suite_of(suite: Sequence[Sequence[float | None]], attempts: str, group: int = 0) -> Estimate:
    """A suite's estimate as `viva score TABLE` has it; `group` answers to a repeat."""
    scores = ModelScores(
        scores={f"q{place}": list(values) for place, values in enumerate(suite)},
        tags={f"q{place}": {} for place in range(len(suite))},
    )
    return Breakdown(frame(table_rows("", "m", scores, group))).cell(Aggregate("", attempts=attempts))


def test_a_suite_by_hand() -> None:
    """Groups of two, two groups. Maxima a: 1, 0.5; b: 0, 0.6. Group means 0.5 and 0.55; question means 0.75 and 0.3."""
    suite = [[1.0, 0.0, 0.5, 0.5], [0.0, 0.0, 0.6, 0.2]]
    found = suite_of(suite, "best", 2)
    assert found.mean == pytest.approx(0.525)
    assert found.sd == pytest.approx(0.05 / math.sqrt(2))
    assert found.complete
    assert (found.low, found.high) == pytest.approx(share_interval(0.525, 0.225**2, 2, 1))
    assert suite_of(suite, "mean").mean == pytest.approx((0.5 + 0.2) / 2)
    assert suite_of(suite, "pass@1").mean == pytest.approx(0.125)
    assert suite_of(suite, "pass@4").mean == pytest.approx(0.5)
    assert suite_of(suite, "best@4").mean == pytest.approx(0.8)
    assert suite_of([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0]], "pass^2").mean == pytest.approx((1 / 3 + 1) / 2)


@given(suite=st.lists(ANSWERS, min_size=1, max_size=5), size=st.integers(1, 8))
def test_whole_suites_total_as_the_authors_do(suite: list[list[float]], size: int) -> None:
    """Each question cut to the same length: the mean of the groups' totals, over the number of questions."""
    n = min(map(len, suite))
    cut = [scores[:n] for scores in suite]
    totals = [sum(max(scores[start : start + size]) for scores in cut) for start in range(0, n, size)]
    found = suite_of(cut, "best", size)
    assert found.mean == pytest.approx(statistics.fmean(totals) / len(cut), abs=1e-12)
    if len(totals) > 1:
        assert found.sd == pytest.approx(statistics.stdev(totals) / len(cut), abs=1e-9)
    else:
        assert found.sd is None


def test_the_bounds_by_hand() -> None:
    """Best of three of (1, 0.5, unscored) and nothing scored at all: 1 whatever is missing, and unknown."""
    found = suite_of([[1.0, 0.5, None], [0.25, 0.5, 0.5], [None, None, None]], "best", 3)
    assert (found.mean, found.floor, found.ceiling) == (pytest.approx(0.75), pytest.approx(0.5), pytest.approx(2.5 / 3))
    mean = suite_of([[1.0, None], [0.0, 0.5]], "mean")
    assert (mean.mean, mean.floor, mean.ceiling) == (pytest.approx(0.5), 0.375, 0.625)
    assert suite_of([[None], [None]], "mean").mean is None
    assert suite_of([], "mean").mean is None


def test_what_more_answers_add_is_read_off_the_questions_that_have_them() -> None:
    """Of (0, 1, 0) the best of two is 2/3 to be expected, and of three 1: a third answer adds 1/3."""
    found = suite_of([[0.0, 1.0, 0.0], [0.5, None, 0.25]], "best@3")
    assert found.mean == pytest.approx((1 + 0.5 + 1 / 3) / 2)
    assert not found.complete
    none = suite_of([[0.0, None], [0.5, None]], "best@2")
    assert (none.mean, none.floor, none.ceiling) == (None, 0.25, 1.0), "no question has two"
    assert none.low is not None, "a range has an interval"
