"""Conditions on the items before: `item 1 matched and not previous matched`. Read as rules, never evaluated as code.

    condition := both ("or" both)*
    both      := single ("and" single)*
    single    := "not" single | "(" condition ")" | "previous matched" | "item" N "matched"

Items count from 1. What has not been judged has not matched: `previous` for the first item, a later item, an item that
the list does not have.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Final

from viva.errors import VivaError
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Matched, NotRule, Rule

MAX_LENGTH: Final = 1_000
"""Characters of a condition."""
MAX_NESTING: Final = 50
"""Parentheses and `not` inside each other."""

_WORD = re.compile(r"[()]|[A-Za-z_]+|\d+|\S")
_SINGLE = "'previous matched', 'item 1 matched', 'not' or '('"


class ConditionError(VivaError):
    """A condition that cannot be read. `column` counts from 1."""

    def __init__(self, text: str, column: int, what: str) -> None:
        shown = text if len(text) <= 80 else text[:79] + "…"
        super().__init__(f"the condition {shown!r} cannot be read: {what}, at column {column}")
        self.column = column


@lru_cache(maxsize=1024)
def parse(text: str) -> Rule:
    """Read a condition. Raises ConditionError with the column of what is wrong."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(text, MAX_LENGTH + 1, f"it is longer than {MAX_LENGTH:,} characters")
    words = _Words(text)
    condition = _either(words, 0)
    if words.now:
        raise words.expected("'and', 'or' or the end")
    return condition


def items(condition: Rule) -> frozenset[int]:
    """Return the items that a condition names, 0 for the one before."""
    match condition:
        case Matched(item=item):
            return frozenset({item})
        case NotRule(rule=inner):
            return items(inner)
        case AnyOf(rules=rules) | AllOf(rules=rules):
            return frozenset[int]().union(*map(items, rules))
        case _:
            return frozenset()


class _Words:
    """The words of a condition, with a place in them."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.found = [(match.group(), match.start() + 1) for match in _WORD.finditer(text)]
        self.at = 0

    @property
    def now(self) -> str:
        return self.found[self.at][0] if self.at < len(self.found) else ""

    def take(self, word: str) -> bool:
        """Step over a word if it is the next."""
        taken = self.now == word
        self.at += taken
        return taken

    def expected(self, what: str) -> ConditionError:
        column = self.found[self.at][1] if self.at < len(self.found) else len(self.text) + 1
        met = f"not {self.now!r}" if self.now else "but it ends"
        return ConditionError(self.text, column, f"expected {what}, {met}")


def _either(words: _Words, depth: int) -> Rule:
    return _joined(words, "or", AnyOf, lambda: _joined(words, "and", AllOf, lambda: _single(words, depth)))


def _joined(words: _Words, word: str, kind: type[AnyOf | AllOf], read: Callable[[], Rule]) -> Rule:
    rules = [read()]
    while words.take(word):
        rules.append(read())
    return rules[0] if len(rules) == 1 else kind(tuple(rules))


def _single(words: _Words, depth: int) -> Rule:
    if depth > MAX_NESTING:
        raise words.expected(f"at most {MAX_NESTING} levels of 'not' and '('")
    if words.take("not"):
        return NotRule(_single(words, depth + 1))
    if words.take("("):
        condition = _either(words, depth + 1)
        if not words.take(")"):
            raise words.expected("'and', 'or' or ')'")
        return condition
    if words.take("previous"):
        return _matched(words, 0)
    if words.take("item"):
        number = words.now
        if not re.fullmatch(r"[1-9][0-9]{0,5}", number):
            raise words.expected("a number from 1")
        words.at += 1
        return _matched(words, int(number))
    raise words.expected(_SINGLE)


def _matched(words: _Words, item: int) -> Rule:
    if not words.take("matched"):
        raise words.expected("'matched'")
    return Matched(item)
