"""Quantiles against SciPy's."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special

from viva.analysis.uncertainty import gamma_quantile, t_quantile

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
