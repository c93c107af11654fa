"""Full scores from drawn questions: unbiased for any predictions, and with coverage in small samples."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis.items.weightedsampling import SAFE, Answers, Draw, anytime
from viva.lab.adaptive.drawing import Frame, Target, draws
from viva.lab.items.curves import Floats, dimensions


def frame_of(shares: Floats) -> Frame:
    return Frame(questions=tuple(map(str, range(len(shares)))), shares=shares / shares.sum())


def asked(
    frame: Frame, values: Floats, predicted: Floats, rounds: list[int], seed: int, lowest: float = 0.0
) -> Answers:
    target = Target(predicted=predicted, variance=predicted * (1 - predicted), lowest=lowest)
    drawn: list[Draw] = []
    for count in rounds:
        drawn += draws(frame, [target], drawn, count, seed)
    return Answers(draws=drawn, values=values[frame.places(drawn)])


def first_estimate(draw: Draw, value: float) -> float:
    """Zₜ of the first draw, by its definition."""
    return draw.terms[0].rest + draw.share * (value - draw.terms[0].predicted) / draw.probability


def test_over_all_questions_that_may_come_first_the_estimate_is_the_full_score_whatever_is_predicted() -> None:
    dice = np.random.default_rng(0)
    values, predicted = dice.random(6), np.array([0.01, 0.99, 0.5, 0.2, 0.9, 0.4])
    frame = frame_of(dice.random(6) + 0.1)
    firsts: dict[str, Draw] = {}
    for seed in range(400):
        (one,) = asked(frame, values, predicted, [1], seed).draws
        firsts[one.question] = one
    assert math.fsum(one.probability for one in firsts.values()) == pytest.approx(1)
    expected = math.fsum(one.probability * first_estimate(one, values[int(one.question)]) for one in firsts.values())
    assert expected == pytest.approx(float(frame.shares @ values))
    # In a later draw, of what was left then.
    second = draws(frame, [Target(predicted=predicted, variance=predicted)], [firsts["3"]], 5, 1)
    assert sum(one.share for one in second) + firsts["3"].share == pytest.approx(1)
    assert second[-1].probability == 1


def test_the_same_arguments_draw_the_same_and_rounds_go_on_without_repeats() -> None:
    frame, predicted = frame_of(np.ones(50)), np.linspace(0.05, 0.95, 50)
    first, again = (asked(frame, predicted, predicted, [20, 20, 20], 5) for _ in range(2))
    assert first.draws == again.draws
    assert len({one.question for one in first.draws}) == 50, "the last round has what is left"
    assert [one.round for one in first.draws] == [1] * 20 + [2] * 20 + [3] * 10
    assert asked(frame, predicted, predicted, [20], 6).draws != first.draws[:20]


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, -1.0]))
def test_no_bet_can_lose_more_than_is_safe_and_its_bound_holds_for_any_answers(seed: int, lowest: float) -> None:
    dice = np.random.default_rng(seed)
    size = int(dice.integers(2, 30))
    frame, values = frame_of(dice.random(size) + 0.01), dice.uniform(lowest, 1, size)
    predicted = dice.uniform(lowest, 1, size)
    target = Target(predicted=predicted, variance=np.abs(predicted), lowest=lowest)
    drawn = draws(frame, [target], [], size, seed)
    full, seen = float(frame.shares @ values), 0.0
    for draw in drawn:
        (term,), value = draw.terms, values[int(draw.question)]
        error = seen + term.rest + draw.share * (value - term.predicted) / draw.probability - full
        assert -(term.down + draw.left - term.rest) - 1e-9 <= error <= term.up + term.rest - lowest * draw.left + 1e-9
        seen += draw.share * value
    answers = Answers(draws=drawn[: size // 2 + 1], values=values[frame.places(drawn[: size // 2 + 1])], lowest=lowest)
    found = anytime(answers, [0.5, 0.01])
    least, most = answers.possible()
    assert least - 1e-9 <= found.low <= found.mean <= found.high <= most + 1e-9
    assert 0 < SAFE < 1


def capital(answers: Answers, half: float, value: float) -> float:
    """The bet that the full score is above `value`, step by step, as a logarithm; the most it ever was."""
    seen, capital, most = 0.0, 0.0, -math.inf
    for draw, answer in zip(answers.draws, answers.values, strict=True):
        (term,) = draw.terms
        estimate = seen + term.rest + draw.share * (answer - term.predicted) / draw.probability
        bet = min(half / term.variance, SAFE / (term.down + max(draw.left - term.rest, 0)))
        capital += math.log1p(bet * (estimate - value))
        most = max(most, capital)
        seen += draw.share * answer
    return most


def test_the_anytime_limit_is_where_a_bet_against_all_below_it_reached_forty() -> None:
    dice = np.random.default_rng(4)
    values = (dice.random(600) < 0.4).astype(float)
    answers = asked(frame_of(np.ones(600)), values, np.full(600, 0.4), [150, 150], 9)
    low = anytime(answers, [0.06]).low
    assert 0.2 < low < 0.4
    assert capital(answers, 0.06, low - 1e-6) > math.log(40) > capital(answers, 0.06, low + 1e-6)
    mirrored = asked(frame_of(np.ones(600)), 1 - values, np.full(600, 0.6), [150, 150], 9)
    assert anytime(mirrored, [0.06]).high == pytest.approx(1 - low)


def test_answers_of_more_than_one_ability_are_told_from_those_of_one() -> None:
    dice = np.random.default_rng(1)
    one = dice.normal(size=(12, 1)) + np.zeros((12, 1500))
    two = one + 0.8 * dice.normal(size=(12, 2))[:, np.arange(1500) % 2]
    difficulty = dice.normal(0, 1.2, 1500)
    shares = np.full(1500, 1 / 1500)
    for ability, several in ((one, False), (two, True)):
        chance = 0.2 + 0.8 / (1 + np.exp(-1.5 * (ability - difficulty)))
        found = dimensions((dice.random(chance.shape) < chance).astype(float), shares)
        assert found.several is several
    assert dimensions(np.ones((3, 100)), np.full(100, 0.01)) is None, "three models say too little"
