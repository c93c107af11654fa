"""The size at which a curve reaches a score."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import table
from viva.analysis.sizes.scaling import Fit, curve, fit_curve, predict
from viva.analysis.sizes.scalinggroups import FURTHEST, reach

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
