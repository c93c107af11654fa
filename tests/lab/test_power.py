"""Planned power equals simulated power, with the tests that `viva compare` uses."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import tabled
from viva.analysis.comparing import sign_test
from viva.lab.planning.power import (
    Clusters,
    Discordance,
    Scatter,
    discordance,
    half_width,
    measured,
    power,
    questions_for_difference,
    questions_for_width,
    smallest_difference,
    with_difference,
)

TIMES = 1200
BAND = (0.76, 0.84)


def test_the_promised_power_of_one_answer_each_is_that_of_mcnemars_test() -> None:
    random = np.random.default_rng(1)
    for (score, difference, correlation), row in tabled(
            (0.5, 0.10, 0.3), (0.7, 0.05, 0.5), (0.9, 0.05, 0.4), (0.7, 0.2, 0.2), (0.95, 0.04, 0.1), (0.5, 0.3, 0.0),
        ):  # fmt: skip
        with row:
            pair = discordance(score, difference, correlation)
            assert math.isclose(pair.difference, difference)
            needed = pair.questions_for(0.8)
            found = random.multinomial(needed, [pair.up, pair.down, 1 - pair.up - pair.down], size=TIMES)
            seen = np.mean([sign_test(int(up), int(down)) <= 0.05 for up, down, _ in found])
            assert BAND[0] <= seen <= BAND[1]
            assert pair.power(needed) == pytest.approx(seen, abs=0.04)


def test_the_power_of_clusters_is_that_of_students_t() -> None:
    from scipy.stats import ttest_1samp

    random = np.random.default_rng(7)
    for (number, size, errors), row in tabled((2, 50, 8.1), (2, 50, 31.0), (8, 20, 2.8), (14, 7, 2.8), (40, 3, 2.8)):
        with row:
            scatter = Scatter(between=0.35, within=0.0, shared=0.05, clusters=Clusters.of_size(size))
            gap = errors * scatter.error(number * size)
            means = gap + random.normal(0, 1, (40_000, number)) * scatter.error(number * size) * number**0.5
            seen = ttest_1samp(means, 0, axis=1).pvalue <= 0.05
            assert power(scatter, gap, number * size) == pytest.approx(seen.mean(), abs=0.01)
    one = Scatter(between=0.25, within=0.0, clusters=Clusters.so_many(1))
    assert power(one, 0.9, 10_000) == 0.0, "one cluster tells nothing of others"
    assert smallest_difference(one, 10_000, 0.8) is None
    assert questions_for_difference(one, 0.9, 0.8) is None
    assert half_width(Scatter(between=0.25, within=0.0, clusters=Clusters.of_size(50)), 40) == math.inf


def test_what_clusters_share_is_measured() -> None:
    random = np.random.default_rng(3)
    sizes = random.integers(1, 9, 3000)
    numbered = np.repeat(np.arange(3000), sizes)
    shared = random.normal(0, 1, 3000)[numbered]
    ones = np.ones(len(shared))
    for noise, row in tabled(0.0, 0.3, 1.0):
        with row:
            values = shared + random.normal(0, noise or 1e-9, len(shared))
            found = measured(values, 0 * ones, ones, numbered).scatter
            assert found.shared == pytest.approx(1.0, rel=0.08)
            assert found.between == pytest.approx(1.0 + noise**2, rel=0.08)
    alone = measured(shared, 0 * ones, ones, np.arange(len(shared))).scatter
    assert (alone.shared, alone.error(500)) == (0.0, measured(shared, 0 * ones, ones).scatter.error(500))


@given(
    st.floats(0.001, 0.25), st.floats(0, 0.25), st.floats(0, 1), st.integers(1, 50), st.integers(1, 50),
    st.floats(0.002, 0.3), st.floats(0.5, 0.99),
)  # fmt: skip
def test_questions_differences_and_power_agree(
    between: float, within: float, icc: float, size: int, samples: int, difference: float, wanted: float
) -> None:
    for clusters in (None, Clusters.of_size(size)):
        scatter = Scatter(between=between, within=within, shared=icc * between, clusters=clusters)
        needed = questions_for_difference(scatter, difference, wanted, samples)
        assert needed
        assert power(scatter, difference, needed, samples) >= wanted - 1e-6
        least = 2 if clusters is None else 6 * size  # of fewer clusters none is found
        if needed > least:
            assert power(scatter, difference, needed - 1, samples) <= wanted + 1e-2
        smallest = smallest_difference(scatter, needed, wanted, samples)
        assert smallest <= difference + 1e-5
        more = questions_for_difference(scatter, difference, wanted, samples + 1)
        assert more
        assert more <= needed
        wide = questions_for_width(scatter, difference, samples)
        assert wide
        assert 2 * half_width(scatter, wide, samples) <= difference + 1e-9


@given(st.floats(0.0, 1.0), st.floats(0.001, 0.999), st.floats(0.0, 1.0))
def test_two_models_are_always_so_far_apart_and_possible(score: float, difference: float, correlation: float) -> None:
    for found in (
        discordance(score, difference, correlation),
        with_difference(Scatter(between=correlation, within=0.0), difference),
    ):
        assert found.difference == pytest.approx(difference)
        assert min(found.up, found.down) >= -1e-12
        assert found.up + found.down <= 1 + 1e-12


def test_where_nobody_differs_nothing_is_found() -> None:
    assert Discordance(0.0, 0.0).power(50) == 0.0
