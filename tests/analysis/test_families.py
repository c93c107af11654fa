"""Models of one family: the jackknife and the variance components against formulas and statsmodels."""

from __future__ import annotations

import math

import numpy as np
import pytest

from viva.analysis.correlation import KINDS, correlate
from viva.analysis.sizes.families import are_groups, family_scatter, jackknife
from viva.analysis.sizes.scaling import fit_curve, predict


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
    fit = fit_curve("log", (10 ** design[:, 1]).tolist(), scores.tolist(), families=[str(code) for code in codes])
    assert fit.families.within == pytest.approx(mixed.scale / 1e4, rel=0.05)
    assert fit.families.between == pytest.approx(float(mixed.cov_re[0, 0]) / 1e4, rel=0.05)


def test_families_that_have_nothing_in_common_leave_a_prediction_nearly_as_it_is() -> None:
    dice = np.random.default_rng(4)
    z = dice.uniform(0, 2, 60)
    scores = 0.3 + 0.2 * z + dice.normal(0, 0.03, 60)
    names = [str(number % 10) for number in range(60)]
    alone, grouped = (predict(fit_curve("log", 10**z, scores, families=given), 30.0) for given in ([], names))
    assert grouped.score == alone.score
    assert None not in (alone.low, alone.high, grouped.low, grouped.high)
    assert grouped.high - grouped.low == pytest.approx(alone.high - alone.low, rel=0.1)  # type: ignore[operator]


def test_too_few_families_leave_a_fit_as_it_is() -> None:
    sizes, scores = [1.0, 2, 4, 8, 16, 32], [0.2, 0.25, 0.31, 0.34, 0.41, 0.44]
    assert fit_curve("log", sizes, scores, families=list("aabbcc")) == fit_curve("log", sizes, scores)


def test_p_of_families_says_what_the_interval_says_and_less_than_of_models_on_their_own() -> None:
    """Of families of six, nine tenths of whose variance is the family's. How often each errs: `coverage.py --only
    families`."""
    dice, codes = np.random.default_rng(5), np.repeat(np.arange(8), 6)
    columns = {name: (3 * dice.normal(size=8)[codes] + dice.normal(size=48)).tolist() for name in "xy"}
    names = [str(number) for number in range(48)]
    alone, grouped = (correlate(names, columns, "x", "y", given) for given in ([], [str(code) for code in codes]))
    for kind in KINDS:
        p, low, high = ((one := grouped.of(kind)).p, one.low, one.high)
        assert None not in (p, low, high)
        assert (p <= 0.05) == (low > 0 or high < 0)  # type: ignore[operator]
        assert p > alone.of(kind).p  # type: ignore[operator]


def test_few_families_have_no_interval_and_no_p() -> None:
    families = ["a", "a", "b", "b", "c", "c"]
    pair = correlate(list("123456"), {"x": [1, 2, 3, 4, 5, 6], "y": [2, 1, 4, 3, 6, 5]}, "x", "y", families)
    assert pair.families == 3
    assert all((one.p, one.low, one.high) == (None, None, None) and one.value for one in pair.coefficients)
