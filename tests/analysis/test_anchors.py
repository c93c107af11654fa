"""Anchors: the cross-validated error is the error on models never seen, and nobody is told that they help if not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.responders import subjects
from viva.analysis.anchors import Line, _left_out, _line, choose, predict, validate
from viva.errors import DataError


def test_the_cross_validated_error_is_the_error_on_new_models() -> None:
    found: list[float] = []
    true: list[float] = []
    plain: list[float] = []
    inside: list[bool] = []
    for seed in range(4):
        scores = subjects(36, 500, seed)
        known, new = scores[:16], scores[16:]
        validation = validate(known, 40, rounds=3)
        anchors = choose(known, 40)
        predictions = [
            predict(row[anchors.questions], anchors.weights, anchors.line, validation.anchors.error, 16) for row in new
        ]
        full = new.mean(axis=1)
        found.append(validation.anchors.error)
        plain.append(validation.plain.error)
        true.append(
            float(np.sqrt(np.mean([(value - f) ** 2 for (value, _, _), f in zip(predictions, full, strict=True)])))
        )
        inside += [low <= f <= high for (_, low, high), f in zip(predictions, full, strict=True)]
    assert np.mean(found) == pytest.approx(np.mean(true), rel=0.2)
    assert 0.9 < np.mean(inside) <= 1
    assert np.mean(found) < np.mean(plain), "better than what people do: random questions and their plain mean"


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
    assert anchors.line.at(scores[:, anchors.questions] @ anchors.weights) == pytest.approx(scores.mean(axis=1))
    assert validate(scores, 60, rounds=2).anchors.error < 1e-9


def test_nothing_of_a_held_out_model_reaches_the_choice() -> None:
    scores = subjects(6, 200, 9)
    dice = np.random.default_rng(0)
    # If a model's own answers had a part in choosing, answers drawn anew for it would change the others' errors.
    changed = scores.copy()
    changed[5] = (dice.random(200) < 0.5).astype(float)
    from viva.analysis.anchors import _drawn

    shares = np.full(200, 1 / 200)
    first = _drawn(scores[:5], 20, shares, np.random.default_rng(1))
    second = _drawn(changed[:5], 20, shares, np.random.default_rng(1))
    assert first[0].tolist() == second[0].tolist()


def test_strata_cover_all_difficulties_and_weights_add_up() -> None:
    scores = subjects(20, 300, 1)
    anchors = choose(scores, 30)
    assert anchors.weights.sum() == pytest.approx(1)
    assert len(set(anchors.questions.tolist())) == 30
    assert (np.diff(anchors.questions) > 0).all(), "in the order of the exam"
    facility = np.sort(scores.mean(axis=0)[anchors.questions])
    expected = np.quantile(scores.mean(axis=0), (np.arange(30) + 0.5) / 30)
    assert np.abs(facility - expected).max() < 0.1


def test_an_exam_that_averages_subjects_first_is_predicted_as_it_averages() -> None:
    scores = subjects(15, 240, 5)
    shares = np.r_[np.full(40, 0.5 / 40), np.full(200, 0.5 / 200)]  # two subjects, one five times as large
    anchors = choose(scores, 60, shares)
    means = scores[:, anchors.questions] @ anchors.weights
    assert anchors.line.at(means) == pytest.approx(scores @ shares, abs=0.06)
    assert (anchors.questions < 40).mean() > 0.25, "questions that count more are drawn more often"


def test_few_models_do_not_bend_the_line_and_many_do() -> None:
    x = np.array([0.40, 0.42, 0.44])
    assert _line(x, np.array([0.5, 0.4, 0.5]), 0.005).slope == pytest.approx(1, abs=0.03)
    many = np.linspace(0.2, 0.9, 200)
    assert _line(many, 0.2 + 0.6 * many, 0.005).slope == pytest.approx(0.6, abs=0.01)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(3, 12))
def test_leaving_one_out_by_formula_is_leaving_one_out(seed: int, models: int) -> None:
    dice = np.random.default_rng(seed)
    x, full, noise = dice.random(models), dice.random(models), float(dice.random()) * 0.01 + 1e-4
    errors = []
    for out in range(models):
        kept = np.arange(models) != out
        errors.append(_line(x[kept], full[kept], noise).at(x[out : out + 1])[0] - full[out])
    assert _left_out(x, full, noise) == pytest.approx(np.mean(np.square(errors)), rel=1e-6, abs=1e-12)


def test_the_same_seed_gives_the_same_anchors_and_another_others() -> None:
    scores = subjects(10, 200, 3)
    first, second, other = choose(scores, 20, seed=1), choose(scores, 20, seed=1), choose(scores, 20, seed=2)
    assert first.questions.tolist() == second.questions.tolist()
    assert first.questions.tolist() != other.questions.tolist()


def test_an_interval_is_students_t_around_the_line_and_stays_among_scores() -> None:
    line = Line(intercept=0.1, slope=0.8)
    value, _, high = predict([1.0, 0.0], [0.75, 0.25], line, 0.05, 5)
    assert value == pytest.approx(0.7)
    assert (high - value) / 0.05 == pytest.approx(2.776, abs=1e-3)
    assert predict([1.0], [1.0], line, 0.5, 5)[1:] == (0.0, 1.0)
    beyond, low, high = predict([1.0], [1.0], Line(intercept=0.5, slope=0.78), 0.05, 5)
    assert beyond == high == 1.0, "no score is above full marks"
    assert low == pytest.approx(1.0 - 0.1388, abs=1e-3), "and the interval lies around it, with its width"


@pytest.mark.parametrize(
    ("models", "count", "said"), [(2, 5, "it takes 3"), (5, 1, "1 anchors"), (5, 41, "41 anchors of 40")]
)
def test_what_cannot_be_chosen_is_refused_with_a_reason(models: int, count: int, said: str) -> None:
    with pytest.raises(DataError, match=said):
        validate(subjects(models, 40, 1), count)


def test_gaps_are_refused() -> None:
    scores = subjects(5, 40, 1)
    scores[0, 0] = np.nan
    with pytest.raises(DataError, match="every model"):
        choose(scores, 5)


def test_runs_of_one_model_are_not_predicted_from_each_other() -> None:
    models = subjects(6, 120, 4)
    scores = np.repeat(models, 3, axis=0)  # each three times, as if at three temperatures
    names = [f"m{place // 3}" for place in range(18)]
    leaking, honest, alone = (
        validate(scores, 12, rounds=2),
        validate(scores, 12, names=names, rounds=2),
        validate(models, 12),
    )
    assert (leaking.models, honest.models, honest.folds) == (18, 6, 6)
    assert leaking.anchors.error < 0.8 * honest.anchors.error
    assert honest.anchors.error > 0.6 * alone.anchors.error
    with pytest.raises(DataError, match="2 are too few"):
        validate(scores[:6], 12, names=names[:6])
