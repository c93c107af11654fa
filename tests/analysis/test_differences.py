"""Intervals of paired differences, their posterior, and the anytime-valid test, against oracles; error rates."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import betaln

import tango
from analysis.test_comparing import once, pairs_of
from rows import each_row
from viva.analysis.comparing import LIMIT, PRIOR, anytime
from viva.analysis.posterior import posterior
from viva.analysis.uncertainty import score_interval, t_quantile


@each_row(
    (0, 2, 300, 1e9), (0, 0, 60, 1e9), (14, 36, 300, 1e9), (7, 1, 21, 1e9), (3.7, 1.2, 44.3, 12),
    (10, 0, 10, 9),
)  # fmt: skip
def test_tango_s_limits_are_those_of_an_optimiser(gained: float, lost: float, n: float, degrees: float) -> None:
    found = score_interval(gained / n, lost / n, n, t_quantile(degrees))
    assert found == pytest.approx(tango.score_interval(gained / n, lost / n, n, degrees), abs=1e-7)


MARGIN = 0.05


@pytest.mark.parametrize(("gained", "lost", "ties"), [(0, 0, 20), (1, 0, 5), (14, 36, 250), (5, 4, 100), (80, 70, 0)])
def test_of_right_and_wrong_it_is_the_dirichlet_posterior(gained: int, lost: int, ties: int) -> None:
    from scipy import stats

    first, second = [0.0] * gained + [1.0] * (lost + ties), [1.0] * gained + [0.0] * lost + [1.0] * ties
    found = posterior(pairs_of(once(first), once(second)), MARGIN)
    assert found.better == pytest.approx(stats.beta.sf(0.5, gained + 0.5, lost + 0.5))
    cells = [cell for cell in (gained + 0.5, lost + 0.5, ties) if cell]
    drawn = stats.dirichlet(cells).rvs(200_000, random_state=1)
    difference = drawn[:, 0] - drawn[:, 1]
    low, high = np.quantile(difference, [0.025, 0.975])
    assert (found.low, found.high) == (pytest.approx(low, abs=0.01), pytest.approx(high, abs=0.01))
    assert found.no_worse == pytest.approx(float(np.mean(difference > -MARGIN)), abs=0.015)
    assert found.equivalent == pytest.approx(float(np.mean(np.abs(difference) < MARGIN)), abs=0.015)


def test_of_points_and_many_questions_it_is_students_t() -> None:
    from scipy import stats

    dice = np.random.default_rng(2)
    first, second = dice.beta(2, 2, 400), dice.beta(2.2, 2, 400)
    found = posterior(pairs_of(once(first.tolist()), once(second.tolist())))
    test = stats.ttest_rel(second, first)
    interval = test.confidence_interval(0.95)
    assert found.better == pytest.approx(stats.t.cdf(test.statistic, 399), abs=0.01)
    assert found.low == pytest.approx(interval.low, abs=0.005)
    assert found.high == pytest.approx(interval.high, abs=0.005)
    assert (found.no_worse, found.equivalent) == (None, None)


@settings(max_examples=settings.default.max_examples // 4)
@given(st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=20))
def test_any_pairs(values: list[tuple[float, float]]) -> None:
    first, second = once([one for one, _ in values]), once([two for _, two in values])
    found, turned = posterior(pairs_of(first, second)), posterior(pairs_of(second, first))
    assert found.better + turned.better == pytest.approx(1, abs=0.03)
    assert -1 <= found.low < found.high <= 1
    assert found == posterior(pairs_of(first, second)), "the same pairs give the same"


def test_nothing_to_go_by_says_nothing() -> None:
    assert posterior(pairs_of(once([None, 1.0]), once([1.0, None]))) is None
    assert posterior(pairs_of(once([-3.0, 1.0]), once([1.0, 0.0]))) is None


def closed(gained: int, lost: int) -> float:
    """Two-sided evidence of gained and lost 0/1 questions: a beta-binomial against a fair coin."""
    return math.exp((gained + lost) * math.log(2) + betaln(gained + PRIOR, lost + PRIOR) - betaln(PRIOR, PRIOR))


@pytest.mark.parametrize(("gained", "lost"), [(0, 0), (1, 0), (3, 3), (36, 14), (4, 60), (120, 90), (700, 600)])
def test_of_right_and_wrong_it_is_a_beta_binomial_whatever_ties_there_are(gained: int, lost: int) -> None:
    differences = np.repeat([1.0, -1.0, 0.0], [gained, lost, 40])
    found = anytime(differences)
    assert found.e == pytest.approx(closed(gained, lost), rel=1e-6)
    assert found.p == pytest.approx(min(1.0, 1 / closed(gained, lost)), rel=1e-6)
    assert (found.e >= LIMIT) == (found.low > 0 or found.high < 0)


@given(st.lists(st.floats(-1, 1).map(lambda x: round(x, 2)), min_size=1, max_size=60))
def test_the_interval_holds_the_mean_and_agrees_with_the_test(differences: list[float]) -> None:
    values = np.array(differences)
    found, turned = anytime(values), anytime(-values)
    assert -1 <= found.low <= values.mean() + 1e-9
    assert values.mean() - 1e-9 <= found.high <= 1
    assert (turned.low, turned.high) == (pytest.approx(-found.high, abs=1e-6), pytest.approx(-found.low, abs=1e-6))
    if abs(found.e - LIMIT) > 1e-3:
        assert (found.e > LIMIT) == (found.low > 0 or found.high < 0)


def test_on_average_nobody_gets_richer_where_there_is_no_difference() -> None:
    """Exactly: the expectation of the capital over all outcomes of five fair questions, with half points, is 1."""
    values, chances = np.array([-1.0, -0.5, 0.0, 1.0]), np.array([0.2, 0.2, 0.3, 0.3])
    assert float(values @ chances) == pytest.approx(0)
    total = 0.0
    for outcomes in itertools.combinations_with_replacement(range(4), 5):
        chosen = list(outcomes)
        found, turned = anytime(values[chosen]), anytime(values[chosen[::-1]])
        assert found == turned, "the order decides nothing, so that one order stands for all"
        orders = math.factorial(5) / math.prod(math.factorial(chosen.count(value)) for value in range(4))
        total += orders * float(np.prod(chances[chosen])) * found.e
    assert total == pytest.approx(1, rel=1e-9)


def test_nothing_and_scores_beyond_0_and_1_have_none() -> None:
    assert anytime(np.array([])) is None
    assert anytime(np.array([1.5, 0.0])) is None
