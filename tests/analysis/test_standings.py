"""Ranks as ranges: checked by hand, as properties, and by simulation; the best of each kind and size."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis.standings import Contender, Score, best_by, partial, ranks, widest
from viva.analysis.uncertainty import wilson


def score(mean: float, half: float | None = None) -> Score:
    return Score(mean=mean) if half is None else Score(mean=mean, low=mean - half, high=mean + half)


def test_clearly_different_models_have_one_rank_each() -> None:
    found = ranks([score(0.3, 0.01), score(0.9, 0.01), score(0.6, 0.01)])
    assert [(rank.place, rank.first, rank.last) for rank in found] == [(3, 3, 3), (1, 1, 1), (2, 2, 2)]
    assert [rank.text for rank in found] == ["3", "1", "2"]


def test_overlapping_models_share_a_range_and_neighbours_need_not() -> None:
    found = ranks([score(0.80, 0.02), score(0.79, 0.02), score(0.70, 0.02), score(0.40, 0.02)])
    assert [rank.text for rank in found] == ["1–2", "1–2", "3", "4"]
    chain = ranks([score(0.80, 0.02), score(0.76, 0.02), score(0.72, 0.02)])  # the ends are apart, the middle is not
    assert [rank.text for rank in chain] == ["1–2", "1–3", "2–3"]


def test_a_model_that_lost_hard_answers_is_not_first_for_certain() -> None:
    """1,806 of 3,000 scored with a mean of .75; the rest may be right or wrong. The other has .67 of all."""
    lost = partial(0.7536, 0.7332, 0.7730, floor=0.4537, ceiling=0.8517)
    found = ranks([lost, score(0.67, 0.02), score(0.30, 0.02)])
    assert [rank.text for rank in found] == ["1–2", "1–2", "3"]
    assert [rank.place for rank in found] == [2, 1, 3]
    assert (lost.low, lost.high) == (pytest.approx(0.4333), pytest.approx(0.8711))
    assert partial(0.5, None, None, floor=0.25, ceiling=0.75) == Score(
        mean=0.5, low=0.25, high=0.75, floor=0.25, ceiling=0.75
    )


@given(
    st.lists(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=40, max_size=40), min_size=2, max_size=6),
)
def test_a_rank_range_holds_the_rank_of_every_completion(models: list[list[tuple[bool, bool]]]) -> None:
    """Each answer is (right, lost). No sampling here: what was asked is all there is, whatever the lost ones were."""
    scores, truths = [], []
    for answers in models:
        known = [right for right, lost in answers if not lost]
        truths.append(sum(right for right, _ in answers) / len(answers))
        if known:
            mean, missing = sum(known) / len(known), len(answers) - len(known)
            bounds = sum(known) / len(answers), (sum(known) + missing) / len(answers)
            scores.append(partial(mean, mean, mean, *bounds) if missing else Score(mean=mean, low=mean, high=mean))
        else:
            scores.append(partial(0.0, None, None, 0.0, 1.0))
    for rank, truth in zip(ranks(scores), truths, strict=True):
        assert rank.first is not None
        assert rank.last is not None
        assert rank.first <= 1 + sum(other > truth + 1e-9 for other in truths)
        assert rank.last >= len(truths) - sum(other < truth - 1e-9 for other in truths)


def test_intervals_are_widened_for_their_number() -> None:
    # 0.045 apart: two intervals of ±0.02 do not overlap; of a hundred, each ±0.0348, these two do.
    pair = [score(0.5, 0.02), score(0.545, 0.02)]
    assert [rank.text for rank in ranks(pair)] == ["1–2", "1–2"]
    assert [rank.text for rank in ranks([score(0.5, 0.019), score(0.545, 0.019)])] == ["2", "1"]
    far = [score(5.0 + step, 0.001) for step in range(98)]
    assert [rank.text for rank in ranks([score(0.5, 0.019), score(0.545, 0.019), *far])][:2] == ["99–100", "99–100"]


def test_equal_means_share_their_place_and_a_model_without_interval_leaves_the_others_one_rank_more_open() -> None:
    found = ranks([score(0.5, 0.01), score(0.5, 0.01), score(0.9), score(0.1, 0.01)])
    assert [rank.place for rank in found] == [2, 2, 1, 4]
    assert [rank.text for rank in found] == ["1–3", "1–3", "(1)", "3–4"]


@given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 0.5)), max_size=20))
def test_a_range_counts_who_is_surely_better_and_who_surely_worse(pairs: list[tuple[float, float]]) -> None:
    from scipy import stats

    found = ranks([score(mean, half) for mean, half in pairs])
    factor = stats.norm.ppf(1 - 0.05 / (2 * max(1, len(pairs)))) / stats.norm.ppf(0.975)
    bounds = [(mean - factor * half, mean + factor * half) for mean, half in pairs]
    for rank, (low, high) in zip(found, bounds, strict=True):
        assert rank.first == pytest.approx(1 + sum(other > high + 1e-9 for other, _ in bounds), abs=_near(bounds, high))
        assert rank.last == pytest.approx(
            len(pairs) - sum(other < low - 1e-9 for _, other in bounds), abs=_near(bounds, low)
        )
        assert rank.first is not None
        assert rank.last is not None
        assert 1 <= rank.first <= rank.place <= rank.last <= len(pairs)


def _near(bounds: list[tuple[float, float]], edge: float) -> int:
    """How many edges are so near that rounding decides."""
    return int(sum(abs(edge - other) < 1e-8 for pair in bounds for other in pair))


@pytest.mark.parametrize(("models", "spread"), [(8, 0.0), (20, 0.02), (40, 0.25)])
def test_all_ranges_hold_the_true_ranks_at_least_95_times_of_100(models: int, spread: float) -> None:
    """Models that answer the same questions of unlike difficulty, as real ones do: 400 leaderboards of each kind."""
    draw = np.random.default_rng(models)
    questions, held, repeats, exact = 300, 0, 400, 0
    for _ in range(repeats):
        abilities = draw.normal(0.0, 1.0, models) * spread * 4
        difficulty = draw.normal(0.0, 1.0, questions)
        chances = 1 / (1 + np.exp(difficulty[None, :] - abilities[:, None]))
        truth = chances.mean(axis=1)  # on these very questions: what an endless number of repeats would give
        points = (draw.random((models, questions)) < chances).sum(axis=1)
        scores = [
            Score(mean=n / questions, low=bounds[0], high=bounds[1])
            for n in points.tolist()
            if (bounds := wilson(n, questions))
        ]
        found = ranks(scores)
        better = (truth[None, :] > truth[:, None]).sum(axis=1)
        worse = (truth[None, :] < truth[:, None]).sum(axis=1)
        # Models of equal ability (spread 0) hold all their ranks at once: none of them may be ruled out.
        held += all(
            rank.first <= 1 + above and rank.last >= models - below  # type: ignore[operator]
            for rank, above, below in zip(found, better, worse, strict=True)
        )
        exact += any(rank.last - rank.first < models - 1 for rank in found)  # type: ignore[operator]
    assert held / repeats >= 0.95
    if spread > 0.1:
        assert exact == repeats, "ranges that are always everything would hold every rank too"


def test_the_widest_interval_bounds_that_of_any_scores_with_the_mean() -> None:
    from scipy import stats

    draw = random.Random(1)
    for _ in range(50):
        values = [draw.choice((0.0, 0.25, 0.5, 0.5, 1.0)) for _ in range(234)]
        mean = sum(values) / 234
        low, high = widest(mean, 234)  # type: ignore[misc]
        half = stats.sem(values) * stats.t.ppf(0.975, 233)
        assert low <= mean - half
        assert mean + half <= high
    assert widest(0.5, 0) is None


CODE, GENERAL = {"domain": "Code"}, {"domain": "General"}


def test_the_best_of_each_kind_below_each_size() -> None:
    contenders = [
        Contender(model="small", score=score(0.4, 0.02), words=CODE, size=7.0),
        Contender(model="level", score=score(0.39, 0.02), words=CODE, size=6.7),
        Contender(model="big", score=score(0.6, 0.02), words=CODE, size=33.0),
        Contender(model="closed", score=score(0.7, 0.02), words=GENERAL),
        Contender(model="base", score=score(0.3, 0.02), words=GENERAL, size=7.0),
        Contender(model="human", score=score(0.99), words={}, size=None),
    ]
    found = best_by(contenders, lambda one: (one.words["domain"],) if one.words else None, (8.0, 35.0, 80.0, None))
    assert [(one.kind, one.below, contenders[one.index].model, one.among) for one in found] == [
        (("General",), 8.0, "base", 1),
        (("General",), None, "closed", 2),
        (("Code",), 8.0, "small", 2),
        (("Code",), 35.0, "big", 3),
    ]
    assert found[2].level == (1,), "its interval overlaps: it may be the best as well"
    assert found[3].level == ()
