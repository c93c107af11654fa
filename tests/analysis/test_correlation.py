"""Correlation coefficients against explicit formulas and SciPy, and properties for any columns."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row
from viva.analysis.correlation import KINDS, OUTLYING, Kind, coefficient, correlate, interval, outliers, pairs
from viva.analysis.sizes.families import MOST

FIGURES = st.one_of(st.integers(-5, 5).map(float), st.floats(-1e6, 1e6).map(lambda x: round(x, 3)))
COLUMNS = st.lists(st.tuples(FIGURES, FIGURES), min_size=0, max_size=15)


def tau_b(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Pair by pair: (concordant - discordant) / √(pairs not tied in x × pairs not tied in y)."""
    together = free_x = free_y = 0
    for (a, b), (c, d) in itertools.combinations(zip(xs, ys, strict=True), 2):
        x, y = (a > c) - (a < c), (b > d) - (b < d)
        together += x * y
        free_x += x != 0
        free_y += y != 0
    return together / math.sqrt(free_x * free_y) if free_x and free_y else None


def value(kind: Kind, xs: Sequence[float], ys: Sequence[float]) -> float | None:
    found = coefficient(kind, xs, ys)
    return found[0] if found else None


@each_row(
    ([1, 2, 3], [1, 2, 3], 1, 1, 1),
    ([1, 2, 3], [3, 2, 1], -1, -1, -1),
    ([1, 2, 3, 4], [1, 3, 2, 4], 4 / 6, 0.8, 0.8),
    ([1, 2, 3, 4], [10, 20, 30, 1000], 1, 1490 / math.sqrt(5 * 720500), 1),
    ([1, 1, 2], [1, 2, 3], 2 / math.sqrt(6), math.sqrt(0.75), math.sqrt(0.75)),
    ([1, 2, 3, 4, 5], [5, 3, 5, 3, 5], 0, 0, 0),
)
def test_small_columns_by_hand(xs: list[int], ys: list[int], kendall: float, pearson: float, spearman: float) -> None:
    for kind, expected in (("kendall", kendall), ("pearson", pearson), ("spearman", spearman)):
        assert value(kind, xs, ys) == pytest.approx(expected, abs=1e-4), kind  # type: ignore[arg-type]


@each_row(
    ([], []),
    ([1.0], [2.0]),
    ([1.0, 2.0], [3.0, 4.0]),
    ([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]),
    ([1.0, 2.0, 3.0], [7.0, 7.0, 7.0]),
)
def test_where_nothing_varies_or_rows_are_few_there_is_no_coefficient(xs: list[float], ys: list[float]) -> None:
    assert [coefficient(kind, xs, ys) for kind in KINDS] == [None, None, None]


def test_figures_beyond_what_can_be_squared() -> None:
    assert value("pearson", [1e200, 2e200, 3e200], [1e-200, 2e-200, 3e-200]) == pytest.approx(1)


@given(COLUMNS)
def test_any_columns(rows: list[tuple[float, float]]) -> None:
    xs, ys = [x for x, _ in rows], [y for _, y in rows]
    found = {kind: coefficient(kind, xs, ys) for kind in KINDS}
    for kind, one in found.items():
        if one is None:
            continue
        assert -1 <= one[0] <= 1
        assert 0 <= one[1] <= 1
        other = coefficient(kind, ys, xs)
        assert other[0] == pytest.approx(one[0], abs=1e-9), "which is first does not matter"
        turned = coefficient(kind, xs, [-y for y in ys])
        assert turned[0] == pytest.approx(-one[0], abs=1e-9)
        bounds = interval(kind, one[0], len(rows))
        if bounds:
            assert -1 <= bounds[0] <= one[0] <= bounds[1] <= 1
    if len(rows) >= 3:
        expected = tau_b(xs, ys)
        assert (found["kendall"] is None) == (expected is None)
        if expected is not None and found["kendall"]:
            assert found["kendall"][0] == pytest.approx(expected, abs=1e-9)


def test_p_values_are_scipys_and_exact_for_few_rows() -> None:
    from scipy import stats

    xs, ys = [1.0, 2, 3, 4, 5], [1.0, 2, 3, 5, 4]
    found = coefficient("kendall", xs, ys)
    # 10 pairs, one discordant: of the 120 orders 1 + 4 have at most one, and as many the other way round.
    assert found == (pytest.approx(0.8), pytest.approx(2 * 5 / 120))
    pearson = coefficient("pearson", xs, ys)
    assert pearson[1] == pytest.approx(stats.pearsonr(xs, ys).pvalue)


def test_pearsons_interval_is_scipys_and_the_others_follow_bonett_and_wright() -> None:
    from scipy import stats

    xs, ys = [1.0, 2, 3, 4, 5, 6, 7, 8], [2.0, 1, 4, 3, 7, 5, 8, 6]
    r = stats.pearsonr(xs, ys)
    low, high = r.confidence_interval(0.95)
    assert interval("pearson", float(r.statistic), 8) == pytest.approx((low, high))
    # By hand: artanh 0.5 = 0.549306; 1.959964 √(0.437 / 20) = 0.289716; √(1.125 / 21) = 0.231455, times 1.959964.
    assert interval("kendall", 0.5, 24) == pytest.approx((math.tanh(0.259590), math.tanh(0.839022)), abs=1e-5)
    assert interval("spearman", 0.5, 24) == pytest.approx((math.tanh(0.095663), math.tanh(1.002950)), abs=1e-5)


@each_row(("pearson", 0.5, 3), ("spearman", 0.5, 3), ("kendall", 0.5, 4), ("pearson", 1.0, 9))
def test_no_interval_where_it_would_say_too_much(kind: Kind, c: float, n: int) -> None:
    assert interval(kind, c, n) is None
    assert interval(kind, 0.5, 9) is not None


def test_rows_that_lack_a_figure_are_left_out_and_counted() -> None:
    rows = ["a", "b", "c", "d", "e"]
    columns = {"x": [1, None, 3, 4, 5], "y": [1, 2, None, 4, 5]}
    pair = correlate(rows, columns, "x", "y")
    assert (pair.n, pair.left_out) == (3, 2)
    assert pair.of("kendall").value == 1
    assert pair.of("kendall").leaning is None, "of three rows none can be spared"
    with pytest.raises(ValueError, match="zip"):
        correlate(rows[:4], columns, "x", "y")


def test_a_single_row_can_make_a_correlation() -> None:
    rows = ["a", "b", "c", "d", "giant"]
    pair = correlate(rows, {"x": [1, 2, 1, 2, 100], "y": [1, 1, 2, 2, 100]}, "x", "y")
    pearson = pair.of("pearson")
    assert pearson.value == pytest.approx(1, abs=0.01)
    assert (pearson.leaning.low, pearson.leaning.low_without) == (pytest.approx(0), "giant")


def test_of_many_rows_none_is_left_out_in_turn() -> None:
    columns = {"x": [float(i) for i in range(MOST + 1)], "y": [float(i * 7 % 11) for i in range(MOST + 1)]}
    names = [str(i) for i in range(MOST + 1)]
    assert all(one.leaning is None for one in correlate(names, columns, "x", "y").coefficients)


def test_which_columns_meet() -> None:
    assert pairs(["a", "b", "c"]) == [("a", "b"), ("a", "c")]
    assert pairs(["a", "b", "c"], every=True) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert pairs(["a"]) == []


def test_outliers_are_statsmodels_externally_studentised_residuals() -> None:
    import statsmodels.api as sm
    from scipy import stats

    random = np.random.default_rng(11)
    xs = random.uniform(10, 90, 30)
    ys = 0.6 * xs + random.normal(0, 5, 30)
    ys[4] += 30
    ys[20] -= 22
    names = [f"m{index}" for index in range(30)]
    found = outliers(names, xs.tolist(), ys.tolist())
    influence = sm.OLS(ys, sm.add_constant(xs)).fit().get_influence()
    expected = dict(zip(names, influence.resid_studentized_external, strict=True))
    assert [one.row for one in found] == sorted(
        (name for name, t in expected.items() if abs(t) > OUTLYING), key=lambda name: -abs(expected[name])
    )
    assert found[0].row == "m4"
    for one in found:
        assert one.t == pytest.approx(expected[one.row])
        assert one.p == pytest.approx(min(1.0, 30 * 2 * stats.t.sf(abs(one.t), 27)))
        kept = [name != one.row for name in names]
        line = sm.OLS(ys[kept], sm.add_constant(xs[kept])).fit()
        assert one.expected == pytest.approx(float(line.predict([1.0, one.first])[0])), "drawn through the others"


def test_a_row_without_scatter_around_it_is_no_outlier() -> None:
    """The last is alone at its place; then all others are on a line."""
    for xs, ys in (([1, 1, 1, 1, 1, 9], [1, 2, 3, 4, 5, 50]), ([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 60])):
        assert "f" not in [one.row for one in outliers(list("abcdef"), xs, ys)]
