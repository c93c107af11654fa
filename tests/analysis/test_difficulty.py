"""The paper's five levels of difficulty: every rule at its limits, and missing scores left undecided."""

import re
from collections import Counter
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.analysis.items.itemscores import Levels, agreement, level, levels, named, read_levels
from viva.errors import DataError

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


@given(
    weaker=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    stronger=st.lists(st.floats(0, 1), min_size=1, max_size=5),
    warm=st.lists(st.floats(0, 1), min_size=10, max_size=12),
)
def test_a_warm_run_and_trials_enough_decide_everything_and_only_among_what_was_open(
    weaker: list[float], stronger: list[float], warm: list[float]
) -> None:
    possible = level(weaker, stronger)
    decided = level(weaker, stronger, warm, trials=1)
    assert len(decided) == 1
    assert set(decided) <= set(possible)
    assert sorted(possible) == list(possible)


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
