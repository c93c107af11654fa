"""Effects of bias probes: by hand, against statsmodels, and by simulation of judges without any bias."""

import math

import numpy as np
import pytest

from viva.lab.judges.effects import Effect, Pair, asked_again, corrected, effect, negative_control, self_preference

PROBES = 6


def marks_of(dice: np.random.Generator, questions: int, answers: int, noise: float, lift: float) -> list[Pair]:
    """A judge that draws a new mark with probability `noise`; `lift`: how often it gives the other form full marks."""
    worth = dice.choice([0.0, 0.5, 1.0], questions)

    def mark(question: int, lifted: float) -> float:
        if dice.random() < lifted:
            return 1.0
        return float(dice.choice([0.0, 0.5, 1.0]) if dice.random() < noise else worth[question])

    return [
        Pair(f"q{place % questions}", mark(place % questions, 0), mark(place % questions, lift))
        for place in range(answers)
    ]


def test_a_change_by_hand() -> None:
    pairs = [Pair("a", 0.0, 1.0), Pair("b", 0.5, 1.0), Pair("c", 1.0, 0.5), Pair("d", 1.0, 1.0), Pair("e", None, 1.0)]
    found = effect("length", pairs)
    assert (found.answers, found.lost) == (4, 1)
    assert found.change == pytest.approx(0.25)
    assert [share and share.value for share in (found.up, found.down)] == [0.5, 0.25]
    assert 0.5 < (found.p or 0.0) < 0.75, "a t test says 0.50, and all turns of signs 0.75"
    assert -1 <= (found.low or -2) < 0 < 0.25 < (found.high or 2) <= 1
    again = asked_again("asked again", pairs)
    assert again.mean == pytest.approx(0.5)
    assert again.failed.value == 0.75
    empty = negative_control("empty answer", pairs)
    assert (empty.answers, empty.lost, empty.mean) == (5, 0, pytest.approx(0.9))
    assert empty.failed.value == 1.0


def test_where_there_is_nothing_to_compare_it_is_said_why() -> None:
    for pairs in ([], [Pair("a", 1.0, 0.0), Pair("a", 0.5, 0.0)], [Pair("a", None, 1.0), Pair("b", 1.0, None)]):
        found = effect("length", pairs)
        assert (found.change, found.p) == (None, None)
        assert found.reason
        assert corrected([found]) == (found,)
    assert asked_again("asked again", []).failed is None
    assert negative_control("empty answer", [Pair("a", 1.0, None)]).lost == 1
    few = self_preference("self", [True] * 3 + [False] * 30, [1.0] * 33, [0.5] * 33, [f"q{n}" for n in range(33)])
    assert few.change is None
    assert "it takes 10 answers" in few.reason


def test_answers_to_one_question_are_no_independent_witnesses() -> None:
    alike = [Pair(f"q{place % 5}", 0.0, 1.0 if place % 5 < 4 else 0.0) for place in range(100)]
    found = effect("length", alike)
    assert found.p == pytest.approx(0.148, abs=0.001), "four questions of five, not 80 answers of 100"
    assert effect("length", [Pair(str(n), one.plain, one.changed) for n, one in enumerate(alike)]).p < 1e-6  # type: ignore[operator]


def test_self_preference_goes_from_one_regression_to_the_reverse() -> None:
    statsmodels, stats = (pytest.importorskip(name) for name in ("statsmodels.api", "scipy.stats"))
    dice = np.random.default_rng(4)
    own, references = dice.random(240) < 0.4, dice.choice([0.0, 0.5, 1.0], 240)
    questions = dice.integers(0, 60, 240)
    marks = np.round(0.2 + 0.4 * references + 0.2 * own + 0.1 * dice.standard_normal(60)[questions], 1)
    names = [f"q{n}" for n in questions]
    found = self_preference("self", own.tolist(), marks.tolist(), references.tolist(), names)
    changes, ends = [], []
    for values, matched in ((marks, references), (-references, marks)):
        design = np.column_stack([own, *(matched == mark for mark in set(matched))]).astype(float)
        clusters = {"cov_type": "cluster", "cov_kwds": {"groups": questions, "use_correction": False}}
        fit = statsmodels.OLS(values, design).fit(**clusters)
        groups = len({*questions[[0 < own[matched == mark].mean() < 1 for mark in matched]]})
        half = stats.t.ppf(0.975, groups - 1) * fit.bse[0] * math.sqrt(groups / (groups - 1))
        changes.append(fit.params[0])
        ends += [fit.params[0] - half, fit.params[0] + half]
    assert found.change == pytest.approx(np.mean(changes))
    assert (found.low, found.high) == (pytest.approx(min(ends)), pytest.approx(max(ends)))
    assert (corrected([found])[0].adjusted, found.biased) == (None, False), "it is no test"


def named(dice: np.random.Generator, questions: int, answers: int, noise: float, lift: float = 0.0) -> list[Effect]:
    """The probes of one judge that are called biased; `lift` is of the first alone."""
    effects = [
        effect(str(place), marks_of(dice, questions, answers, noise, lift if not place else 0.0))
        for place in range(PROBES)
    ]
    return [one for one in corrected(effects) if one.biased]


def test_an_unbiased_judge_is_rarely_called_biased() -> None:
    """At most 5 % of 60 judges whose noise alone changes marks, plus three standard errors."""
    dice = np.random.default_rng([30, 60])
    called = sum(bool(named(dice, 30, 60, 0.2)) for _ in range(60))
    assert called <= 60 * 0.05 + 3 * math.sqrt(60 * 0.05 * 0.95)
