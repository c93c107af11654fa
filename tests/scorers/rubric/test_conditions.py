"""The little language of conditions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.scorers.rubric.conditions import ConditionError, items, parse
from viva.scorers.rubric.keywords import grade_keywords
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Keyword, Literally, Matched, NotRule, Rule, When


def holds(condition: str, matched: list[bool]) -> bool:
    """Whether an item with the condition matches after items that matched or not."""
    before = [Keyword(rule=Literally("x" if each else "y")) for each in matched]
    return grade_keywords([*before, Keyword(rule=When(Literally(""), condition))], "x")[1][-1]


@each_row(
    ("previous matched", [], False),
    ("not previous matched", [], True),
    ("previous matched", [True], True),
    ("previous matched", [True, False], False),
    ("item 1 matched", [True, False], True),
    ("item 2 matched", [True, False], False),
    ("item 3 matched", [True, False], False),  # not judged yet
    ("item 1 matched and not previous matched", [True, False], True),
    ("item 1 matched or item 2 matched and item 3 matched", [True, False, False], True),
    ("(item 1 matched or item 2 matched) and item 3 matched", [True, False, False], False),
    ("not item 1 matched or item 1 matched", [True], True),
    ("not (item 1 matched or item 1 matched)", [True], False),
    ("not not item 1 matched", [True], True),
    ("(item 1 matched)", [True], True),
    ("  item\t1\nmatched  ", [True], True),
    ("not(item 1 matched)and(previous matched)", [True], False),
    ("item 10 matched", [False] * 9 + [True], True),
)
def test_conditions_hold(text, matched, value):
    assert holds(text, matched) is value


def test_what_is_wrong_is_said_with_its_column():
    broken = ("", "previous", "previous match", "item matched", "item 0 matched", "item 01 matched", "item -1 matched")
    broken += ("item １ matched", "item 1234567 matched", "item 1 matched(item 2 matched)", "(item 1 matched", "()")
    broken += ("item 1 matched or", "and item 1 matched", "context[-1].startswith('match')", "__import__('os')")
    cases = (
        *((text, 1) for text in broken),
        ("item 1 matched item 2 matched", 16),
        ("item 1 matched &", 16),
        ("item 1 matched AND item 2 matched", 16),
        ("item 1 matched)", 15),
        ("item 2 matched and item x matched", 20),
    )
    for (text, column), row in tabled(*cases):
        with row:
            with pytest.raises(ConditionError, match="'previous matched' or 'item 1 matched'") as caught:
                parse(text)
            assert caught.value.column == column
    for text in ("(" * 60 + "item 1 matched" + ")" * 60, "not " * 60 + "item 1 matched", "not " * 5000):
        with pytest.raises(ConditionError, match=r"more than 50|longer than 1,000"):
            parse(text)


def test_the_items_of_a_condition_are_known():
    assert items(parse("item 2 matched and not (previous matched or item 7 matched)")) == {0, 2, 7}


def written(condition: Rule) -> str:
    match condition:
        case Matched(item=item):
            return f"item {item} matched" if item else "previous matched"
        case NotRule(rule=inner):
            return f"not ({written(inner)})"
        case AnyOf(rules=inners) | AllOf(rules=inners):
            return (" or " if isinstance(condition, AnyOf) else " and ").join(f"({written(inner)})" for inner in inners)
    raise AssertionError(condition)


def meant(condition: Rule, matched: list[bool]) -> bool:
    """What a condition means, said with Python's own words."""
    flags = {f"item {n + 1} matched": flag for n, flag in enumerate(matched)}
    flags["previous matched"] = matched[-1]
    text = written(condition)
    for name, flag in flags.items():
        text = text.replace(name, str(flag))
    return bool(eval(text))


CONDITIONS = st.recursive(
    st.builds(Matched, st.integers(0, 3)),
    lambda inner: st.one_of(
        st.builds(NotRule, inner),
        st.builds(lambda rules: AllOf(tuple(rules)), st.lists(inner, min_size=2, max_size=3)),
        st.builds(lambda rules: AnyOf(tuple(rules)), st.lists(inner, min_size=2, max_size=3)),
    ),
    max_leaves=8,
)


@given(CONDITIONS, st.lists(st.booleans(), min_size=3, max_size=3))
def test_what_is_written_is_read_and_means_what_python_means(condition: Rule, matched: list[bool]):
    assert parse(written(condition)) == condition
    assert holds(written(condition), matched) is meant(condition, matched)
