"""The sign-flip test: SciPy and hand arithmetic as judges, and that every way of computing it tests the same."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis import signflip
from viva.analysis.signflip import sign_flip, sign_test

SMALL = st.lists(st.sampled_from([-1.0, -0.6, -0.5, -0.1, 0.0, 0.2, 0.5, 1.0]), min_size=1, max_size=8)


def by_hand(values: list[float]) -> float:
    """All 2^n signs, in whole tenths."""
    exact = [round(10 * value) for value in values]
    observed = abs(sum(exact))
    sums = [abs(sum(signs)) for signs in itertools.product(*((value, -value) for value in exact))]
    return sum(one >= observed for one in sums) / len(sums)


@given(SMALL)
def test_the_exact_ways_equal_counting_all_signs(values: list[float]):
    found = sign_flip(values)
    assert found.p == pytest.approx(by_hand(values), abs=1e-12)
    assert found.resolution is None


@given(SMALL, st.floats(0.001, 1000))
def test_neither_the_unit_nor_the_direction_matters(values: list[float], unit: float):
    p = sign_flip(values).p
    assert sign_flip([value * unit for value in values]).p == pytest.approx(p, abs=1e-9)
    assert sign_flip([-value for value in values]).p == pytest.approx(p, abs=1e-12)


def test_scipy_finds_the_same_of_numbers_on_no_grid():
    from scipy import stats

    values = np.random.default_rng(3).normal(0.4, 1, size=13)
    expected = stats.permutation_test(
        (values,), np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True
    )
    assert sign_flip(values).p == pytest.approx(expected.pvalue)


def test_darwin_s_maize_as_fisher_worked_it_out():
    # Fisher (1935, section 21): fifteen pairs of plants in eighths of an inch; of 32,768 ways to sign them, 863 reach
    # the observed sum in one direction, so 1,726 in both.
    eighths = [49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48]
    found = sign_flip(eighths)
    assert found.p == pytest.approx(1726 / 32768)
    assert found.name == "permutation, exact"
    shifted = [value + 1e-4 * np.sin(place) for place, value in enumerate(eighths)]  # on no grid any more
    assert sign_flip(shifted).p == pytest.approx(1726 / 32768, abs=2e-3)


def test_one_size_of_difference_makes_it_the_binomial_sign_test():
    from scipy import stats

    found = sign_flip([0.01] * 14 + [-0.01] * 3 + [0.0] * 80)
    assert found.p == pytest.approx(stats.binomtest(3, 17).pvalue)
    assert found.name == "sign, exact"
    assert sign_test(0, 0) == 1.0
    assert sign_test(5, 5) == 1.0


def test_random_turns_come_near_the_exact_p_and_say_how_fine_they_are():
    values = np.random.default_rng(5).choice([0.1, -0.3, 0.4, 0.2], size=60)
    exact = sign_flip(values)
    assert exact.name == "permutation, exact"
    jittered = values + np.random.default_rng(6).normal(0, 1e-6, size=60)
    rough = sign_flip(jittered)
    assert rough.name == "permutation, random"
    assert rough.resolution == pytest.approx(1e-5)
    assert rough.p == pytest.approx(exact.p, abs=4 * (exact.p * (1 - exact.p) / 99_999) ** 0.5 + 1e-3)
    assert sign_flip(jittered) == rough, "the same seed gives the same p"
    assert sign_flip(jittered, seed=1) != rough


def test_p_is_never_nothing():
    certain = sign_flip(np.random.default_rng(1).normal(5, 1, size=200))
    assert certain.p == certain.resolution == pytest.approx(1e-5)
    assert sign_flip(np.full(2000, 0.1)).p >= 0.0
    assert sign_flip([0.0, 0.0]).p == sign_flip([]).p == 1.0


def test_many_of_one_size_are_drawn_as_one_number_and_give_the_same_law():
    sizes = np.array([1.0] * 30 + [np.pi] * 12 + [np.e, 0.7, 0.33])
    sums = signflip._random_sums(sizes, 40_000, seed=2)
    assert sums.mean() == pytest.approx(0, abs=4 * float(np.sqrt((sizes**2).sum() / 40_000)))
    assert sums.var() == pytest.approx(float((sizes**2).sum()), rel=0.05)


def test_it_keeps_its_level():
    generator = np.random.default_rng(11)
    found = [sign_flip(generator.standard_t(3, size=10)).p for _ in range(800)]
    for level in (0.01, 0.05, 0.2):
        share = np.mean(np.array(found) <= level)
        assert share <= level + 3 * (level * (1 - level) / 800) ** 0.5
        assert share >= level - 4 * (level * (1 - level) / 800) ** 0.5
