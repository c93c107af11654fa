"""Twins of tests: the same test with one expected value changed, so that whoever passes the test fails the twin.

A program that shares a process with its test and passes both has not been tested at all: it is listed, never scored.
"""

from __future__ import annotations

import ast
import warnings

from viva.sandbox.separable import MOST


def failing_twin(language: str, test: str) -> str:
    """The twin; "" where no assertion at the test's top compares with a plain value, or in another language than
    Python."""
    if language != "python" or len(test) > MOST:
        return ""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(test)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return ""
    for statement in tree.body:
        if not isinstance(statement, ast.Assert) or not isinstance(statement.test, ast.Compare):
            continue
        compared = statement.test
        if len(compared.ops) == 1 and isinstance(compared.ops[0], ast.Eq) and _called(compared.left):
            try:
                other = _other(ast.literal_eval(compared.comparators[0]))
            except (ValueError, TypeError, MemoryError, RecursionError):
                continue
            compared.comparators[0] = ast.parse(repr(other), mode="eval").body
            return ast.unparse(tree)
    return ""


def _called(node: ast.expr) -> bool:
    return any(isinstance(part, ast.Call) for part in ast.walk(node))


def _other(value: object) -> object:
    """A value that nothing equals which equals this one."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value * 3 + 1_000_003
    if isinstance(value, str):
        return value + "~"
    if isinstance(value, list):
        return [*value, None]
    if isinstance(value, tuple):
        return (*value, None)
    if isinstance(value, dict):
        return {**value, "~": None}
    raise TypeError(type(value).__name__)
