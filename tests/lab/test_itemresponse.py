"""The 1PL and 2PL against textbooks, brute force, and simulated models whose abilities are known."""

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.responders import lsat6, world
from rows import each_row
from viva.errors import DataError
from viva.lab.items.quadrature import State, Work, derivatives, posterior_of
from viva.lab.items.response import SPREAD, Fitted, Floats, Logistic, fit
from within import within

GRID = np.linspace(-8, 8, 1601)


def brute_log_likelihood(scores: Floats, slope: Floats, intercept: Floats, guessing: float = 0.0) -> float:
    """Abilities integrated out on a fine grid."""
    z = np.outer(GRID, slope) + intercept
    yes, no = -np.logaddexp(0, -z), -np.logaddexp(0, z) + np.log1p(-guessing)
    yes = np.log(guessing + (1 - guessing) * np.exp(yes))
    logs = scores @ yes.T + (1 - scores) @ no.T - GRID**2 / 2 - np.log(np.sqrt(2 * np.pi))
    top = logs.max(axis=1, keepdims=True)
    total: float = (top[:, 0] + np.log(np.exp(logs - top).sum(axis=1) * (GRID[1] - GRID[0]))).sum()
    return total


def parameters(found: Fitted) -> tuple[Floats, Floats]:
    return found.items.discrimination, -found.items.discrimination * found.items.difficulty


def test_lsat_6_has_the_published_rasch_estimates() -> None:
    found = fit(lsat6(), "1pl")
    # R package ltm 1.2, rasch(LSAT); Rizopoulos 2006, Journal of Statistical Software 17(5), section 3.1.
    assert found.items.difficulty == pytest.approx([-3.6153, -1.3224, -0.3176, -1.7301, -2.7802], abs=0.03)
    assert found.items.discrimination == pytest.approx(np.full(5, 0.7551), abs=0.01)
    assert found.log_likelihood == pytest.approx(-2466.938, abs=0.05)
    assert found.parameters == 6
    assert found.converged


def test_lsat_6_has_the_published_2pl_estimates_as_far_as_priors_let_it() -> None:
    found = fit(lsat6(), "2pl")
    # ltm(LSAT ~ z1); girth 0.8 (MIT) gives the same to 0.002.
    ml = np.array([-3.3597, -1.3696, -0.2799, -1.8659, -3.1236])
    assert np.all(np.abs(found.items.difficulty - ml) < 0.3 * found.items.difficulty_error)
    assert found.items.discrimination == pytest.approx([0.8254, 0.7229, 0.8905, 0.6886, 0.6575], abs=0.08)
    assert found.log_likelihood == pytest.approx(-2466.653, abs=0.15)
    # ltm's standard errors: discriminations 0.2581 0.1867 0.2326 0.1852 0.2100; a prior makes them smaller.
    assert np.all(found.items.discrimination_error < [0.2581, 0.1867, 0.2326, 0.1852, 0.2100])
    assert np.all(found.items.discrimination_error > [0.15, 0.12, 0.15, 0.12, 0.12])


@each_row(*itertools.product([(300, 8), (20, 60), (3, 40)], ["2pl", "3pl"]))
def test_the_likelihood_is_that_of_brute_force(size: tuple[int, int], logistic: Logistic) -> None:
    scores = world(*size, 7, guessing=0.25 if logistic == "3pl" else 0.0).scores
    found = fit(scores, logistic)
    brute = brute_log_likelihood(scores, *parameters(found), found.guessing)
    assert found.log_likelihood == pytest.approx(brute, rel=1e-4 if found.guessing else 1e-6)
    assert found.parameters == 2 * size[1] + (logistic == "3pl")
    assert found.aic == pytest.approx(2 * found.parameters - 2 * found.log_likelihood)
    assert found.bic == pytest.approx(found.parameters * np.log(size[0]) - 2 * found.log_likelihood)


def test_estimates_lie_where_the_likelihood_and_the_priors_are_level() -> None:
    scores = world(60, 10, 3).scores
    slope, intercept = parameters(fit(scores, "2pl", close=1e-9))

    def pulls(moved: Callable[[Floats], tuple[Floats, Floats]]) -> Floats:
        up, down = (
            np.array([brute_log_likelihood(scores, *moved(step)) for step in sign * np.eye(10)])
            for sign in (1e-4, -1e-4)
        )
        return (up - down) / 2e-4

    # The width of the intercepts' prior is found by the fit: the one for which one question is level must do for all.
    away = intercept - intercept.mean()
    widths = np.sqrt((away / pulls(lambda step: (slope, intercept + step)))[np.abs(away) > 0.3])
    assert np.ptp(widths) < 0.1 * widths.mean()
    firm = (np.log(slope) - np.log(slope).mean()) / SPREAD**2
    assert pulls(lambda step: (slope * np.exp(step), intercept)) == pytest.approx(firm, abs=0.05)


def abilities(scores: Floats, discrimination: Floats, difficulty: Floats) -> tuple[Floats, Floats]:
    """Means and standard deviations of the posteriors of models on questions whose parameters are known."""
    start = np.zeros(len(scores))
    known = State(
        slope=discrimination, intercept=-discrimination * difficulty, modes=start, middle=0.0, spread=1.0, usual=0.0
    )
    posterior = posterior_of(Work(scores), known, newton=25)
    return posterior.mean, np.sqrt(posterior.variance)


def test_a_question_with_a_wrong_gold_answer_is_erratic() -> None:
    made = world(60, 200, 8)
    best = int(np.argmax(made.discrimination * (np.abs(made.difficulty) < 0.5)))
    made.scores[:, best] = 1 - made.scores[:, best]
    found = fit(made.scores, "2pl")
    assert found.converged
    assert found.items.infit.argmax() == best
    assert found.items.surprise[best] > 3


@each_row(
    (np.ones((1, 5)), "two models"),
    (np.ones((3, 1)), "two models"),
    (np.array([[0.0, 1.0], [np.nan, np.nan]]), "a score of every model"),
    (np.array([[0.0, 1.5], [1.0, 0.0]]), "1.5"),
    (np.array([[0.0, -0.5], [1.0, 0.0]]), "-0.5"),
    (np.array([[0.0, 1.0], [1.0, 0.0]]), "nothing to tell apart"),
)
def test_what_cannot_be_fitted_is_refused_with_a_reason(scores: Any, said: str) -> None:
    with pytest.raises(DataError, match=said):
        fit(scores)


def test_a_fit_that_was_cut_short_says_so() -> None:
    assert not fit(world(20, 30, 1).scores, "2pl", steps=2).converged


@settings(max_examples=settings.default.max_examples // 4)
@given(st.integers(0, 10_000), st.integers(2, 9), st.integers(2, 12), st.sampled_from(["1pl", "2pl", "3pl"]))
def test_whatever_the_scores_the_figures_are_finite(seed: int, models: int, questions: int, logistic: Logistic) -> None:
    dice = np.random.default_rng(seed)
    scores = dice.integers(0, 3, (models, questions)) / 2
    scores[np.arange(models), np.arange(models) % questions] = dice.integers(0, 2, models)
    if np.ptp(scores.mean(axis=1)) < 1e-9:
        scores[0] = 1 - scores[0] * (scores[0] < 1)
    if np.ptp(scores.mean(axis=1)) < 1e-9:
        return
    found = fit(scores, logistic)
    assert 0 <= found.guessing < 0.6
    figures = (found.items.difficulty, found.items.discrimination, found.ability, found.items.infit, found.items.outfit)
    assert all(np.isfinite(figure).all() for figure in figures)
    assert (found.items.discrimination > 0).all()
    assert found.ability.mean() == pytest.approx(0, abs=0.02)


def test_abilities_by_known_questions_are_those_of_the_posterior() -> None:
    made = world(200, 30, 5)
    ability, error = abilities(made.scores, made.discrimination, made.difficulty)
    z = np.outer(GRID, made.discrimination) - made.discrimination * made.difficulty
    logs = made.scores @ -np.logaddexp(0, -z).T + (1 - made.scores) @ -np.logaddexp(0, z).T - GRID**2 / 2
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    expected = weights @ GRID
    assert ability == pytest.approx(expected, abs=1e-4)
    assert error == pytest.approx(np.sqrt(weights @ GRID**2 - expected**2), abs=1e-4)
    assert np.mean(np.abs(ability - made.ability) < 1.96 * error) > 0.9


def test_gaps_cost_precision_and_nothing_else() -> None:
    made = world(50, 1000, 9)
    holes = made.scores.copy()
    holes[np.random.default_rng(1).random(holes.shape) < 0.4] = np.nan
    with within(2):  # of 2,000 questions once: a quarter of a second
        whole, gappy = fit(made.scores, "2pl"), fit(holes, "2pl")
    assert np.corrcoef(whole.ability, gappy.ability)[0, 1] > 0.99
    assert gappy.ability_error.mean() == pytest.approx(whole.ability_error.mean() / np.sqrt(0.6), rel=0.1)
    assert gappy.converged


@pytest.mark.parametrize("guessing", [0.0, 0.25])
def test_derivatives_are_those_of_the_log_likelihood(guessing: float) -> None:
    z, step = np.linspace(-4, 4, 33), 1e-4

    def log_likelihood(point: float, at: Floats) -> Floats:
        p = guessing + (1 - guessing) / (1 + np.exp(-at))
        found: Floats = point * np.log(p) + (1 - point) * np.log(1 - p)
        return found

    known = 1 / (1 + np.exp(-z))
    right = guessing + (1 - guessing) * known
    expected = np.zeros_like(z)
    for point in (0.0, 0.3, 1.0):
        first, information = derivatives(known, np.full_like(z, point), guessing)
        low, middle, high = (log_likelihood(point, z + sign * step) for sign in (-1, 0, 1))
        assert first == pytest.approx((high - low) / (2 * step), abs=1e-6)
        if point in (0.0, 1.0):
            expected -= (right if point else 1 - right) * (high - 2 * middle + low) / step**2
    assert information == pytest.approx(expected, abs=1e-5)
