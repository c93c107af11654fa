"""Effects of bias probes: by hand, against statsmodels, and by simulation of judges without any bias."""

from __future__ import annotations

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
    assert found.up is not None
    assert found.down is not None
    assert (found.up.value, found.down.value) == (0.5, 0.25)
    assert found.p == pytest.approx(0.75), (
        "of the 8 ways to sign 1, ½ and ½, six have a sum of at least 1 or at most −1"
    )
    assert found.low is not None
    assert found.high is not None
    assert -1 <= found.low < 0.25 < found.high <= 1
    again = asked_again("asked again", pairs)
    assert again.mean == pytest.approx(0.5)
    assert again.failed is not None
    assert again.failed.value == 0.75
    empty = negative_control("empty answer", pairs)
    assert (empty.answers, empty.lost, empty.mean) == (5, 0, pytest.approx(0.9))
    assert empty.failed is not None
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
    assert found.p == pytest.approx(2 / 16), "four questions of five, not 80 answers of 100"
    assert effect("length", [Pair(str(n), one.plain, one.changed) for n, one in enumerate(alike)]).p < 1e-6  # type: ignore[operator]


def test_self_preference_is_the_slope_of_a_regression() -> None:
    statsmodels = pytest.importorskip("statsmodels.api")
    dice = np.random.default_rng(4)
    own = dice.random(120) < 0.4
    references = dice.choice([0.0, 0.5, 1.0], 120)
    questions = dice.integers(0, 30, 120)
    marks = 0.6 * references + 0.1 * own + 0.1 * dice.standard_normal(30)[questions] + 0.1 * dice.standard_normal(120)
    found = self_preference("self", own.tolist(), marks.tolist(), references.tolist(), [f"q{n}" for n in questions])
    design = np.column_stack([own, *(references == mark for mark in (0.0, 0.5, 1.0))]).astype(float)
    fit = statsmodels.OLS(marks, design).fit(
        cov_type="cluster", cov_kwds={"groups": questions, "use_correction": False}
    )
    groups = len(set(questions))
    assert found.change == pytest.approx(fit.params[0])
    assert found.low is not None
    assert found.high is not None
    from scipy.stats import t

    half = t.ppf(0.975, groups - 1) * fit.bse[0] * math.sqrt(groups / (groups - 1))
    assert (found.high - found.low) / 2 == pytest.approx(half)
    assert found.p == pytest.approx(2 * t.sf(abs(found.change or 0) / (half / t.ppf(0.975, groups - 1)), groups - 1))


def named(dice: np.random.Generator, questions: int, answers: int, noise: float, lift: float = 0.0) -> list[Effect]:
    """The probes of one judge that are called biased; `lift` is of the first alone."""
    effects = [
        effect(str(place), marks_of(dice, questions, answers, noise, lift if not place else 0.0))
        for place in range(PROBES)
    ]
    return [one for one in corrected(effects) if one.biased]


@pytest.mark.parametrize(
    "designs",
    [
        [(30, 60, 0.2, 60)],
        pytest.param(
            [(30, 30, 0.2, 1000), (20, 60, 0.1, 1000), (60, 60, 0.02, 1000), (50, 100, 0.5, 1000)],
            marks=pytest.mark.slow,
        ),
    ],
    ids=["some", "all"],
)
def test_an_unbiased_judge_is_rarely_called_biased(designs: list[tuple[int, int, float, int]]) -> None:
    """At most 5 % of judges whose noise alone changes marks, plus three standard errors."""
    for questions, answers, noise, judges in designs:
        dice = np.random.default_rng([questions, answers])
        called = sum(bool(named(dice, questions, answers, noise)) for _ in range(judges))
        assert called <= judges * 0.05 + 3 * math.sqrt(judges * 0.05 * 0.95), (questions, answers, noise, called)


def test_a_biased_judge_is_called_so_by_the_right_probe() -> None:
    dice = np.random.default_rng(9)
    called = [[one.probe for one in named(dice, 60, 60, 0.1, lift=0.5)] for _ in range(20)]
    assert sum("0" in probes for probes in called) >= 19
    assert sum(bool({*probes} - {"0"}) for probes in called) <= 3


@pytest.mark.slow
def test_an_interval_of_self_preference_holds_the_truth() -> None:
    """Of 400 sets with 20 and 60 questions 380 ± 4.4 hold; 367 is three standard errors less."""
    for questions in (20, 60):
        dice = np.random.default_rng(questions)
        held = 0
        for _ in range(400):
            references = dice.choice([0.0, 0.5, 1.0], 3 * questions)
            own = np.arange(3 * questions) % 3 == 0
            asked = np.arange(3 * questions) // 3
            marks = 0.7 * references + 0.15 * own
            marks += 0.1 * dice.standard_normal(questions)[asked] + 0.1 * dice.standard_normal(3 * questions)
            found = self_preference("self", own.tolist(), marks.tolist(), references.tolist(), list(map(str, asked)))
            held += (found.low or 0) <= 0.15 <= (found.high or 0)
        assert held >= 367, (questions, held)
