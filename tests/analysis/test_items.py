"""Statistics of questions against SciPy and by hand, and the paper's five levels of difficulty."""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.responders import lsat6, world
from rows import each_row, tabled
from viva.analysis.items.itemscores import Levels, agreement, level, levels, named, read_levels
from viva.analysis.items.itemstatistics import item_statistics, reliability
from viva.errors import DataError

EIGHT = np.array(
    [
        [0.86, 0.16, 0.91, 0.90, 0.96, 0.92],
        [0.16, 0.01, 0.10, 0.06, 0.08, 0.21],
        [0.96, 0.04, 0.49, 0.85, 0.45, 0.69],
        [0.76, 0.04, 0.33, 0.61, 0.04, 0.75],
        [0.37, 0.00, 0.40, 0.65, 0.35, 0.30],
        [0.66, 0.03, 0.72, 0.71, 0.56, 0.83],
        [0.20, 0.00, 0.16, 0.25, 0.12, 0.11],
        [0.70, 0.00, 0.56, 0.65, 0.17, 0.62],
    ]
)


def test_alpha_and_its_interval_are_those_of_pingouin() -> None:
    # pingouin 0.7.0, cronbach_alpha: 0.9218665638256845, [0.791, 0.982]; of (EIGHT > 0.5) 0.8535564853556484,
    # [0.608, 0.966]; of LSAT 6 0.294997192215944, [0.223, 0.362]
    for scores, value, low, high, binary in (
        (EIGHT, 0.9218665638256845, 0.791, 0.982, False),
        ((EIGHT > 0.5).astype(float), 0.8535564853556484, 0.608, 0.966, True),
        (lsat6(), 0.294997192215944, 0.223, 0.362, True),
    ):
        found = reliability(scores)
        assert found.value == pytest.approx(value, abs=1e-12)
        assert (found.low, found.high) == (pytest.approx(low, abs=6e-4), pytest.approx(high, abs=6e-4))
        assert found.binary is binary


def test_discrimination_is_the_correlation_with_the_rest() -> None:
    from scipy import stats

    found = item_statistics(EIGHT)
    for place in range(6):
        rest = np.delete(EIGHT, place, axis=1).sum(axis=1)
        expected = stats.pearsonr(EIGHT[:, place], rest)
        assert found.discrimination[place] == pytest.approx(expected.statistic)
        assert found.p[place] == pytest.approx(expected.pvalue)
    assert found.facility == pytest.approx(EIGHT.mean(axis=0))


def test_gaps_are_left_out_on_both_sides() -> None:
    from scipy import stats

    scores = EIGHT.copy()
    scores[0, 0] = scores[3, 2] = np.nan
    found = item_statistics(scores)
    rest = np.array([np.nanmean(np.delete(row, 0)) for row in scores])[1:]
    assert found.discrimination[0] == pytest.approx(stats.pearsonr(scores[1:, 0], rest).statistic)
    assert found.models.tolist() == [7, 8, 7, 8, 8, 8]
    assert (found.reliability.questions, found.reliability.left_out) == (4, 2)


def test_what_nobody_and_everybody_passes() -> None:
    found = item_statistics(np.array([[0, 1, 1.0, 0], [0, 1, 0.0, -0.5], [0, 1, np.nan, 0], [0, 1, 0.5, 0]]))
    assert found.nobody.tolist() == [True, False, False, True]
    assert found.everybody.tolist() == [False, True, False, False]
    assert np.isnan(found.discrimination[:2]).all()


def test_wrong_gold_answers_are_found_and_chance_is_not_called_sure() -> None:
    made = world(40, 300, 5)
    wrong = np.argsort(-made.discrimination * (np.abs(made.difficulty) < 1))[:5]
    made.scores[:, wrong] = 1 - made.scores[:, wrong]
    found = item_statistics(made.scores)
    assert set(np.flatnonzero(found.surely_negative)) == set(wrong)
    coins = (np.random.default_rng(1).random((10, 1000)) < 0.5).astype(float)
    by_chance = item_statistics(coins)
    assert 400 < by_chance.negative.sum() < 600
    assert not by_chance.surely_negative.any()


def test_three_models_on_a_line_are_not_sure() -> None:
    scores = np.array([[0, 1, 1, 1], [0, 1, 1, 1], [1, 0, 0, 1.0]])  # the first question: r = −1, Student's p is 0
    found = item_statistics(scores)
    assert found.discrimination[0] == pytest.approx(-1)
    assert found.p[0] == pytest.approx(1 / 3), "one of the three ways in which one of three models passes"
    noise = np.random.default_rng(8).random((40, 3, 50)) < 0.5
    assert not any(item_statistics(each.astype(float)).surely_negative.any() for each in noise)


def test_two_models_and_models_that_are_all_alike_have_no_discrimination_and_no_alpha() -> None:
    for scores in (EIGHT[:2], np.tile([1.0, 0.0, 1.0], (5, 1))):
        found = item_statistics(scores)
        assert np.isnan(found.discrimination).all()
        assert found.reliability is None
        assert not found.negative.any()


def test_a_question_without_a_score_is_refused() -> None:
    with pytest.raises(DataError, match="at least one on every question"):
        item_statistics(np.array([[1.0, np.nan], [0.0, np.nan]]))


GOOD, HALF, WEAK, NONE = [1.0] * 30, [0.5] * 30, [0.3] * 30, [0.0] * 30
JUST_BELOW = [0.5] * 29 + [0.49]
ONCE = [0.0] * 29 + [0.1]
LONG = [0.0] * 100
RISING = [0.1] * 9 + [0.5]
LATE = [0.1] * 10 + [1.0] * 20

RULE: dict[str, tuple[Sequence[float | None], Sequence[float | None], Sequence[float | None] | None, Levels]] = {
    "the weaker one knows it": (GOOD, NONE, NONE, (1,)),
    "a mean of exactly one half is level 1": (HALF, NONE, None, (1,)),
    "a mean just below is not": (JUST_BELOW, GOOD, None, (2,)),
    "thirds rounded to six decimals still make a half": ([0.333333, 0.666667, 0.5], NONE, None, (1,)),
    "the same for the stronger one": (NONE, HALF, NONE, (2,)),
    "just below for the stronger one": (NONE, JUST_BELOW, RISING, (3,)),
    "one of ten warm answers reaches a half": (NONE, NONE, RISING, (3,)),
    "only the first ten warm answers count": (NONE, ONCE, LATE, (4,)),
    "the warm ones fail, a cool one earned a tenth": (NONE, ONCE, NONE, (4,)),
    "a hundred answers and no point": (NONE, LONG, NONE, (5,)),
    "a negative score is no point": (NONE, [-1.0] * 100, NONE, (5,)),
    "thirty answers and no point leave two levels": (NONE, NONE, NONE, (4, 5)),
    "no warm run and some points": (NONE, WEAK, None, (3, 4)),
    "no warm run and no point": (NONE, NONE, None, (3, 4, 5)),
    "no warm run and no point in a hundred": (NONE, LONG, None, (3, 5)),
    "too few warm answers that fail decide nothing": (NONE, ONCE, [0.0] * 9, (3, 4)),
    "too few warm answers of which one succeeds are enough": (NONE, ONCE, [0.5], (3,)),
    "unscored answers are not counted": ([None, 0.5], NONE, None, (1,)),
    "nor for the stronger one": (NONE, [None, 1.0, None], None, (2,)),
}


def test_the_rule_line_by_line() -> None:
    for (_name, (weaker, stronger, warm, expected)), row in tabled(*RULE.items()):
        with row:
            assert level(weaker, stronger, warm) == expected


def test_fewer_trials_are_enough_for_level_5_when_one_says_so() -> None:
    assert level(NONE, NONE, NONE, trials=30) == (5,)
    assert level(NONE, NONE, NONE, trials=31) == (4, 5)
    assert level(NONE, ONCE, NONE, trials=30) == (4,)


def test_a_question_without_a_scored_answer_has_no_level() -> None:
    found = levels({"a": [None], "b": GOOD, "c": NONE}, {"a": GOOD, "b": [None], "c": GOOD, "d": GOOD})
    assert found == {"a": (), "b": (), "c": (2,)}
    with pytest.raises(DataError, match="weaker"):
        level([None], GOOD)
    with pytest.raises(DataError, match="no number"):
        level([float("nan")], GOOD)


def test_a_question_that_the_warm_run_lacks_stays_open() -> None:
    found = levels({"a": NONE, "b": NONE, "c": NONE}, dict.fromkeys("abc", ONCE), {"a": RISING, "b": [None] * 10})
    assert found == {"a": (3,), "b": (3, 4), "c": (3, 4)}
    assert levels({"a": NONE}, {"a": ONCE}, {}) == {"a": (3, 4)}


def test_agreement_counts_the_questions_of_both() -> None:
    found = agreement({"a": (1,), "b": (3, 4), "c": (3, 4), "x": (2,)}, {"a": 1, "b": 4, "c": 2, "y": 5})
    assert found == Counter({((1,), 1): 1, ((3, 4), 4): 1, ((3, 4), 2): 1})


@pytest.mark.parametrize(("possible", "words"), [((), "–"), ((2,), "2"), ((3, 4), "3 or 4"), ((3, 4, 5), "3, 4 or 5")])
def test_levels_in_words(possible: Levels, words: str) -> None:
    assert named(possible) == words


PUBLISHED_SHAPE = """
# a comment
level-1:
  - cases/eval_0-0-8.yaml
  - 'cases/eval_0-0-0.yaml'   # quoted
level-2:
level-5:
- eval_1-3-223.yaml
- my-own
"""


def test_the_published_shape_is_read() -> None:
    assert read_levels(PUBLISHED_SHAPE, "f") == {"0-0-8": 1, "0-0-0": 1, "1-3-223": 5, "my-own": 5}


@each_row(
    ("", "no levels"),
    ("level-1:\n", "no levels"),
    ("- a\n", "line 1"),
    ("level-1:\n  - a\nlevel-2:\n  - a\n", "line 4"),
    ("level-1:\n  - a\n  b\n", "line 3"),
    ("level-1: [a, b]\n", "line 1"),
    ("\x00\n", "line 1"),
)
def test_what_is_no_grouping_is_refused_with_the_line(text: str, said: str) -> None:
    with pytest.raises(DataError, match=said):
        read_levels(text, "f.yaml")


@given(text=st.text(max_size=200))
def test_any_text_is_a_grouping_or_a_sentence(text: str) -> None:
    said = ""
    try:
        assert read_levels(text, "f")
    except DataError as problem:
        said = str(problem)
    assert said == "" or re.match(r"f(, line \d+: | holds no levels)", said)
