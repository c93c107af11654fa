"""Keyword lists: rules, weights, case, and conditions on earlier items."""

import pytest

from rows import each_row
from viva.scorers.rubric import keywords, patterns
from viva.scorers.rubric.conditions import ConditionError
from viva.scorers.rubric.keywords import describe, grade_keywords
from viva.scorers.rubric.patterns import PatternError
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Keyword, Literally, NotRule, Pattern, Rule, When
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
