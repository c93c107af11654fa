"""Slices against the rest: intervals and tests against published examples and SciPy; partial pooling by quadrature."""

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from analysis.answers import graded, row
from viva.analysis.breakdown import frame
from viva.analysis.multiplicity import Correction
from viva.analysis.slices import LEVEL, Pooled, Scored, Slice, Slices, difference_interval, pooled, slices
from viva.analysis.uncertainty import wilson, zero_one_interval
from viva.types import Aggregate, ScoreRow


def scored(values: Mapping[str, Sequence[float]], *, samples: int = 1, first: int = 0) -> list[ScoreRow]:
    """Value of the tag `t` → the scores of its questions, each given `samples` times."""
    number = itertools.count(first)
    every = [(next(number), value, score) for value, scores in values.items() for score in scores]
    return [graded(n, score, sample=at, tags={"t": value}) for n, value, score in every for at in range(samples)]


def cut(rows: Sequence[ScoreRow], *tags: tuple[str, ...], smallest: int = 1, **how: Any) -> Slices:
    return slices("exam", "model", frame(rows), tags or (("t",),), smallest=smallest, **how)


def by_name(found: Slices) -> dict[str, Slice]:
    return {one.name: one for one in found.slices}


def ones(right: int, of: int) -> list[float]:
    return [1.0] * right + [0.0] * (of - right)


# The difference


def test_the_difference_of_two_shares_has_newcombes_published_interval() -> None:
    """Newcombe 1998, Statistics in Medicine 17:873-890, Table II, method 10."""
    for (a, m, b, n), (low, high) in {
        (56, 70, 48, 80): (0.0524, 0.3339),
        (9, 10, 3, 10): (0.1705, 0.8090),
        (10, 10, 0, 20): (0.6791, 1.0000),
        (10, 10, 0, 10): (0.6075, 1.0000),
    }.items():
        one = by_name(cut(scored({"in": ones(a, m), "out": ones(b, n)})))["in"]
        assert one.difference == pytest.approx(a / m - b / n)
        first, second = ((right / count, *(wilson(right, count) or (0.0, 1.0))) for right, count in ((a, m), (b, n)))
        assert difference_interval(first, second) == (pytest.approx(low, abs=6e-5), pytest.approx(high, abs=6e-5))
        assert one.low <= low + 6e-5 < high - 6e-5 <= one.high, "wider where very few are right or wrong"


def test_what_has_another_value_or_none_is_the_rest_and_what_nobody_answered_is_not() -> None:
    rows = [
        *scored({"in": ones(6, 10), "out": ones(3, 10)}),
        *(row(100 + n, "right") for n in range(5)),
        *(row(200 + n, "error", tags={"t": "in"}) for n in range(4)),
        *(row(300 + n, "ungraded", tags={"t": "out"}) for n in range(4)),
    ]
    found = by_name(cut(rows))
    assert set(found) == {"in", "out"}
    assert (found["in"].questions, found["in"].cell.n) == (10, 14)
    assert found["in"].cell.outcomes == {"right": 6, "wrong": 4, "error": 4}
    assert found["in"].rest == pytest.approx(8 / 15)
    assert found["out"].rest == pytest.approx(11 / 15)


# The test


@given(st.integers(1, 25), st.integers(1, 25), st.data())
def test_right_and_wrong_are_tested_exactly(m: int, n: int, data: st.DataObject) -> None:
    from scipy import stats

    a, b = data.draw(st.integers(0, m)), data.draw(st.integers(0, n))
    found = by_name(cut(scored({"in": ones(a, m), "out": ones(b, n)})))["in"]
    lower, upper = (
        stats.fisher_exact(np.array([[a, m - a], [b, n - b]]), alternative=side).pvalue for side in ("less", "greater")
    )
    assert min(lower, upper) - 1e-9 <= found.p
    if m == n:  # symmetric: all orders of the tables are one
        assert found.p == pytest.approx(stats.fisher_exact(np.array([[a, m - a], [b, n - b]])).pvalue)


def test_other_scores_are_permuted_as_scipy_does_it() -> None:
    from scipy import stats

    inside, outside = [0.1, 0.4, 1.0, 0.2], [0.9, 0.8, 1.0, 0.7, 0.6, 0.95]
    found = by_name(cut(scored({"in": inside, "out": outside})))["in"]
    exact = stats.permutation_test(
        (inside, outside), lambda x, y, axis: np.mean(x, axis=axis) - np.mean(y, axis=axis), vectorized=True
    )
    # SciPy doubles the smaller tail; here both tails count that lie as far from nothing.
    values = np.array(inside + outside)
    away = [
        abs(values[list(some)].mean() - np.delete(values, some).mean()) for some in itertools.combinations(range(10), 4)
    ]
    expected = np.mean(np.array(away) >= abs(exact.statistic) - 1e-12)
    assert found.test == "permutation"
    assert found.p == pytest.approx(expected, abs=0.01)
    assert found.p == pytest.approx(exact.pvalue, abs=0.04)


def test_of_many_questions_the_sum_is_normal_with_the_permutations_own_variance() -> None:
    from scipy import stats

    draw = np.random.default_rng(3)
    inside, outside = draw.beta(2, 2, 500), draw.beta(2.3, 2, 900)
    large = by_name(cut(scored({"in": list(inside), "out": list(outside)})))["in"]
    assert large.test == "normal"
    assert large.p == pytest.approx(stats.ttest_ind(inside, outside).pvalue, rel=0.05)


def test_a_few_scores_below_full_marks_are_counted_and_not_called_normal() -> None:
    from scipy import stats

    large = by_name(cut(scored({"in": [1.0] * 397 + [0.5] * 3, "out": [1.0] * 3598 + [0.5] * 2})))["in"]
    assert large.test == "permutation"
    assert large.p == pytest.approx(stats.hypergeom.sf(2, 4000, 5, 400), abs=0.004), "the normal's is 0.0002"


def test_the_same_answer_five_times_is_no_more_evidence_than_once() -> None:
    values = {"in": ones(5, 20), "out": ones(22, 40)}
    once, often = (by_name(cut(scored(values, samples=samples)))["in"] for samples in (1, 5))
    assert often.test == "permutation"
    assert often.p == pytest.approx(once.p, abs=0.01)
    assert often.questions == once.questions == 20
    assert often.difference == pytest.approx(once.difference)
    assert often.low == pytest.approx(once.low, abs=0.1), "Student in place of Wilson"


def test_where_all_questions_score_the_same_nothing_differs() -> None:
    for value in (0.0, 0.5, 1.0):
        found = cut(scored({"in": [value] * 12, "out": [value] * 30}))
        assert [one.p for one in found.slices] == [1.0, 1.0]
        assert not any(one.significant for one in found.slices)


def test_what_the_headline_averages_is_what_slices_average() -> None:
    rows = [
        row(
            n,
            "right" if (n + sample) % 4 == 0 else "wrong",
            sample=sample,
            tags={"t": "ab"[n % 2]},
            parts={"why": n / 20},
        )
        for n in range(20)
        for sample in range(2)
    ]
    best = by_name(cut(rows, headline=Aggregate("best of two", attempts="best")))
    assert {name: one.cell.mean for name, one in best.items()} == {"a": 0.5, "b": 0.5}
    why = by_name(cut(rows, headline=Aggregate("why", part="why", over="t")))
    assert why["a"].cell.mean == pytest.approx(sum(range(0, 20, 2)) / 200)
    assert why["a"].rest == pytest.approx(why["b"].cell.mean)


# Which slices are compared


def test_a_slice_and_its_complement_are_one_comparison_and_so_are_two_tags_that_say_the_same() -> None:
    rows = [
        row(n, "right" if n % 3 else "wrong", tags={"t": "ab"[n % 2], "same": "xy"[n % 2], "third": "pqr"[n % 3]})
        for n in range(60)
    ]
    found = cut(rows, ("t",), ("same",))
    assert found.compared == 1
    assert len({one.adjusted for one in found.slices}) == 1
    found = cut(rows, ("t",), ("same",), ("third",), ("t", "third"))
    assert found.compared == 1 + 3 + 6
    assert len(found.slices) == 2 + 2 + 3 + 6


def test_small_slices_are_shown_and_not_tested() -> None:
    found = cut(scored({"many": ones(10, 30), "few": ones(0, 9), "ten": ones(5, 10)}), smallest=10)
    few = by_name(found)["few"]
    assert (few.p, few.adjusted, few.significant) == (None, None, False)
    assert few.difference is not None
    assert (found.untested, found.compared) == (1, 2)
    assert (found.worst(5), [one.name for one in found.best(5)]) == ([], ["ten", "many"])
    assert cut(scored({"all": ones(10, 30), "few": ones(0, 9)}), smallest=10).compared == 0, "the rest is too small"


def test_the_p_of_an_interval_ends_and_does_not_contradict_it_where_answers_are_missing_or_belong_together() -> None:
    """A slice that missing answers can make as good as the rest, one far from it, and one right at it."""
    for first, second in ((6, 6), (7, 5), (12, 0), (0, 12)):
        for lost in (0, 1, 3):
            rows = scored({"in": ones(first, 12), "out": ones(second, 12)})
            rows = [replace(one, cluster=str(place // 2)) for place, one in enumerate(rows)]
            rows = [replace(one, outcome="error", value=0.0) for one in rows[:lost]] + rows[lost:]
            one = by_name(cut(rows))["in"]
            assert 0 < one.p <= 1
            assert (one.p > LEVEL) == (one.low <= 0 <= one.high), (first, second, lost)


def test_worst_and_best_are_in_order() -> None:
    found = cut(scored({name: ones(right, 20) for name, right in {"a": 10, "b": 2, "c": 18, "d": 6, "e": 11}.items()}))
    assert [one.name for one in found.worst(2)] == ["b", "d"]
    assert [one.name for one in found.best(2)] == ["c", "e"]
    assert by_name(found)["b"].significant
    assert by_name(found)["c"].significant
    assert not by_name(found)["a"].significant


def test_combinations_are_those_that_some_question_has() -> None:
    rows = [row(n, "right", tags={"a": "xy"[n % 2], "b": "pq"[n % 2], "hostile": "\x1b[31m<b>"}) for n in range(20)]
    found = cut(rows, ("a", "b"))
    assert [one.where for one in found.slices] == [(("a", "x"), ("b", "p")), (("a", "y"), ("b", "q"))]
    assert cut(rows, ("hostile",)).slices[0].name == "\x1b[31m<b>"


@given(
    st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from([0.0, 0.5, 1.0])), min_size=1, max_size=30),
    st.sampled_from(["holm", "bh", "none"]),
)
def test_whatever_the_scores_the_figures_are_sound(answers: list[tuple[str, float]], correct: Correction) -> None:
    rows = [row(n, "partly", value, tags={"t": tag}) for n, (tag, value) in enumerate(answers)]
    found = cut(rows, correct=correct)
    assert found == cut(rows, correct=correct), "seeded"
    for one in found.slices:
        if one.p is not None:
            assert 0 < one.p <= (one.adjusted or 0.0) <= 1
        if one.low is not None and one.high is not None and one.difference is not None:
            assert -1 - 1e-9 <= one.low <= one.difference + 1e-9
            assert one.difference - 1e-9 <= one.high <= 1 + 1e-9


# Control over many


def test_a_slice_that_is_nothing_like_the_rest_has_a_p_where_an_answer_is_lost() -> None:
    rows = scored({"all": [1.0] * 100, "none": [0.0] * 200})
    lost = [*rows[1:], row(0, "error", None, tags={"t": "all"})]
    assert all(one.p is not None and one.p < 1e-12 for one in cut(lost).slices)


def test_the_overall_score_is_the_headline() -> None:
    rows = scored({"few": [1.0, 0.0], "many": [1.0] * 9 + [0.0]})
    assert cut(rows, headline=Aggregate("mean", over="t")).overall.mean == pytest.approx(0.7)


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


def pooled_cut(scores: dict[str, list[list[float | None]]], **how: bool) -> Slices:
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
    found = pooled_cut(scores, pool=True)
    means = [[sum(each for each in one if each is not None) / 2 for one in scores[name]] for name in "abc"]
    groups = [Scored(mean=float(np.mean(m)), questions=len(m), squares=float(np.var(m) * len(m))) for m in means]
    ends = [(one.mean, one.low, one.high) for one in pooled(groups)]
    assert [(one.pooled.mean, one.pooled.low, one.pooled.high) for one in found.slices if one.pooled] == [
        pytest.approx(each) for each in ends
    ]
    assert [one.pooled is None for one in found.slices] == [False, False, False, True]
    assert all(one.pooled is None for one in pooled_cut(scores).slices)
    below = pooled_cut({**scores, "e": [[-1.0, 0.0]]}, pool=True)
    assert all(one.pooled is None for one in below.slices), "not of scores below 0"
