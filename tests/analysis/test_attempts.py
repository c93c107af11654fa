"""Several answers to a question: their mean, the best of each repeat, what to expect of k drawn."""

from __future__ import annotations

import statistics
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.answers import cell, row
from viva.errors import VivaError
from viva.types import Line, Outcome, ScoreRow

BEST = Line("best", attempts="best")
MEAN = Line("mean", attempts="mean")


def answers(question: str, *repeats: list[float | Outcome], tags: dict[str, str] | None = None) -> list[ScoreRow]:
    """One question's answers, a list a repeat; a word is an outcome without a score."""
    rows: list[ScoreRow] = []
    for repeat, scores in enumerate(repeats):
        for score in scores:
            sample = len(rows)
            if isinstance(score, str):
                rows.append(row(question, score, sample=sample, repeat=repeat, tags=tags))
                continue
            outcome: Outcome = "right" if score >= 1 else "partly" if score > 0 else "wrong"
            rows.append(row(question, outcome, score, sample=sample, repeat=repeat, tags=tags))
    return rows


def test_the_best_of_each_repeat_counts_and_the_deviation_is_over_repeats() -> None:
    rows = answers("a", [0.0, 0.5, 0.25], [1.0, 0.0, 0.0]) + answers("b", [0.0, 0.0, 0.0], [0.0, 0.5, 0.0])
    found = cell(rows, BEST)
    assert found.n == 4
    assert found.mean == pytest.approx((0.5 + 1.0 + 0.0 + 0.5) / 4)
    assert found.sd == pytest.approx(statistics.stdev([0.25, 0.75]))
    assert found.outcomes == {"right": 1, "partly": 2, "wrong": 1}


def test_the_mean_of_the_same_answers_is_another_number() -> None:
    rows = answers("a", [0.0, 0.5, 0.25], [1.0, 0.0, 0.0])
    assert cell(rows, MEAN).mean == pytest.approx(1.75 / 6)
    assert cell(rows, MEAN).n == 6


def test_with_one_answer_a_repeat_best_and_mean_are_the_same() -> None:
    rows = answers("a", [0.5], [1.0]) + answers("b", [0.0], [0.5])
    best, mean = cell(rows, BEST), cell(rows, MEAN)
    assert (best.mean, best.n, best.sd) == (mean.mean, mean.n, mean.sd)


def test_a_missing_answer_hides_the_best_unless_another_has_full_marks() -> None:
    hidden = cell(answers("a", [0.5, "error"]) + answers("b", [1.0, 1.0]), BEST)
    assert hidden.mean == 1.0
    assert not hidden.complete
    assert (hidden.floor, hidden.ceiling) == (pytest.approx(0.75), 1.0)
    assert hidden.outcomes == {"right": 1, "error": 1}
    known = cell(answers("a", [1.0, "error"]) + answers("b", [0.0, 0.0]), BEST)
    assert known.complete
    assert known.mean == pytest.approx(0.5)


def test_an_unreadable_answer_never_beats_a_scored_one() -> None:
    found = cell(answers("a", ["refused", 0.25, "empty"]), BEST)
    assert found.mean == pytest.approx(0.25)
    assert found.complete


def test_points_below_zero_are_better_than_no_answer_only_in_the_bounds() -> None:
    found = cell(answers("a", [-0.5, -0.25]) + answers("b", [-0.5, "error"]), BEST)
    assert found.mean == pytest.approx(-0.25)
    assert found.outcomes["error"] == 1


@given(
    st.lists(st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=4, max_size=6), min_size=1, max_size=5),
    st.integers(1, 4),
)
def test_best_at_k_is_the_mean_over_all_draws(scores: list[list[float]], k: int) -> None:
    rows = [made for number, drawn in enumerate(scores) for made in answers(f"q{number}", list(drawn))]
    expected = [statistics.fmean(max(draw) for draw in combinations(drawn, k)) for drawn in scores]
    found = cell(rows, Line("", attempts=f"best@{k}"))
    assert found.mean == pytest.approx(statistics.fmean(expected))
    passing = [statistics.fmean(max(draw) >= 1.0 for draw in combinations(drawn, k)) for drawn in scores]
    assert cell(rows, Line("", attempts=f"pass@{k}")).mean == pytest.approx(statistics.fmean(passing))


def test_what_is_expected_of_a_question_is_its_outcome() -> None:
    rows = answers("a", [1.0, 1.0]) + answers("b", [1.0, 0.0]) + answers("c", [0.0, 0.0]) + answers("d", [1.0, "error"])
    found = cell(rows, Line("", attempts="best@1"))
    assert found.outcomes == {"right": 1, "partly": 1, "wrong": 1, "error": 1}
    assert not found.complete


def test_more_draws_than_answers_take_all_answers() -> None:
    assert cell(answers("a", [0.25, 0.5]), Line("", attempts="best@10")).mean == pytest.approx(0.5)


def test_an_unknown_way_to_count_is_refused() -> None:
    with pytest.raises(VivaError, match="median@3"):
        cell(answers("a", [0.25, 0.5]), Line("", attempts="median@3"))


def test_tags_still_pick_their_questions() -> None:
    rows = answers("a", [0.0, 1.0], tags={"area": "x"}) + answers("b", [0.0, 0.5], tags={"area": "y"})
    assert cell(rows, BEST, Line("", where={"area": ("y",)})).mean == pytest.approx(0.5)
