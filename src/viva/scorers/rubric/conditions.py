"""Conditions on the items before: `item 1 matched and not previous matched`. Read as rules, never evaluated as code.

    condition := both ("or" both)*
    both      := single ("and" single)*
    single    := "not" single | "(" condition ")" | "previous matched" | "item" N "matched"

This is how Python reads such an expression, once every item is a name.

Items count from 1. What has not been judged has not matched: `previous` of the first item, a later item, an item that
the list does not have.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache
from typing import Final

from viva.errors import VivaError
from viva.scorers.rubric.parsing import ONE_AT_A_TIME
from viva.scorers.rubric.rubrics import AllOf, AnyOf, Matched, NotRule, Rule, inner

MAX_LENGTH: Final = 1_000
"""Characters of a condition."""
MAX_NESTING: Final = 50
"""Depth of parentheses and `not`."""

_ITEM = re.compile(r"\b(?:item\s+([1-9]\d{0,5})|previous)\s+matched\b", re.ASCII)
_WORDS = re.compile(r"(?:[\s()]|\b(?:and|or|not|_\d+_+)\b)*")
_EXPECTED = "write 'previous matched' or 'item 1 matched', joined by 'and', 'or', 'not', '(' and ')'"


class ConditionError(VivaError):
    """A condition that cannot be read. `column` counts from 1."""

    def __init__(self, text: str, column: int, what: str = _EXPECTED) -> None:
        shown = text if len(text) <= 80 else text[:79] + "…"
        super().__init__(f"the condition {shown!r} cannot be read at column {column}: {what}")
        self.column = column


@lru_cache(maxsize=1024)
def parse(text: str) -> Rule:
    """Parse a condition. Raises ConditionError with the column of the error."""
    if len(text) > MAX_LENGTH:
        raise ConditionError(text, MAX_LENGTH + 1, f"it is longer than {MAX_LENGTH:,} characters")
    if text.count("not") + text.count("(") > MAX_NESTING:
        raise ConditionError(text, 1, f"more than {MAX_NESTING} times 'not' and '('")
    named = re.sub(r"\s", " ", _ITEM.sub(lambda item: f"_{item[1] or 0}".ljust(len(item[0]), "_"), text))
    words = _WORDS.match(named)
    if words and words.end() < len(named):
        raise ConditionError(text, words.end() + 1)
    begins = len(named) - len(named.lstrip())
    try:
        with ONE_AT_A_TIME:
            return _rule(ast.parse(named[begins:], mode="eval").body)
    except SyntaxError as error:
        raise ConditionError(text, begins + min(max(1, error.offset or 1), len(named) - begins + 1)) from None


def _rule(node: ast.expr) -> Rule:
    match node:
        case ast.BoolOp(op=ast.Or(), values=values):
            return AnyOf(tuple(map(_rule, values)))
        case ast.BoolOp(values=values):
            return AllOf(tuple(map(_rule, values)))
        case ast.UnaryOp(operand=operand):
            return NotRule(_rule(operand))
        case ast.Name(id=name):
            return Matched(int(name.strip("_")))
    raise SyntaxError("no condition", (None, node.lineno, node.col_offset + 1, None))


def items(condition: Rule) -> frozenset[int]:
    """Return the items that a condition names, 0 for the one before."""
    own = {condition.item} if isinstance(condition, Matched) else set[int]()
    return frozenset(own).union(*map(items, inner(condition)))
