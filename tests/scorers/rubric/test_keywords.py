"""Keyword lists: rules, weights, case, and the little language of conditions on earlier items."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rows import each_row, tabled
from viva.scorers.rubric import keywords, patterns
from viva.scorers.rubric.conditions import ConditionError, items, parse
from viva.scorers.rubric.keywords import describe, grade_keywords
from viva.scorers.rubric.patterns import PatternError
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Keyword, Literally, Matched, NotRule, Pattern, Rule, When
from within import within

YES, NO = Literally("a"), Literally("b")
PREVIOUS = "previous matched"


def matches(rule: Rule, text: str, *, ignore_case: bool = False, fold_pattern: bool = False) -> bool:
    item = Keyword(rule=rule, ignore_case=ignore_case, fold_pattern=fold_pattern)
    return grade_keywords([item], text)[1] == (True,)


@each_row(
    (YES, True),
    (NO, False),
    (Literally(""), True),
    (Pattern("^a$"), True),
    (Pattern("A"), False),
    (AnyOf((NO, YES)), True),
    (AnyOf((NO, NO)), False),
    (AnyOf(()), False),
    (AllOf((YES, YES)), True),
    (AllOf((YES, NO)), False),
    (AllOf(()), True),
    (NotRule(NO), True),
    (NotRule(YES), False),
    (AllOf((AnyOf((NO, YES)), NotRule(AllOf((YES, NO))))), True),
    (When(YES, PREVIOUS), False),
    (When(YES, f"not {PREVIOUS}"), True),
    (When(NO, f"not {PREVIOUS}"), False),
)
def test_rules_on_a_text_of_one_letter(rule, value):
    assert matches(rule, "a") is value


@each_row(
    (Literally("Vercel.JSON"), "edit vercel.json", False, True, True),
    (Literally("vercel.json "), "edit vercel.json", False, False, False),
    (Literally("ß"), "SS", False, False, False),  # lower case, not case folding
    (Pattern("vercel\\.JSON"), "edit Vercel.json", False, True, True),
    (Pattern("a\\Sb"), "AXB", False, True, False),  # put in lower case, \S becomes \s: case 0-1-137
    (Pattern("a\\Sb"), "A B", False, False, True),
    (Pattern("[A-Z]{3}"), "abc", False, True, True),
    (Pattern("\\N{DIGIT ONE}"), "1", True, True, None),  # \n{digit one}: the published reading has its price
)
def test_case_can_be_ignored_in_two_ways(rule, text, plain, ignoring, folding):
    assert matches(rule, text) is plain
    assert matches(rule, text, ignore_case=True) is ignoring
    if folding is not None:
        assert matches(rule, text, ignore_case=True, fold_pattern=True) is folding
    assert matches(rule, text, fold_pattern=True) is plain


def test_weights_are_added_and_negative_items_take_away():
    items = [
        Keyword(rule=rule, weight=weight, negative=weight > 4)
        for rule, weight in ((YES, 2.0), (NO, 4.0), (YES, 8.0), (NO, 16.0))
    ]
    points, matched = grade_keywords(items, "a")
    assert (points.points, points.total) == (-6.0, 6.0)
    assert matched == (True, False, True, False)
    assert points.details == ("+2 matched: a", "+0 unmatched: b", "-8 matched: a", "+0 unmatched: b")


def test_a_condition_sees_the_items_before_also_those_whose_own_condition_failed():
    conditions = ("not previous matched", "item 1 matched and not previous matched", "item 5 matched")
    items = [Keyword(rule=YES), *(Keyword(rule=When(YES, condition)) for condition in conditions)]
    assert grade_keywords(items, "a")[1] == (True, False, True, False)


def test_errors_of_the_question_reach_the_caller():
    with pytest.raises(PatternError, match="missing"):
        grade_keywords([Keyword(rule=Pattern("(a"))], "a")
    with pytest.raises(ConditionError, match="column 1"):
        grade_keywords([Keyword(rule=When(YES, "nonsense"))], "a")


def test_many_slow_patterns_share_one_budget(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(keywords, "SECONDS", 0.2)
    text = "foo" * 10_000  # short enough for one pattern to be done in its own time, also on a busy machine
    slow = [Keyword(rule=Pattern(f"foo.*bar{n}")) for n in range(1_000)]
    with within(0.3 + patterns.SECONDS), pytest.raises(PatternError, match="together"):
        grade_keywords(slow, text)


def test_rules_may_be_nested_fifty_deep():
    rule: Rule = YES
    for depth in range(50):
        rule = (AnyOf((NO, rule)), AllOf((YES, rule)), NotRule(NotRule(rule)), When(rule, "not previous matched"))[
            depth % 4
        ]
    assert matches(rule, "a")
    assert len(describe(rule)) <= 60


def test_a_rule_is_described_on_one_short_line():
    assert describe(Literally("two\n  lines")) == "two lines"
    assert describe(AllOf((Literally("x"), NotRule(Pattern("y+"))))) == "all of x, not /y+/"
    assert describe(When(AnyOf((YES, NO)), PREVIOUS)) == "any of a, b when previous matched"
    assert len(describe(Literally("x" * 1_000))) == 60


# The little language of conditions


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
