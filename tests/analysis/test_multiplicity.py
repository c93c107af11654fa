"""Adjusted p-values: against worked examples."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.analysis.multiplicity import adjusted, benjamini_hochberg, holm
from viva.errors import DataError

P_VALUES = st.lists(st.floats(0, 1), max_size=30)


def test_benjamini_hochberg_on_the_paper_s_own_example():
    # Benjamini and Hochberg (1995), section 4.1: fifteen comparisons, of which the procedure rejects four at 5 %
    # (Bonferroni: three).
    p_values = [
        0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590,
        1.0000,
    ]  # fmt: skip
    # What statsmodels makes of them.
    false_discoveries = [
        0.0015, 0.003, 0.0095, 0.035625, 0.0603, 0.063857, 0.063857, 0.0645, 0.0765, 0.486, 0.581182, 0.714875,
        0.753231, 0.813214, 1.0,
    ]  # fmt: skip
    assert benjamini_hochberg(p_values) == pytest.approx(false_discoveries, abs=1e-6)
    assert holm(p_values) == pytest.approx([0.0015, 0.0056, 0.0247, 0.114, 0.2211, *[0.278] * 3, 0.3213, *[1.0] * 6])
    assert benjamini_hochberg([]) == holm([]) == []


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
