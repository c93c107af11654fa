"""Partial pooling against quadrature, at its limits, and for scores other than 0 and 1."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.answers import row
from viva.analysis.breakdown import frame
from viva.analysis.slices import Pooled, Scored, Slices, pooled, slices
from viva.analysis.uncertainty import zero_one_interval


def of_ones(*counts: tuple[int, int]) -> list[Scored]:
    """Groups of 0/1 scores: right answers and questions."""
    return [Scored(mean=right / n, questions=n, squares=right * (n - right) / n) for right, n in counts]


def widths(found: list[Pooled]) -> list[float]:
    return [one.high - one.low for one in found]


def test_it_is_the_posterior_by_adaptive_quadrature() -> None:
    from scipy.integrate import dblquad
    from scipy.special import betainc, betaln

    counts = [(4, 4), (1, 6), (5, 8), (9, 12)]
    found = pooled(of_ones(*counts))

    def over(of: object) -> float:
        def weighed(mean: float, inner: float) -> float:
            size = 1 / inner - 1
            a, b = mean * size, (1 - mean) * size
            log = sum(betaln(right + a, n - right + b) - betaln(a, b) for right, n in counts)
            return float(np.exp(log)) * (of(a, b) if callable(of) else 1.0)

        return float(dblquad(weighed, 1e-6, 1 - 1e-6, 1e-6, 1 - 1e-6, epsabs=0, epsrel=1e-3)[0])

    whole = over(None)
    for (right, n), one in zip(counts[:2], found, strict=False):
        mean = over(lambda a, b, right=right, n=n: (right + a) / (n + a + b)) / whole
        assert one.mean == pytest.approx(mean, abs=0.001)
        for end, share in ((one.low, 0.025), (one.high, 0.975)):
            below = over(lambda a, b, end=end, right=right, n=n: betainc(right + a, n - right + b, end)) / whole
            assert below == pytest.approx(share, abs=0.002)


def test_groups_that_are_all_alike_are_one() -> None:
    found = pooled(of_ones(*[(7, 10)] * 40))
    assert [one.mean for one in found] == pytest.approx([0.7] * 40, abs=0.005)
    low, high = zero_one_interval(7, 10) or (0.0, 1.0)
    assert max(widths(found)) < 0.4 * (high - low)


@pytest.mark.parametrize("counts", [[(3, 10)], [(3, 10), (12, 12)]])
def test_of_fewer_than_three_groups_nothing_is_learnt(counts: list[tuple[int, int]]) -> None:
    for (right, n), one in zip(counts, pooled(of_ones(*counts)), strict=True):
        assert (one.mean, (one.low, one.high)) == (right / n, zero_one_interval(right, n))


@settings(max_examples=settings.default.max_examples // 2)
@given(st.lists(st.integers(1, 30).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=3, max_size=8))
def test_any_groups_have_an_interval_in_0_to_1_whatever_their_order(counts: list[tuple[int, int]]) -> None:
    found = pooled(of_ones(*counts))
    assert all(0 <= one.low < one.mean < one.high <= 1 for one in found)
    back = pooled(of_ones(*counts[::-1]))[::-1]
    assert [one.mean for one in back] == pytest.approx([one.mean for one in found], abs=1e-9)


def test_fractions_count_for_as_many_0_1_questions_as_leave_the_same_doubt() -> None:
    counts = [(6, 10), (7, 10), (9, 10), (8, 10)]
    ones = of_ones(*counts)
    third = [Scored(mean=one.mean, questions=10, squares=one.squares / 3) for one in ones]
    thrice = pooled(of_ones(*((3 * right, 3 * n) for right, n in counts)))
    assert widths(pooled(third)) == pytest.approx(widths(thrice), rel=0.15)
    uneven = [Scored(mean=one.mean, questions=10, squares=2 * one.squares) for one in ones]
    assert all(a > b for a, b in zip(widths(pooled(uneven)), widths(pooled(ones)), strict=True))
    alike = [Scored(mean=0.7, questions=10, squares=1e-7)] * 4
    assert min(widths(pooled(alike))) > 0.02, "scores that do not differ are not certain"
    nothing = [Scored(mean=one.mean, questions=1, squares=0.0) for one in ones]
    assert min(widths(pooled(nothing))) > 0.2, "single questions tell nothing of their spread"


def cut(scores: dict[str, list[list[float | None]]], **how: bool) -> Slices:
    """Value of the tag `t` → its questions' answers, None for one that was not given."""
    rows = [
        row(f"{value}{number}", "error" if score is None else "partly", score or 0.0, sample=sample, tags={"t": value})
        for value, questions in scores.items()
        for number, answers in enumerate(questions)
        for sample, score in enumerate(answers)
    ]
    return slices("exam", "model", frame(rows), [("t",)], smallest=1, **how)


def test_slices_are_pooled_by_their_questions_means_and_none_has_no_effect() -> None:
    scores: dict[str, list[list[float | None]]] = {
        "a": [[1, 0], [1, 1], [0, 0.5]],
        "b": [[1, 1], [1, 1]],
        "c": [[0, 0], [0, 1], [1, 1], [0.5, 0.5]],
        "d": [[None, None]],
    }
    found = cut(scores, pool=True)
    means = [[sum(each for each in one if each is not None) / 2 for one in scores[name]] for name in "abc"]
    groups = [Scored(mean=float(np.mean(m)), questions=len(m), squares=float(np.var(m) * len(m))) for m in means]
    ends = [(one.mean, one.low, one.high) for one in pooled(groups)]
    assert [(one.pooled.mean, one.pooled.low, one.pooled.high) for one in found.slices if one.pooled] == [
        pytest.approx(each) for each in ends
    ]
    assert [one.pooled is None for one in found.slices] == [False, False, False, True]
    assert all(one.pooled is None for one in cut(scores).slices)
    below = cut({**scores, "e": [[-1.0, 0.0]]}, pool=True)
    assert all(one.pooled is None for one in below.slices), "not of scores below 0"
