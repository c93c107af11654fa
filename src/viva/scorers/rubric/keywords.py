"""Keywords: texts that an answer must, may or must not contain, item by item (InfiBench's specification, section 3).

An item's rule is a tree of literal texts and regular expressions; a match adds the item's weight, or takes it away.
Items are judged in order and added up one by one in double precision, as the published scores were.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from time import process_time
from typing import Final

from viva.scorers.rubric import patterns
from viva.scorers.rubric.conditions import parse
from viva.scorers.rubric.patterns import PatternError
from viva.scorers.rubric.rubrics import (
    AllOf,
    AnyOf,
    Keyword,
    Literally,
    Matched,
    NotRule,
    Pattern,
    Points,
    Rule,
    When,
    inner,
)

SECONDS: Final = 2.0
"""CPU time that all patterns of one question may take on one answer."""

_SHOWN = 60
"""Characters of a rule that a line of explanation shows."""


def grade_keywords(items: Sequence[Keyword], text: str) -> tuple[Points, tuple[bool, ...]]:
    """Return the points of a keyword list, and which of its items matched.

    Raises PatternError (a pattern is malformed or takes too long) and ConditionError.
    """
    answer = _Answer(text)
    matched: list[bool] = []
    details: list[str] = []
    points = total = 0.0
    for item in items:
        matched_now = _matches(item.rule, item, answer, matched)
        matched.append(matched_now)
        change = (-item.weight if item.negative else item.weight) if matched_now else 0.0
        points += change
        total += 0 if item.negative else item.weight
        details.append(f"{change:+g} {'matched' if matched_now else 'unmatched'}: {describe(item.rule)}")
    return Points(points, total, tuple(details)), tuple(matched)


class _Answer:
    """A text, its lower case (computed on first use), and the time spent on it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._spent = 0.0

    @cached_property
    def lower(self) -> str:
        return self.text.lower()

    def contains(self, literal: str, item: Keyword) -> bool:
        return literal.lower() in self.lower if item.ignore_case else literal in self.text

    def search(self, pattern: str, item: Keyword) -> bool:
        started = process_time()
        if item.ignore_case and item.fold_pattern:
            match = patterns.search(pattern.lower(), self.lower)
        else:
            match = patterns.search(pattern, self.text, ignore_case=item.ignore_case)
        self._spent += process_time() - started
        if self._spent > SECONDS:
            raise PatternError(
                f"the patterns of this question take more than {SECONDS} s together on a text of {len(self.text):,} "
                f"characters, {pattern[:_SHOWN]!r} the last: make them simpler"
            )
        return match


def _matches(rule: Rule, item: Keyword, answer: _Answer, matched: Sequence[bool]) -> bool:
    """Return whether a rule holds; `matched` has the results of the earlier items."""
    match rule:
        case Literally(text=literal):
            return answer.contains(literal, item)
        case Pattern(pattern=pattern):
            return answer.search(pattern, item)
        case AnyOf(rules=rules) | AllOf(rules=rules):
            held = (_matches(each, item, answer, matched) for each in rules)
            return any(held) if isinstance(rule, AnyOf) else all(held)
        case NotRule(rule=within):
            return not _matches(within, item, answer, matched)
        case When(rule=within, condition=condition):
            return _matches(within, item, answer, matched) and _matches(parse(condition), item, answer, matched)
        case Matched(item=number):
            return number <= len(matched) > 0 and matched[number - 1]


def words_of(item: Keyword) -> list[str]:
    """Return the shortest texts with which an item matches, as far as they can be derived; none where a match costs
    points.
    """
    return [] if item.negative else _words(item.rule)


def _words(rule: Rule) -> list[str]:
    match rule:
        case Literally(text=text):
            return [text]
        case Pattern(pattern=pattern):
            return [re.sub(r"\\(\W)", r"\1", pattern)]
        case AnyOf(rules=rules):
            return min((_words(each_rule) for each_rule in rules), key=lambda words: sum(map(len, words)), default=[])
        case NotRule() | Matched():
            return []
    return [word for each in inner(rule) for word in _words(each)]


@lru_cache(maxsize=4096)
def describe(rule: Rule) -> str:
    """Return a rule in a few words, cut to one short line."""
    words = " ".join(_described(rule).split())
    return words if len(words) <= _SHOWN else words[: _SHOWN - 1] + "…"


def _described(rule: Rule) -> str:
    match rule:
        case Literally(text=literal):
            return literal
        case Pattern(pattern=pattern):
            return f"/{pattern}/"
        case AnyOf(rules=rules) | AllOf(rules=rules):
            return f"{'any' if isinstance(rule, AnyOf) else 'all'} of {', '.join(map(_described, rules))}"
        case NotRule(rule=within):
            return "not " + _described(within)
        case When(rule=within, condition=condition):
            return f"{_described(within)} when {condition}"
        case Matched(item=number):
            return f"item {number} matched"


def leaves(rule: Rule, *, denied: bool = False) -> Iterator[Literally | Pattern]:
    """Return the texts and expressions that a rule looks for; with `denied`, those that must not be there too."""
    if isinstance(rule, Literally | Pattern):
        yield rule
    if denied or not isinstance(rule, NotRule):
        for each in inner(rule):
            yield from leaves(each, denied=denied)
