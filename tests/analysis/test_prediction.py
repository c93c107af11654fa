"""Prediction-powered means: by hand and by their definition, the two readings, strata, clusters, and planning."""

import itertools
import math
from collections.abc import Collection, Sequence
from typing import Any, get_args

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rows import each_row
from viva.analysis.raters.prediction import Powered, Reading, labels_needed, powered

READINGS: tuple[Reading, ...] = get_args(Reading)


def sample(answers: int, labels: int, seed: int = 0) -> tuple[list[float | None], list[float | None]]:
    generator = np.random.default_rng(seed)
    marks = (generator.random(answers) < 0.6).astype(float)
    verdicts = np.where(generator.random(answers) < 0.15, 1.0, marks)
    return verdicts.tolist(), [*marks[:labels].tolist(), *[None] * (answers - labels)]


def whole(found: Powered) -> Any:
    assert found.combined is not None, found.reason
    return found


def test_disagreements_are_reckoned_with_before_one_is_seen() -> None:
    """30 labels that all agree do not tell whether the judge errs in 1 % or in 10: three may, of two marks 1 apart."""
    verdicts = [float(place % 5 < 3) for place in range(600)]
    low, high = whole(powered(verdicts, [*verdicts[:30], *[None] * 570])).combined.run
    assert (high - low) / 2 == pytest.approx(2.05 * math.sqrt((1 / 30 - 1 / 600) * 3 / 30), rel=0.01)


def test_it_is_ppi_plus_plus() -> None:
    """ppi-python 0.2.3 (`ppi_mean_pointestimate`, `ppi_mean_ci`, power-tuned) on these gives 0.6278 [0.536, 0.720].

    Its slope divides by the variance of all verdicts, ours by that of the labelled ones; and it takes 1.96 where this
    takes Student's t and reckons with rare disagreements, so that ours is a little wider.
    """
    marks = bits("00011010011111110000110111100111110111011010001110111111010100011111010100100011101100111110111011110011011011001010011010010111110111010110011010111010000011111001011010100111000100010111111111101101")  # noqa: E501  # fmt: skip
    verdicts = bits("00011110011111110010110111100111111111011010101110111111110110111111010100101011101101111111111011110111011011001010011011010111110111010111011010111011101111111001011011110111000110010111111111111101")  # noqa: E501  # fmt: skip
    found = whole(powered(verdicts, [*marks[:50], *[None] * 150]))
    assert found.combined.value == pytest.approx(0.6278, abs=0.01)
    low, high = found.combined.questions
    assert low == pytest.approx(0.5356, abs=0.02)
    assert high == pytest.approx(0.7201, abs=0.02)
    assert high - low > 0.1844


def bits(text: str) -> list[float]:
    return [float(digit) for digit in text]


def test_the_mean_of_all_draws_of_labels_is_the_truth() -> None:
    """All 84 ways to label three of nine answers, and all 60 to label two of each stratum."""
    draw = np.random.default_rng(5)
    marks = draw.choice([0.0, 0.5, 1.0], 9).tolist()
    verdicts = [min(1.0, mark + float(draw.choice([0.0, 0.0, 0.5]))) for mark in marks]
    halves = ["a"] * 4 + ["b"] * 5

    def estimate(labelled: Collection[int], strata: Sequence[str] = ()) -> float:
        given = [mark if n in labelled else None for n, mark in enumerate(marks)]
        return whole(powered(verdicts, given, strata=strata, bounds=(-9, 9))).combined.value

    truth = np.mean(marks)
    assert np.mean([estimate(three) for three in itertools.combinations(range(9), 3)]) == pytest.approx(truth)
    pairs = itertools.product(itertools.combinations(range(4), 2), itertools.combinations(range(4, 9), 2))
    assert np.mean([estimate((*one, *two), halves) for one, two in pairs]) == pytest.approx(truth)


def test_by_hand() -> None:
    """Five answers, three labels: slope 0.5/1 within labels, so λ = 0.5, and e = 0.5, 0, 0."""
    found = whole(powered([1.0, 0.0, 1.0, 0.0, 1.0], [1.0, 0.0, 0.5, None, None], bounds=(-9, 9)))
    # Y = 1, 0, ½ and f = 1, 0, 1: Σ(Y-Ȳ)(f-f̄) = ½, Σ(f-f̄)² = ⅔.
    assert found.power == pytest.approx(0.75)
    # Each with the slope of the other two: ½; none, as both have f = 1; 1. Ȳ less Σ λ ((M - n) f - 1) / (M n).
    assert found.combined.value == pytest.approx(0.5 - (0.5 * 1 + 0 * -1 + 1 * 1) / 15)
    assert found.labels_alone.value == pytest.approx(0.5)
    assert found.judge == pytest.approx(0.6)


def test_one_stratum_is_none() -> None:
    verdicts, marks = sample(100, 30)
    assert powered(verdicts, marks, strata=["all"] * 100) == powered(verdicts, marks)
    assert powered(verdicts, marks, questions=[str(index) for index in range(100)]) == powered(verdicts, marks)


def test_several_answers_to_a_question_count_as_one() -> None:
    """Each answer six times, whole questions labelled: the estimate and its intervals are those of one answer each."""
    verdicts, marks = sample(100, 40, seed=6)
    once = whole(powered(verdicts, marks))
    often = [[one for one in values for _ in range(6)] for values in (verdicts, marks)]
    alike, naive = (powered(*often, questions=names) for names in ([str(place // 6) for place in range(600)], []))
    for reading in READINGS:
        assert whole(alike).combined.interval(reading) == pytest.approx(once.combined.interval(reading), rel=0.05)
        low, high = whole(naive).combined.interval(reading)
        assert high - low < 0.6 * (once.combined.interval(reading)[1] - once.combined.interval(reading)[0])


@each_row(
    ([], [], (), "no verdict"),
    ([1.0], [None], (), "it takes 3 labels; there are 0"),
    ([1.0, 0.0], [1.0, None], (), "there is one"),
    ([1.0, 0.0, 1.0], [1.0, 0.0, None], (), "it takes 3 labels; there are 2"),
    ([1.0] * 4, [1.0, 0.0, 1.0, None], ("a", "a", "b", "b"), "stratum 'b' has 1 label of 2 answers"),
)
def test_too_little_to_say_anything(verdicts: Any, marks: Any, strata: Any, said: str) -> None:
    found = powered(verdicts, marks, strata=strata)
    assert said in found.reason
    assert found.combined is None


UNIT = st.one_of(st.sampled_from([0.0, 0.5, 1.0]), st.floats(0, 1))


@example([(None, 0.0), (0.0, None), (0.5, 6.1e-159)])
@settings(max_examples=3 * settings.default.max_examples)
@given(st.lists(st.tuples(st.one_of(st.none(), UNIT), st.one_of(st.none(), UNIT)), max_size=25))
def test_any_sample(rows: list[tuple[float | None, float | None]]) -> None:
    found = powered([verdict for verdict, _ in rows], [mark for _, mark in rows])
    assert (found.combined is None) == bool(found.reason)
    if found.combined is None or found.labels_alone is None:
        return
    assert 0 <= found.power <= 1
    assert 0 < found.effective <= len(rows) + 1e-6
    for estimate in (found.combined, found.labels_alone):
        for reading in READINGS:
            low, high = estimate.interval(reading)
            assert 0 <= low <= high + 1e-12
            assert high <= 1


def test_the_plan_is_what_the_interval_becomes() -> None:
    planned = labels_needed(0.08, 600, variance=0.24, correlation=0.7)
    generator, widths = np.random.default_rng(8), []
    for _ in range(30):
        marks = (generator.random(600) < 0.6).astype(float)
        verdicts = np.where(generator.random(600) < 0.15, 1 - marks, marks)  # correlation 0.7
        found = whole(powered(verdicts.tolist(), [*marks[:planned].tolist(), *[None] * (600 - planned)]))
        widths.append(np.ptp(found.combined.questions) / 2)
    assert np.mean(widths) == pytest.approx(0.08, rel=0.05)


def test_planning() -> None:
    alone = labels_needed(0.05, 1000, reading="run")
    helped = labels_needed(0.05, 1000, correlation=0.8, reading="run")
    assert helped < alone / 1.8
    assert labels_needed(0.05, 10**9) == pytest.approx(1.96**2 * 0.25 / 0.05**2, abs=4), "the textbook's 385"
    assert labels_needed(1e-9, 50, reading="run") == 50, "all of them, and then it is known"
    assert labels_needed(0.01, 1000) is None, "a thousand questions never tell that much of all questions"
    assert labels_needed(50, 1) == 1
    assert labels_needed(0.3, 1000, variance=0.0) == 2, "of one label there is no interval"
    for bad in ((0.0, 10), (math.nan, 10), (0.1, 0)):
        with pytest.raises(ValueError, match="half-width"):
            labels_needed(*bad)
