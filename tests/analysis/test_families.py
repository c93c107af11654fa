"""Models of one family: the jackknife and the variance components against formulas, statsmodels, and simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viva.analysis.correlation import KINDS, correlate
from viva.analysis.families import are_groups, family_scatter, jackknife
from viva.analysis.scaling import fit_log, predict
from viva.analysis.segments import fit_segments


def test_families_are_groups_where_some_are_shared_and_there_are_four() -> None:
    assert are_groups(["a", "a", "b", "c", "d"])
    assert not are_groups(["a", "b", "c", "d"]), "each model is its own"
    assert not are_groups(["a", "a", "b", "c"])
    assert not are_groups([])


def test_the_jackknife_of_a_mean_of_equal_families_is_the_error_of_their_means() -> None:
    dice = np.random.default_rng(1)
    values = dice.normal(size=(7, 3))
    codes = np.repeat(np.arange(7), 3)
    found = jackknife(lambda kept: float(values.ravel()[kept].mean()), codes)
    assert found is not None
    assert found[0] == pytest.approx(values.mean(axis=1).std(ddof=1) / math.sqrt(7))
    assert found[1] == 5


def test_no_jackknife_of_too_few_families_or_where_one_cannot_be_spared() -> None:
    assert jackknife(lambda kept: 1.0, np.array([0, 0, 1, 2])) is None
    assert jackknife(lambda kept: None if kept.sum() < 5 else 1.0, np.array([0, 0, 1, 2, 3, 3])) is None


def test_variance_components_of_equal_families_are_those_of_the_analysis_of_variance() -> None:
    dice = np.random.default_rng(2)
    codes = np.repeat(np.arange(8), 5)
    scores = dice.normal(size=8)[codes] + dice.normal(size=40)
    found = family_scatter(np.ones((40, 1)), scores - scores.mean(), codes)
    assert found is not None
    groups = scores.reshape(8, 5)
    within = groups.var(axis=1, ddof=1).mean()
    assert found.within == pytest.approx(within)
    assert found.between == pytest.approx(groups.mean(axis=1).var(ddof=1) - within / 5)
    # Of a mean alone, the error is that of the families' means, with one degree of freedom less for safety.
    assert found.covariance[0, 0] == pytest.approx(groups.mean(axis=1).var(ddof=1) / 8)


def test_components_of_a_line_are_near_those_of_a_mixed_model_of_statsmodels() -> None:
    import statsmodels.api as sm

    dice = np.random.default_rng(3)
    codes = np.repeat(np.arange(40), 6)
    design = sm.add_constant(dice.uniform(0, 2, 240))
    scores = design @ [0.3, 0.2] + 0.05 * dice.normal(size=40)[codes] + 0.03 * dice.normal(size=240)
    mixed = sm.MixedLM(100 * scores, design, groups=codes).fit(reml=True)
    fit = fit_log((10 ** design[:, 1]).tolist(), scores.tolist(), families=[str(code) for code in codes])
    assert fit.families is not None
    assert fit.families.within == pytest.approx(mixed.scale / 1e4, rel=0.05)
    assert fit.families.between == pytest.approx(float(mixed.cov_re[0, 0]) / 1e4, rel=0.05)


def test_families_that_have_nothing_in_common_leave_a_prediction_nearly_as_it_is() -> None:
    dice = np.random.default_rng(4)
    z = dice.uniform(0, 2, 60)
    scores = 0.3 + 0.2 * z + dice.normal(0, 0.03, 60)
    names = [str(number % 10) for number in range(60)]
    alone, grouped = (predict(fit_log(10**z, scores, families=given), 30.0) for given in ([], names))
    assert grouped.score == alone.score
    assert None not in (alone.low, alone.high, grouped.low, grouped.high)
    assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=0.1)  # type: ignore[operator]


def test_too_few_families_leave_a_fit_as_it_is() -> None:
    sizes, scores = [1.0, 2, 4, 8, 16, 32], [0.2, 0.25, 0.31, 0.34, 0.41, 0.44]
    assert fit_log(sizes, scores, families=list("aabbcc")) == fit_log(sizes, scores)


def _alike(dice: np.random.Generator, families: int) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Families of six models, nine tenths of whose variance is the family's; two figures that have no association."""
    codes = np.repeat(np.arange(families), 6)
    parts = [math.sqrt(0.9) * dice.normal(size=families)[codes] + math.sqrt(0.1) * dice.normal(size=6 * families)
             for _ in range(2)]  # fmt: skip
    return [str(code) for code in codes], parts[0], parts[1]


@pytest.mark.parametrize("rounds", [10, pytest.param(150, marks=pytest.mark.slow)])
def test_families_of_six_do_not_make_an_association(rounds: int) -> None:
    """`performance/nulltests.py` has more sets and designs."""
    dice = np.random.default_rng(5)
    found = {kind: [0, 0] for kind in KINDS}
    for _ in range(rounds):
        families, first, second = _alike(dice, 8)
        columns = {"x": first.tolist(), "y": second.tolist()}
        names = [str(number) for number in range(len(families))]
        for place, given in enumerate(([], families)):
            pair = correlate(names, columns, "x", "y", given)
            for kind in KINDS:
                one = pair.of(kind)
                assert one.p is not None
                assert one.low is not None
                assert one.high is not None
                assert (one.p <= 0.05) == (one.low > 0 or one.high < 0) or not given, "p and interval say the same"
                found[kind][place] += one.p <= 0.05
    for kind, (naive, grouped) in found.items():
        assert naive / rounds > 0.25, kind
        assert grouped / rounds <= 0.06 + 2 * math.sqrt(0.05 * 0.95 / rounds), kind


def test_few_families_have_no_interval_and_no_p() -> None:
    families = ["a", "a", "b", "b", "c", "c"]
    pair = correlate(list("123456"), {"x": [1, 2, 3, 4, 5, 6], "y": [2, 1, 4, 3, 6, 5]}, "x", "y", families)
    assert pair.families == 3
    assert all((one.p, one.low, one.high) == (None, None, None) and one.value for one in pair.coefficients)


def test_the_profile_of_a_break_allows_for_families() -> None:
    """Ten families of six; `performance/coverage.py --only families` has more sets and designs."""
    dice, rounds, alone, grouped = np.random.default_rng(7), 60, 0, 0
    for _ in range(rounds):
        codes = np.repeat(np.arange(10), 6)
        z = dice.uniform(0, 1.5, 10)[codes] + dice.uniform(0, 0.5, 60)
        off = 0.03 * (math.sqrt(0.9) * dice.normal(size=10)[codes] + math.sqrt(0.1) * dice.normal(size=60))
        scores = 0.3 + 0.3 * z - 0.3 * np.maximum(z - 1, 0) + off
        by_family = fit_segments(10**z, scores, families=[str(code) for code in codes], draws=9, resamples=1)
        by_model = fit_segments(10**z, scores, draws=9, resamples=1)
        assert by_family.at == by_model.at, "the break itself is least squares'"
        alone += by_model.low <= 10 <= by_model.high
        grouped += by_family.low <= 10 <= by_family.high
    assert grouped / rounds >= 0.85
    assert alone / rounds <= 0.8


def test_families_in_their_own_ranges_of_sizes_do_not_make_a_break() -> None:
    dice, rounds, naive, grouped = np.random.default_rng(6), 40, 0, 0
    for _ in range(rounds):
        codes = np.repeat(np.arange(6), 6)
        z = dice.uniform(0, 1.5, 6)[codes] + dice.uniform(0, 0.5, 36)
        scores = 0.3 + 0.2 * z + 0.05 * (math.sqrt(0.9) * dice.normal(size=6)[codes] + 0.3 * dice.normal(size=36))
        given = [str(code) for code in codes]
        naive += fit_segments(10**z, scores, draws=199, resamples=1).p <= 0.05
        grouped += fit_segments(10**z, scores, families=given, draws=199, resamples=1).p <= 0.05
    assert naive >= 5
    assert grouped <= 5
