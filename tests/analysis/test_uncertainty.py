"""Intervals against SciPy and hand calculations, and exactly for few right answers; quantiles against SciPy's."""

import itertools
import math
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from analysis.answers import cell, graded, row
from rows import each_row, table
from viva.analysis.estimate import Spread
from viva.analysis.uncertainty import (
    adjusted_wald,
    gamma_quantile,
    mean_variance,
    share_interval,
    standard_deviation,
    t_quantile,
    wilson,
    zero_one_interval,
)
from viva.types import Aggregate, ScoreRow

MICRO, MACRO = Aggregate("micro"), Aggregate("macro", over="subject")


@given(data=st.data(), n=st.integers(1, 5000))
def test_wilsons_interval_is_scipys(data: st.DataObject, n: int) -> None:
    import scipy.stats

    right = data.draw(st.integers(0, n))
    for ours, some in ((wilson(right, n), right), (wilson(0, n), 0), (wilson(n, n), n)):
        theirs = scipy.stats.binomtest(some, n).proportion_ci(confidence_level=0.95, method="wilson")
        assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    assert wilson(0, 0) is None


def wilson_of(mean: float, variance: float, n: int, degrees: float) -> tuple[float, float]:
    """The interval as its definition has it, by solving |mean − p| = t·√(p(1 − p)/n_eff) for p."""
    import numpy as np
    import scipy.stats

    shrunk = (n * mean + 0.5) / (n + 1)
    effective = shrunk * (1 - shrunk) / ((variance * n * (n - 1) + 2 * n * (mean - 0.5) ** 2 / (n + 1)) / n**2)
    t = float(scipy.stats.t.ppf(0.975, degrees))
    low, high = sorted(np.roots([1 + t**2 / effective, -(2 * mean + t**2 / effective), mean**2]).real)
    return extended(mean, effective, low, high)


def extended(mean: float, n: float, low: float, high: float) -> tuple[float, float]:
    """Wilson's limits, and Poisson's towards the nearer end for up to ten right or wrong ones."""
    import scipy.stats

    rare = min(mean, 1 - mean) * n
    limit = float(scipy.stats.chi2.ppf(0.05, 2 * rare)) / 2 / n if 0 < rare <= 10 else 0.0 if rare == 0 else 1.0
    if mean < 0.5:
        low = min(low, limit)
    if mean > 0.5:
        high = max(high, 1 - limit)
    return max(0.0, low), min(1.0, high)


@given(values=st.lists(st.integers(0, 20).map(lambda tenths: tenths / 20), min_size=2, max_size=60))
def test_the_interval_of_shares_is_wilsons_for_the_effective_number_of_questions(values: list[float]) -> None:
    mean, n = statistics.fmean(values), len(values)
    variance = statistics.variance(values) / n
    assert mean_variance(sum((value - mean) ** 2 for value in values), n, n) == pytest.approx(variance)
    low, high = share_interval(mean, variance, n, n - 1)
    assert 0.0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1.0
    if variance > 1e-9:
        assert (low, high) == pytest.approx(wilson_of(mean, variance, n, n - 1), abs=1e-6)


def test_the_interval_of_scores_below_zero_is_the_t_interval_and_ends_at_1() -> None:
    def interval(mean: float) -> tuple[float, float]:
        spread = Spread(mean=mean, variance=0.04**2, worth=12, degrees=11, scale="below zero")
        return spread.interval() or (0.0, 0.0)

    assert interval(0.1) == pytest.approx((0.1 - 2.200985160 * 0.04, 0.1 + 2.200985160 * 0.04))
    assert interval(0.99)[1] == 1.0
    assert interval(-4.0)[0] < -4.0, "points taken away know no limit"


def test_the_adjusted_wald_interval_is_of_two_more_differences() -> None:
    values = [0.5, -0.25, 0.0, 0.0, 1.0, 0.0]
    found = adjusted_wald(statistics.fmean(values), statistics.stdev(values) / 6**0.5, 6, 5)
    more = [*values, 1.0, -1.0]
    error = statistics.pstdev(more) / 8**0.5
    assert (found.centre, found.error) == pytest.approx((statistics.fmean(more), error))
    half = 2.570581836 * error
    assert found.interval == pytest.approx((max(-1.0, found.centre - half), min(1.0, found.centre + half)))


def test_the_clustered_interval_by_hand() -> None:
    """Twelve questions, answered 3, 2 or 1 times; residual sums per question around the mean of all 24 answers."""
    answers = [[1, 1, 1], [0, 0, 0], [1, 0, 1], [1, 1], [0, 1], [0, 0], [1], [1], [0], [1, 1, 1], [0, 0], [1]]
    total = sum(map(len, answers))
    mean = sum(map(sum, answers)) / total
    squares = sum((sum(each) - mean * len(each)) ** 2 for each in answers)
    variance = 12 / 11 * squares / total**2
    rows = [
        graded(question, value, sample=sample)
        for question, each in enumerate(answers)
        for sample, value in enumerate(each)
    ]
    found = cell(rows)
    assert found.mean == pytest.approx(mean)
    assert (found.low, found.high) == pytest.approx(wilson_of(mean, variance, 12, 11))
    assert cell([row(n, "right", cluster="one") for n in range(9)]).low == cell([row(0, "right")]).low, "one, as 1"


def grouped(groups: dict[str, list[float]], samples: int = 1) -> list[ScoreRow]:
    """Rows of several subjects, every answer `samples` times."""
    return [
        graded(f"{name}/{number}", value, sample=sample, tags={"subject": name})
        for name, values in groups.items()
        for number, value in enumerate(values)
        for sample in range(samples)
    ]


GROUPS: dict[str, list[float]] = {"law": [1, 1, 0, 1], "arts": [0, 1], "logic": [1, 0, 0, 0, 1, 1, 1, 0, 1, 1]}


def test_the_macro_average_and_its_interval_by_hand() -> None:
    """(3/4 + 1/2 + 6/10) / 3. Law and arts are small: four degrees of freedom are too few, so all 13 are pooled."""
    found = cell(grouped(GROUPS), MACRO)
    assert found.mean == pytest.approx((0.75 + 0.5 + 0.6) / 3)
    within = (0.75 + 0.5 + 2.4) / (3 + 1 + 9)
    large, small = 2.4 / 9 / 10 / 9, within * (1 / 4 + 1 / 2) / 9
    degrees = (large + small) ** 2 / (large**2 / 9 + small**2 / 13)
    worth = 9 / (1 / 4 + 1 / 2 + 1 / 10)
    assert (found.low, found.high) == pytest.approx(share_interval(found.mean, large + small, worth, degrees))


def test_a_subject_of_one_question_takes_its_spread_from_the_others() -> None:
    found = cell(grouped({"law": [1, 0, 1, 1, 0, 1], "arts": [1]}), MACRO)
    assert found.mean == pytest.approx((4 / 6 + 1) / 2)
    assert found.low < 0.6
    single = cell(grouped({"law": [1], "arts": [0], "logic": [1], "art": [0]}), MACRO)
    assert (single.low, single.high) == pytest.approx(share_interval(0.5, 1 / 3 / 4, 4, 3))
    hardly = cell(grouped({"law": [1, 0] * 50, **{f"art {number}": [1] for number in range(7)}}), MACRO)
    assert (hardly.low, hardly.high) == pytest.approx(share_interval(0.9375, 1 / 256, 64 / 7.01, 7))
    alone = grouped({"law": [0.5]})
    assert (cell(alone, MACRO).low, cell(alone, MACRO).high) == (cell(alone).low, cell(alone).high)


# Asking again is not new evidence

ALIKE = ({"law": [1.0] * 6, "arts": [1.0] * 4}, {"law": [0.0] * 6, "arts": [0.0] * 4}, GROUPS)


@each_row(*itertools.product(ALIKE, (MICRO, MACRO)))
def test_the_same_answer_five_times_does_not_narrow_the_interval(
    groups: dict[str, list[float]], line: Aggregate
) -> None:
    once, often = cell(grouped(groups), line), cell(grouped(groups, samples=5), line)
    assert often.mean == pytest.approx(once.mean)
    assert often.high - often.low >= 0.99 * (once.high - once.low)


@each_row(*itertools.product((1.0, 0.0, 0.9, 0.25), (MICRO, MACRO)))
def test_eight_equal_scores_are_no_certainty(value: float, line: Aggregate) -> None:
    found = cell(grouped({"law": [value] * 4, "arts": [value] * 4}), line)
    assert found.high - found.low > 0.01


# Coverage


def test_few_right_answers_are_covered_whatever_the_truth() -> None:
    """Exactly, by the binomial distribution. Wilson's held 84 % where a sixth of a right answer is expected."""
    import scipy.stats

    truths = np.geomspace(1e-4, 0.5, 2000)
    with table() as case:
        for n, least in [(10, 0.919), (20, 0.926), (59, 0.93), (100, 0.93), (1000, 0.93)]:
            with case(n):
                limits = [zero_one_interval(right, n) or (0.0, 0.0) for right in range(n + 1)]
                held = np.array([(low <= truths) & (truths <= high) for low, high in limits])
                chances = scipy.stats.binom.pmf(np.arange(n + 1)[:, None], n, truths)
                assert float((chances * held).sum(axis=0).min()) >= least


# Standard deviation


@given(values=st.lists(st.floats(0, 1), min_size=2, max_size=20))
def test_the_standard_deviation_is_the_samples(values: list[float]) -> None:
    assert standard_deviation(values) == pytest.approx(statistics.stdev(values), abs=1e-9)
    assert standard_deviation([]) is standard_deviation([0.5]) is None


LEVELS = st.sampled_from([0.5, 0.9, 0.95, 0.99, 0.999, 0.99999])


@given(degrees=st.floats(1, 1e7) | st.floats(1, 60) | st.integers(1, 1200), level=LEVELS)
def test_students_t_is_scipys(degrees: float, level: float) -> None:
    assert t_quantile(float(degrees), level) == pytest.approx(special.stdtrit(degrees, 0.5 + level / 2), rel=1e-10)


@given(shape=st.floats(1e-6, 40), probability=st.sampled_from([1e-6, 0.001, 0.05, 0.5, 0.95]))
def test_the_gamma_distribution_is_scipys(shape: float, probability: float) -> None:
    assert gamma_quantile(shape, probability) == pytest.approx(special.gammaincinv(shape, probability), rel=1e-9)


def test_the_edges() -> None:
    assert math.isnan(t_quantile(0.0, 0.95))
    assert t_quantile(1.0, 0.95) == pytest.approx(math.tan(0.475 * math.pi))
    assert t_quantile(999.999, 0.95) == pytest.approx(t_quantile(1000.0, 0.95), rel=1e-7)
    for shape in (0.3, 4.0, 30.0):  # where rounding is larger than a step
        assert gamma_quantile(shape, 1 - 1e-12) == pytest.approx(special.gammaincinv(shape, 1 - 1e-12), rel=1e-3)
    assert t_quantile(0.5, 0.95) == pytest.approx(special.stdtrit(0.5, 0.975), rel=1e-9)
