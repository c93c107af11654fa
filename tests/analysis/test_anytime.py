"""The anytime-valid test: its closed form, its interval, and its level when checked after every question."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import betaln

from viva.analysis.comparing import LIMIT, PRIOR, anytime


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
