"""Adjusted p-values: against worked examples and statsmodels."""

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis.multiplicity import adjusted, benjamini_hochberg, holm
from viva.errors import DataError

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_holm_on_a_worked_example():
    # 4 × .005, 3 × .01, then 2 × .03 = .06 holds up .04
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_benjamini_hochberg_on_the_paper_s_own_example():
    # Benjamini and Hochberg (1995), section 4.1: fifteen comparisons, of which the procedure rejects four at 5 %
    # (Bonferroni: three).
    p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0000,
    ]  # fmt: skip
    assert sum(value <= 0.05 for value in benjamini_hochberg(p_values)) == 4
    assert sum(value * 15 <= 0.05 for value in p_values) == 3
    assert sum(value <= 0.05 for value in holm(p_values)) == 3


@pytest.mark.slow
@given(P_VALUES)
def test_both_equal_statsmodels(p_values: list[float]):
    multitest = importlib.import_module("statsmodels.stats.multitest")
    if not p_values:
        assert holm([]) == benjamini_hochberg([]) == []
        return
    assert holm(p_values) == pytest.approx(multitest.multipletests(p_values, method="holm")[1])
    assert benjamini_hochberg(p_values) == pytest.approx(multitest.multipletests(p_values, method="fdr_bh")[1])


@given(P_VALUES)
def test_adjusting_never_makes_a_p_value_smaller_nor_changes_the_order(p_values: list[float]):
    for found in (holm(p_values), benjamini_hochberg(p_values)):
        assert all(a >= p - 1e-12 and a <= 1 for a, p in zip(found, p_values, strict=True))
        ranked = [a for _, a in sorted(zip(p_values, found, strict=True))]
        assert ranked == sorted(ranked)
    assert all(b <= h + 1e-12 for b, h in zip(benjamini_hochberg(p_values), holm(p_values), strict=True))


def test_a_test_that_could_not_be_made_counts_for_nothing():
    assert adjusted([0.01, None, 0.04], "holm") == pytest.approx([0.02, None, 0.04])
    assert adjusted([0.01, None, 0.04], "none") == [0.01, None, 0.04]
    assert adjusted([None], "bh") == [None]


@pytest.mark.parametrize("wrong", [-0.1, 1.1, float("nan"), float("inf")])
def test_what_is_no_probability_is_refused(wrong: float):
    for adjust in (holm, benjamini_hochberg):
        with pytest.raises(DataError, match="no p-value"):
            adjust([0.5, wrong])
