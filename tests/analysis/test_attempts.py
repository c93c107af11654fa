"""Several answers to a question: their mean, the best of each repeat, the expectation for k drawn ones."""

import random
import statistics
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, graded
from viva.errors import VivaError
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


def test_with_one_answer_a_repeat_best_and_mean_are_the_same() -> None:
    rows = answers("a", [0.5], [1.0]) + answers("b", [0.0], [0.5])
    best, mean = cell(rows, BEST), cell(rows, MEAN)
    assert (best.mean, best.n, best.sd) == (mean.mean, mean.n, mean.sd)


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


@pytest.mark.parametrize("attempts", ["best", "best@10", "best@3", "pass@1", "pass@10"])
def test_answers_lost_at_random_move_no_number_by_much(attempts: str) -> None:
    """Membership that depends on the outcome moved best@10 from 42 to 54 where 5 % of the answers were lost."""
    dice = random.Random(7)
    scores = [
        [float(dice.random() < rate) for _ in range(10)] for rate in (dice.betavariate(0.3, 3) for _ in range(600))
    ]
    line = Aggregate("", attempts=attempts)
    whole = cell([made for number, each in enumerate(scores) for made in answers(f"q{number}", list(each))], line)
    for lost in (0.01, 0.05, 0.10):
        holed = [["error" if dice.random() < lost else score for score in each] for each in scores]
        found = cell([made for number, each in enumerate(holed) for made in answers(f"q{number}", each)], line)
        assert found.mean == pytest.approx(whole.mean, abs=0.01 + lost / 4)
        assert found.floor <= whole.mean <= found.ceiling
        assert found.floor <= found.mean <= found.ceiling


def test_an_unreadable_answer_never_beats_a_scored_one() -> None:
    found = cell(answers("a", ["refused", 0.25, "empty"]), BEST)
    assert found.mean == pytest.approx(0.25)
    assert found.complete


def test_points_below_zero_are_better_than_no_answer_only_in_the_bounds() -> None:
    found = cell(answers("a", [-0.5, -0.25]) + answers("b", [-0.5, "error"]), BEST)
    assert found.mean == pytest.approx((-0.25 - 0.5 + 0.125) / 2)
    assert found.floor == pytest.approx(-0.375)
    assert not found.complete


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=6), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_best_at_k_is_the_mean_over_all_draws(scores: list[list[float]], k: int) -> None:
    rows = [made for number, drawn in enumerate(scores) for made in answers(f"q{number}", list(drawn))]
    expected = [statistics.fmean(max(draw) for draw in combinations(drawn, k)) for drawn in scores]
    found = cell(rows, Aggregate("", attempts=f"best@{k}"))
    assert found.mean == pytest.approx(statistics.fmean(expected))
    passing = [statistics.fmean(max(draw) >= 1.0 for draw in combinations(drawn, k)) for drawn in scores]
    assert cell(rows, Aggregate("", attempts=f"pass@{k}")).mean == pytest.approx(statistics.fmean(passing))


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


def test_tags_still_pick_their_questions() -> None:
    rows = answers("a", [0.0, 1.0], tags={"area": "x"}) + answers("b", [0.0, 0.5], tags={"area": "y"})
    assert cell(rows, BEST, Aggregate("", where={"area": ("y",)})).mean == pytest.approx(0.5)
