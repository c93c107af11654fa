"""Curves over size, against figures of papers, other optimisers and statsmodels; families; sizes that reach a score."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import each_row, table
from viva.analysis.correlation import KINDS, correlate
from viva.analysis.sizes.breakpoint import bend, fit_segments
from viva.analysis.sizes.families import are_groups, family_scatter, jackknife
from viva.analysis.sizes.scaling import (
    Fit,
    Kind,
    curve,
    family_curve,
    fit_curve,
    gradient,
    predict,
)
from viva.analysis.sizes.scalinggroups import FURTHEST, reach
from viva.errors import DataError

QWEN = ([7, 14, 32, 72], [0.5105, 0.5783, 0.6245, 0.6531])
LLAMA = ([7, 13], [0.4108, 0.4554])


def test_two_points_determine_two_parameters_and_leave_nothing_to_judge_them_by() -> None:
    fit = fit_curve("family", *LLAMA)
    assert fit.sse < 1e-20
    said = predict(fit, 70)
    assert (said.low, said.high, said.basis) == (None, None, "nothing")
    assert said.beyond == pytest.approx(70 / 13)
    known = predict(fit_curve("family", *LLAMA, [s * (1 - s) / 2183 for s in LLAMA[1]]), 70)
    assert known.basis == "questions"
    assert known.low < 0.5252 < known.high, "the measured score is within what the sampling of questions allows"


@pytest.mark.parametrize("kind", ["family", "log", "segments", "logistic", "power"])
def test_gradients_are_those_of_finite_differences(kind: str) -> None:
    logged = {"family": (0, 1), "log": (), "segments": (3,), "logistic": (), "power": (2,)}[kind]
    parameters = {
        "family": (0.38, 2.2), "log": (0.4, 0.14), "segments": (0.3, 0.2, 0.05, 20.0), "logistic": (-1.2, 1.1),
        "power": (0.75, 0.45, 0.5),
    }[kind]  # fmt: skip
    bare = {"n": 9, "smallest": 1.0, "largest": 70.0, "sse": 0.0, "sd": None, "r2": None, "aicc": None}
    sizes = np.array([1.0, 7, 13, 40, 70])
    found = gradient(kind, parameters, sizes)  # type: ignore[arg-type]
    for index in range(len(parameters)):
        moved = []
        for sign in (1, -1):
            own = list(parameters)
            step = sign * 1e-5
            if kind == "segments" and index == 3:
                own[index] *= 10**step
            else:
                own[index] = own[index] * math.exp(step) if index in logged else own[index] + step
            moved.append(curve(Fit(kind=kind, parameters=tuple(own), **bare), sizes))  # type: ignore[arg-type]
        assert found[:, index] == pytest.approx((moved[0] - moved[1]) / 2e-5, abs=1e-6)


def test_the_log_linear_fit_and_its_prediction_interval_are_statsmodels() -> None:
    import statsmodels.api as sm

    random = np.random.default_rng(2)
    sizes = np.array([1.0, 3, 7, 13, 34, 70, 70])
    scores = 0.2 + 0.12 * np.log10(sizes) + random.normal(0, 0.03, len(sizes))
    fit = fit_curve("log", sizes, scores)
    ols = sm.OLS(scores, sm.add_constant(np.log10(sizes))).fit()
    assert fit.parameters == pytest.approx(tuple(ols.params))
    assert (fit.r2, fit.sd) == (pytest.approx(ols.rsquared), pytest.approx(math.sqrt(ols.mse_resid)))
    for size in (0.5, 20.0, 400.0):
        frame = ols.get_prediction([[1.0, math.log10(size)]]).summary_frame(alpha=0.05)
        said = predict(fit, size)
        assert (said.score, said.low, said.high) == pytest.approx(
            (frame["mean"][0], max(0.0, frame["obs_ci_lower"][0]), frame["obs_ci_upper"][0])
        )


@each_row(([0.5, 0.4, 0.3], "do not grow"), ([0.5, 0.5, 0.5], "do not grow"), ([0.01, 0.4, 0.95], "faster"))
def test_a_curve_that_cannot_fit_says_so_and_has_no_interval(scores: list[float], said: str) -> None:
    fit = fit_curve("family", [1, 10, 100], scores)
    assert said in fit.trouble
    assert predict(fit, 200).low is None


@each_row(
    ([7], [0.5], "two different sizes"),
    ([7, 7], [0.5, 0.6], "two different sizes"),
    ([0, 7], [0.5, 0.6], "sizes must be above 0"),
    ([1, 7], [0.5, 1.6], "from 0 to 1"),
    ([1, 7], [0.5, math.nan], "finite"),
)
def test_what_cannot_be_fitted_is_said(sizes: list[int], scores: list[float], said: str) -> None:
    with pytest.raises(DataError, match=said):
        fit_curve("family", sizes, scores)


@given(
    st.lists(st.tuples(st.floats(0.1, 1000), st.floats(0, 1)), min_size=2, max_size=12).filter(
        lambda rows: len({x for x, _ in rows}) > 1
    )
)
@settings(max_examples=settings.default.max_examples // 2)
def test_any_points_give_finite_curves_and_intervals_within_what_scores_can_be(rows: list[tuple[float, float]]) -> None:
    kinds: tuple[Kind, ...] = ("family", "log", "logistic", "power", "average")
    for kind in kinds:
        fit = fit_curve(kind, [x for x, _ in rows], [y for _, y in rows])
        said = predict(fit, 50)
        assert math.isfinite(said.score)
        if said.low is not None and said.high is not None:
            assert 0 <= said.low <= 1
            assert 0 <= said.high <= 1


@pytest.mark.parametrize("kind", ["logistic", "power"])
def test_no_other_optimiser_finds_a_better_logistic_curve_or_power_law(kind: Kind) -> None:
    """scipy's, from the true parameters."""
    from scipy.optimize import curve_fit

    random = np.random.default_rng(6)
    sizes = np.geomspace(1, 100, 12)
    for _ in range(5):
        if kind == "logistic":
            true: tuple[float, ...] = (-1.2, 1.1)

            def shape(x: np.ndarray, level: float, slope: float) -> np.ndarray:
                return 1 / (1 + np.exp(-level - slope * np.log10(x)))
        else:
            true = (0.75, 0.45, 0.5)

            def shape(x: np.ndarray, ceiling: float, drop: float, exponent: float) -> np.ndarray:
                return ceiling - drop * x**-exponent

        scores = shape(sizes, *true) + random.normal(0, 0.02, 12)
        theirs, covariance = curve_fit(shape, sizes, scores, p0=true)
        fit = fit_curve(kind, sizes, scores)
        assert fit.sse <= float(((shape(sizes, *theirs) - scores) ** 2).sum()) + 1e-9
        assert fit.parameters == pytest.approx(theirs, rel=1e-3)
        scale = np.array([1, 1, fit.parameters[2]]) if kind == "power" else np.ones(2)  # ours is by its logarithm
        assert np.array(fit.covariance) * np.outer(scale, scale) == pytest.approx(covariance, rel=1e-2)


def test_an_averages_interval_is_that_of_drawing_a_curve_and_then_a_score() -> None:
    from scipy import stats

    random = np.random.default_rng(11)
    sizes = np.geomspace(1, 100, 12)
    fit = fit_curve("average", sizes, 0.7 - 0.4 * sizes**-0.5 + random.normal(0, 0.02, 12))
    assert [shape.kind for shape in fit.shapes] == ["log", "family", "logistic", "power"]
    assert math.fsum(fit.weights) == pytest.approx(1)
    ratio = fit.weights[3] / fit.weights[0]
    assert ratio == pytest.approx((fit.shapes[0].sd / fit.shapes[3].sd) ** 2)  # type: ignore[operator]
    said = predict(fit, 400)
    draws = []
    for shape, count in zip(fit.shapes, random.multinomial(400_000, fit.weights), strict=True):
        g = gradient(shape.kind, shape.parameters, np.array([400.0]))[0]
        error = math.sqrt(shape.new + float(g @ np.array(shape.covariance) @ g))
        draws.append(float(curve(shape, 400)) + error * stats.t.rvs(shape.spare, size=count, random_state=random))
    assert (said.low, said.high) == pytest.approx(np.quantile(np.concatenate(draws), [0.025, 0.975]), abs=0.004)
    assert said.score == pytest.approx(
        sum(weight * predict(shape, 400).score for weight, shape in zip(fit.weights, fit.shapes, strict=True))
    )


@each_row(
    ("two models", [7, 13], [0.41, 0.46], None, "log family logistic", "nothing"),
    ("of so many questions", [7, 13], [0.41, 0.46], [1e-4, 1e-4], "log family logistic", "questions"),
    ("a power law takes four", [7, 13, 34], [0.4, 0.5, 0.55], [1e-4] * 3, "log family logistic", "scatter"),
    ("a straight line", [1, 10, 100, 1000], [0.2, 0.3, 0.4, 0.5], None, "log family logistic", "scatter"),
    ("falling scores", [1, 10, 30, 100], [0.5, 0.4, 0.4, 0.3], None, "log logistic", "scatter"),
)
def test_of_what_an_average_is_the_mean(
    what: str, sizes: list[int], scores: list[float], variances: list[float] | None, kinds: str, basis: str
) -> None:
    fit = fit_curve("average", sizes, scores, variances)
    assert (" ".join(shape.kind for shape in fit.shapes), fit.basis) == (kinds, basis)
    assert (predict(fit, 200).low is None) == (basis == "nothing")


def broken(random: np.random.Generator, sizes: np.ndarray, change: float, noise: float) -> np.ndarray:
    z = np.log10(sizes)
    return 0.1 + 0.2 * z + change * np.maximum(z - 1.2, 0) + random.normal(0, noise, len(z))


def test_a_break_is_found_where_it_is() -> None:
    sizes = np.geomspace(1, 100, 30)
    found = fit_segments(sizes, broken(np.random.default_rng(1), sizes, -0.25, 1e-4), resamples=50, draws=199)
    assert math.log10(found.at) == pytest.approx(1.2, abs=0.01)
    assert (found.below, found.above) == (pytest.approx(0.2, abs=0.01), pytest.approx(-0.05, abs=0.01))
    assert found.p == pytest.approx(1 / 200), "no simulated line shows as much"
    assert found.tied == (found.at, found.at)
    assert not found.open_low
    assert not found.open_high


def test_of_too_few_models_or_no_scatter_a_bend_cannot_be_told() -> None:
    assert bend(fit_curve("log", *QWEN), *QWEN) is None
    assert bend(fit_curve("family", *LLAMA), *LLAMA) is None
    six = ([1.0, 7, 13, 30, 40, 70], [0.2, 0.31, 0.4, 0.41, 0.5, 0.52])
    assert bend(fit_segments(*six, resamples=9).fit, *six) is None, "two segments have their own break"
    sizes = np.geomspace(0.5, 34, 12)
    own = list(family_curve(sizes, 0.9, 3.0) + np.random.default_rng(7).normal(0, 0.003, 12))
    assert bend(fit_curve("family", list(sizes), own), list(sizes), own, draws=199).p > 0.05, "they follow their curve"


def test_a_break_beyond_the_second_largest_size_is_anywhere_up_to_the_largest() -> None:
    sizes = [1, 2, 4, 8, 16, 32, 100]
    found = fit_segments(sizes, [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.1], [str(size) for size in sizes], resamples=20)
    assert found.tied == (pytest.approx(32), pytest.approx(100))
    assert found.open_high
    assert found.moved.low_without == "100", "it rests on that model"


@pytest.mark.parametrize(("sizes", "n"), [([1, 2, 3, 4, 5], 5), ([1, 1, 2, 2, 3, 3], 3)])
def test_too_little_for_two_lines_is_said(sizes: list[float], n: int) -> None:
    with pytest.raises(DataError, match=rf"take 6 models of 4 different sizes; here are {len(sizes)} of {n}"):
        fit_segments(sizes, [0.1 * size for size in sizes])


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


SIZES = [1.0, 3.0, 7.0, 13.0, 34.0, 70.0]


def line(slope: float, level: float = 0.2, noise: float = 0.0) -> Fit:
    scores = [level + slope * index / 5 + noise * (-1) ** index for index in range(6)]
    return fit_curve("log", SIZES, scores)


@given(slope=st.floats(0.05, 0.5), score=st.floats(0.25, 0.95))
def test_the_curve_has_the_score_where_it_is_said_to_reach_it(slope: float, score: float) -> None:
    fit = line(slope)
    found = reach(fit, score)
    if found.size is None:
        assert float(curve(fit, FURTHEST)) < score
    elif found.size == fit.smallest:
        assert float(curve(fit, fit.smallest)) >= score
    else:
        assert float(curve(fit, found.size)) == pytest.approx(score, abs=1e-9)


def test_the_interval_is_where_one_more_models_own_reaches_it() -> None:
    fit = line(0.3, noise=0.01)
    found = reach(fit, 0.6)
    assert found.low < found.size < found.high
    assert predict(fit, found.low).high == pytest.approx(0.6)
    assert predict(fit, found.high).low == pytest.approx(0.6)
    assert found.beyond == pytest.approx(found.size / 70)


def test_what_is_reached_already_or_never() -> None:
    with table() as row:
        with row("already"):
            found = reach(line(0.3), 0.1)
            assert (found.size, found.beyond) == (1.0, 1.0)
        with row("a falling line never does"):
            found = reach(line(-0.1), 0.5)
            assert (found.size, found.beyond) == (None, None)
        with row("no interval of two points"):
            found = reach(fit_curve("log", [1.0, 10.0], [0.2, 0.3]), 0.4)
            assert found.size == pytest.approx(100)
            assert (found.low, found.high) == (None, None)
