"""Conditions on the items before: `item 1 matched and not previous matched`. Parsed here, never evaluated as code.

    condition := both ("or" both)*
    both      := single ("and" single)*
    single    := "not" single | "(" condition ")" | "previous matched" | "item" N "matched"

Items count from 1. What has not been judged has not matched: `previous` for the first item, a later item, an item that
the list does not have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from viva.errors import VivaError

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


class Matched(Struct, frozen=True):
    """That an item matched: `item` counts from 1, and 0 is the one before."""

    item: int


class Not(Struct, frozen=True):
    """That a condition does not hold."""

    condition: Condition


class And(Struct, frozen=True):
    """That all conditions hold."""

    conditions: tuple[Condition, ...]


class Or(Struct, frozen=True):
    """That at least one condition holds."""

    conditions: tuple[Condition, ...]


Condition = Matched | Not | And | Or


@lru_cache(maxsize=1024)
def parse(text: str) -> Condition:
    """Read a condition. Raises ConditionError with the column of what is wrong."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(text, MAX_LENGTH + 1, f"it is longer than {MAX_LENGTH:,} characters")
    words = _Words(text)
    condition = _either(words, 0)
    if words.now:
        raise words.expected("'and', 'or' or the end")
    return condition


def holds(condition: Condition, matched: Sequence[bool]) -> bool:
    """Whether a condition holds, given which items have matched so far, in order."""
    match condition:
        case Matched(item=item):
            return item <= len(matched) and len(matched) > 0 and matched[item - 1]
        case Not(condition=inner):
            return not holds(inner, matched)
        case And(conditions=inners):
            return all(holds(inner, matched) for inner in inners)
        case Or(conditions=inners):
            return any(holds(inner, matched) for inner in inners)


def items(condition: Condition) -> frozenset[int]:
    """The items that a condition names, 0 for the one before."""
    match condition:
        case Matched(item=item):
            return frozenset({item})
        case Not(condition=inner):
            return items(inner)
        case And(conditions=inners) | Or(conditions=inners):
            return frozenset[int]().union(*(items(inner) for inner in inners))


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


def _either(words: _Words, depth: int) -> Condition:
    found = [_both(words, depth)]
    while words.take("or"):
        found.append(_both(words, depth))
    return found[0] if len(found) == 1 else Or(tuple(found))


def _both(words: _Words, depth: int) -> Condition:
    found = [_single(words, depth)]
    while words.take("and"):
        found.append(_single(words, depth))
    return found[0] if len(found) == 1 else And(tuple(found))


def _single(words: _Words, depth: int) -> Condition:
    if depth > MAX_NESTING:
        raise words.expected(f"at most {MAX_NESTING} levels of 'not' and '('")
    if words.take("not"):
        return Not(_single(words, depth + 1))
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


def _matched(words: _Words, item: int) -> Condition:
    if not words.take("matched"):
        raise words.expected("'matched'")
    return Matched(item)
