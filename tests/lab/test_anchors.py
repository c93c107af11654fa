"""Anchors: the cross-validated error equals that on unseen models, and anchors that do not help are not recommended."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.responders import subjects
from rows import tabled
from viva.errors import DataError
from viva.lab.items.anchor_choice import choose, interval, predict
from viva.lab.items.anchor_error import validate


def test_models_that_toss_coins_are_not_predicted_and_that_is_said() -> None:
    coins = (np.random.default_rng(2).random((12, 600)) < 0.5).astype(float)
    found = validate(coins, 30, rounds=8)
    assert found.nothing.error < found.anchors.error
    assert found.nothing.error < found.plain.error
    # Random questions and their plain mean err by the binomial standard deviation, finite population and all.
    assert found.plain.error == pytest.approx(np.sqrt(0.25 / 30 * (1 - 30 / 600)), rel=0.2)


def test_all_questions_as_anchors_predict_exactly() -> None:
    scores = subjects(8, 60, 4)
    anchors = choose(scores, 60)
    assert anchors.questions.tolist() == list(range(60))
    for row in scores:
        value, spread = predict(anchors.reader, row)
        assert value == pytest.approx(row.mean())
        assert spread == pytest.approx(0, abs=1e-9)
    assert validate(scores, 60, rounds=2).anchors.error < 1e-9


def test_nothing_of_a_held_out_family_reaches_its_prediction() -> None:
    scores = subjects(6, 200, 9)
    families = ["a", "b", "a", "c", "d", "e"]
    before = validate(scores, 20, families=families, rounds=1)
    turned = scores.copy()
    turned[[0, 2]] = turned[[0, 2]][:, np.random.default_rng(0).permutation(200)]
    # Of the family that changed, the error of the mean of the others stays: they are what it was before.
    assert validate(turned, 20, families=families, rounds=1).nothing.error == pytest.approx(before.nothing.error)
    twins = np.vstack([scores, scores])
    own = validate(twins, 40, rounds=1).anchors.error
    apart = validate(twins, 40, families=[*"abcdef", *"abcdef"], rounds=1).anchors.error
    assert apart == pytest.approx(validate(scores, 40, families=[*"abcdef"], rounds=1).anchors.error, rel=0.5)
    assert own != apart


def test_blocks_all_give_anchors_and_shares_count() -> None:
    scores = subjects(20, 300, 1)
    anchors = choose(scores, 30)
    assert len(set(anchors.questions.tolist())) == 30
    assert (np.diff(anchors.questions) > 0).all()
    counts = np.histogram(anchors.questions, bins=np.linspace(0, 300, 8))[0]
    assert counts.min() >= 3, "4 or so of each of the seven blocks"
    shares = np.r_[np.full(40, 0.5 / 40), np.full(260, 0.5 / 260)]  # two subjects, one far larger
    weighed = choose(scores, 30, shares)
    assert (weighed.questions < 40).mean() == pytest.approx(0.5, abs=0.1), "a question that counts more counts more"
    assert weighed.reader.shares.sum() + weighed.reader.rest[-1] <= 1 + 1e-9
    few = choose(scores[:, :10], 9, np.r_[0.9, np.full(9, 0.1 / 9)])
    assert len(few.questions) == 9, "a block of one question gives one, and the others more"


@given(st.integers(0, 10_000), st.integers(3, 9), st.integers(2, 40))
def test_a_prediction_is_a_score_and_knows_less_with_fewer_answers(seed: int, models: int, count: int) -> None:
    dice = np.random.default_rng(seed)
    scores = subjects(models, 60, seed)
    scores[dice.random(scores.shape) < 0.1] = np.nan
    scores[0, 0] = 1.0
    reader = choose(scores, count).reader
    answers = dice.random(count).round()
    lost = answers.copy()
    spreads = []
    for place in dice.permutation(count):
        value, spread = predict(reader, lost)
        low, high = interval(value, spread, 1.2, models)
        assert 0 <= low <= value <= high <= 1
        spreads.append(spread)
        lost[place] = np.nan
    assert predict(reader, lost)[1] >= spreads[0] - 1e-9, "nothing answered, nothing known"
    order = np.argsort(answers)
    assert predict(reader, np.sort(answers))[0] >= 0
    assert len(order) == count


def test_what_cannot_be_chosen_is_refused_with_a_reason() -> None:
    empty = subjects(5, 40, 1)
    empty[2] = np.nan
    gaps = subjects(5, 40, 1)
    gaps[1, :30] = np.nan
    for (_name, scores, count, said), row in tabled(
        ("two models", subjects(2, 40, 1), 5, "it takes 3"),
        ("one anchor", subjects(5, 40, 1), 1, "1 anchors"),
        ("more anchors than questions", subjects(5, 40, 1), 41, "41 anchors of 40"),
        ("a model without scores", empty, 5, "one has none"),
        ("a model with few", gaps, 20, "10 questions were answered"),
    ):
        with row, pytest.raises(DataError, match=said):
            validate(scores, count, rounds=1)
