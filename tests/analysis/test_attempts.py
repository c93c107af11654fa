"""Several answers to a question: their mean, the best of each repeat, best@k and pass@k by enumeration and by hand."""

import itertools
import math
import statistics
from collections.abc import Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, graded
from rows import each_row
from viva.analysis.breakdown import Breakdown, all_at, best_at, frame, maximum_weights, pass_at
from viva.analysis.estimate import Estimate
from viva.analysis.uncertainty import share_interval
from viva.errors import DataError, VivaError
from viva.runs.score_table import ModelScores
from viva.studies.item_scores import table_rows
from viva.types import Aggregate, Outcome, ScoreRow

BEST = Aggregate("best", attempts="best")
MEAN = Aggregate("mean", attempts="mean")


def answers(question: str, *repeats: list[float | Outcome], tags: dict[str, str] | None = None) -> list[ScoreRow]:
    """One question's answers, a list a repeat; a word is an outcome without a score."""
    every = [(repeat, score) for repeat, scores in enumerate(repeats) for score in scores]
    return [graded(question, score, sample=at, repeat=repeat, tags=tags) for at, (repeat, score) in enumerate(every)]


def test_the_best_of_each_repeat_counts_and_the_deviation_is_over_repeats() -> None:
    rows = answers("a", [0.0, 0.5, 0.25], [1.0, 0.0, 0.0]) + answers("b", [0.0, 0.0, 0.0], [0.0, 0.5, 0.0])
    found = cell(rows, BEST)
    assert found.n == 4
    assert found.mean == pytest.approx((0.5 + 1.0 + 0.0 + 0.5) / 4)
    assert found.sd == pytest.approx(statistics.stdev([0.25, 0.75]))
    assert found.outcomes == {"right": 1, "partly": 2, "wrong": 1}
    mean = cell(rows, MEAN)
    assert (mean.n, mean.mean) == (12, pytest.approx(2.25 / 12)), "the mean of the same answers is another number"


def test_a_question_with_a_missing_answer_counts_however_good_its_known_ones_are() -> None:
    """The best of the known answers, and what a second one adds where there are two: nothing, here."""
    found = cell(answers("a", [0.5, "error"]) + answers("b", [1.0, "error"]) + answers("c", [0.0, 0.0]), BEST)
    assert found.mean == pytest.approx(0.5)
    assert (found.floor, found.ceiling) == (pytest.approx(0.5), pytest.approx(2 / 3))
    assert found.outcomes == {"right": 1, "partly": 1, "wrong": 1}
    assert not found.complete
    assert cell(answers("a", ["error", "error"]) + answers("b", [1.0, 1.0]), BEST).outcomes == {"right": 1, "error": 1}
    nobody = cell(answers("a", [0.5, "error"]) + answers("b", [1.0, "ungraded"]), BEST)
    assert (nobody.mean, nobody.floor, nobody.ceiling) == (None, 0.75, 1.0), "no question has two answers"
    assert nobody.outcomes == {"error": 1, "ungraded": 1}


def test_what_cannot_be_read_is_never_the_best_and_points_below_zero_are_better_than_no_answer() -> None:
    found = cell(answers("a", ["refused", 0.25, "empty"]), BEST)
    assert (found.mean, found.complete) == (pytest.approx(0.25), True)
    found = cell(answers("a", [-0.5, -0.25]) + answers("b", [-0.5, "error"]), BEST)
    assert (found.mean, found.floor) == (pytest.approx((-0.25 - 0.5 + 0.125) / 2), pytest.approx(-0.375))
    assert not found.complete


def test_what_is_expected_of_a_question_is_its_outcome() -> None:
    rows = answers("a", [1.0, 1.0]) + answers("b", [1.0, 0.0]) + answers("c", [0.0, 0.0]) + answers("d", [1.0, "error"])
    found = cell(rows, Aggregate("", attempts="best@1"))
    assert found.outcomes == {"right": 2, "partly": 1, "wrong": 1}
    assert (found.mean, found.floor, found.ceiling) == (0.625, 0.5, 0.625)
    assert not found.complete


def test_more_draws_than_answers_are_not_known() -> None:
    found = cell(answers("a", [0.25, 0.5]), Aggregate("", attempts="best@10"))
    assert (found.mean, found.floor, found.ceiling) == (None, 0.5, 1.0)
    assert found.outcomes == {"not asked": 1}
    uneven = cell(answers("a", [0.25]) + answers("b", [0.0, 1.0]), Aggregate("", attempts="best@2"))
    assert uneven.mean == pytest.approx((0.25 + 0.5 + 1) / 2), "a second answer adds .5 where there is one"


def test_an_unknown_way_to_count_is_refused() -> None:
    with pytest.raises(VivaError, match="median@3"):
        cell(answers("a", [0.25, 0.5]), Aggregate("", attempts="median@3"))


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
