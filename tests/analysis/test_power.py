"""Plans promise what simulations give, with the tests that `viva compare` decides by."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.analysis.power import (
    Discordance,
    Scatter,
    discordance,
    half_width,
    measured,
    measured_difference,
    power,
    questions_for_difference,
    questions_for_width,
    smallest_difference,
    with_difference,
)
from viva.analysis.signflip import sign_flip, sign_test

TIMES = 1200
BAND = (0.76, 0.84)


def test_the_promised_power_of_one_answer_each_is_that_of_mcnemars_test() -> None:
    random = np.random.default_rng(1)
    with table() as row:
        for score, difference, correlation in (
            (0.5, 0.10, 0.3), (0.7, 0.05, 0.5), (0.9, 0.05, 0.4), (0.7, 0.2, 0.2), (0.95, 0.04, 0.1), (0.5, 0.3, 0.0),
        ):  # fmt: skip
            with row((score, difference, correlation)):
                pair = discordance(score, difference, correlation)
                assert math.isclose(pair.difference, difference)
                needed = pair.questions_for(0.8)
                found = random.multinomial(needed, [pair.up, pair.down, 1 - pair.up - pair.down], size=TIMES)
                seen = np.mean([sign_test(int(up), int(down)) <= 0.05 for up, down, _ in found])
                assert BAND[0] <= seen <= BAND[1]
                assert pair.power(needed) == pytest.approx(seen, abs=0.04)


def answers(
    random: np.random.Generator, questions: int, samples: int, gap: float, clusters: int = 0
) -> list[np.ndarray]:
    """Two models' right answers, questions × samples: a difficulty that both share, one of their own, and chance."""
    if clusters:
        shared = np.repeat(random.normal(0, 1, clusters), questions // clusters)
        own = [np.repeat(random.normal(0, 0.7, clusters), questions // clusters) for _ in range(2)]
    else:
        shared, own = random.normal(0, 1, questions), [random.normal(0, 0.7, questions) for _ in range(2)]
    chances = [1 / (1 + np.exp(-(0.8 + shift + shared + mine))) for shift, mine in zip((0, gap), own, strict=True)]
    return [random.binomial(samples, chance) / samples for chance in chances]


@pytest.mark.slow
def test_the_promised_power_holds_for_several_answers_and_for_questions_that_belong_together() -> None:
    random = np.random.default_rng(2)
    with table() as row:
        for samples, clusters in ((2, 0), (8, 0), (4, 40)):
            with row((samples, clusters)):
                # What a large earlier run of both says.
                size = 40_000
                pilot = [random.binomial(1, each[:, None], (size, 2)) for each in answers(random, size, 10**6, 0.25)]
                means = tuple(each.mean(axis=1) for each in pilot)
                squares = tuple(((each - each.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for each in pilot)
                counts = np.full(size, 2.0)
                found = measured_difference((means[0], means[1]), (squares[0], squares[1]), (counts, counts))
                assert found.separated
                scatter = found.scatter
                if clusters:  # whole clusters of 5 are alike but for chance: five times the variance between
                    scatter = Scatter(between=5 * scatter.between, within=scatter.within)
                needed = questions_for_difference(scatter, found.mean, 0.8, samples)
                needed = -(-needed // 5) * 5 if clusters else needed
                hits = 0
                for _ in range(TIMES // 2):
                    first, second = answers(random, needed, samples, 0.25, needed // 5 if clusters else 0)
                    apart = second - first
                    if clusters:
                        apart = apart.reshape(-1, 5).sum(axis=1)
                    hits += sign_flip(apart, turns=500).p <= 0.05
                assert BAND[0] - 0.015 <= hits / (TIMES // 2) <= BAND[1] + 0.015  # twice the error of 600 draws


def test_clusters_raise_the_variance_by_what_they_share() -> None:
    random = np.random.default_rng(3)
    shared = np.repeat(random.normal(0, 1, 3000), 4)
    ones = np.ones(len(shared))
    with table() as row:
        for noise, factor in ((0.0, 4.0), (1.0, 2.5)):
            with row(noise):
                values = shared + random.normal(0, noise or 1e-9, len(shared))
                found = measured(values, 0 * ones, ones, np.arange(len(shared)) // 4)
                assert found.scatter.clustered == pytest.approx(factor, rel=0.08)


def test_scatter_is_separated_without_bias() -> None:
    random = np.random.default_rng(4)
    counts = random.integers(1, 5, 20_000).astype(float)
    chances = random.beta(2, 1, len(counts))
    rights = random.binomial(counts.astype(int), chances)
    means = rights / counts
    squares = rights * (1 - means) ** 2 + (counts - rights) * means**2
    found = measured(means, squares, counts)
    assert found.scatter.within == pytest.approx(float((chances * (1 - chances)).mean()), rel=0.05)
    assert found.scatter.between == pytest.approx(float(chances.var()), rel=0.06)


@given(
    st.floats(0.001, 0.25), st.floats(0, 0.25), st.floats(1, 5), st.integers(1, 50),
    st.floats(0.002, 0.3), st.floats(0.5, 0.99),
)  # fmt: skip
def test_questions_differences_and_power_agree(
    between: float, within: float, clustered: float, samples: int, difference: float, wanted: float
) -> None:
    scatter = Scatter(between=between, within=within, clustered=clustered)
    needed = questions_for_difference(scatter, difference, wanted, samples)
    assert power(scatter, difference, needed, samples) >= wanted - 1e-6
    if needed > 2:
        assert power(scatter, difference, needed - 1, samples) <= wanted + 1e-2
    assert smallest_difference(scatter, needed, wanted, samples) <= difference + 1e-9
    assert questions_for_difference(scatter, difference, wanted, samples + 1) <= needed
    wide = questions_for_width(scatter, difference, samples)
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
