"""Python's syntax tree of a text, and the names that it binds."""

from __future__ import annotations

import ast
import threading
import warnings

ONE_AT_A_TIME = threading.Lock()
"""CPython keeps one depth counter for all trees being built: of two threads one fails (SystemError)."""
MAX_PARSED = 200_000
"""Characters: a longer text is not tried as Python (no answer is that long, and parsing takes memory)."""


def parse(text: str) -> ast.Module | None:
    """Return the syntax tree of a text, or None where it is no Python, or too long."""
    if len(text) > MAX_PARSED:
        return None
    try:
        with ONE_AT_A_TIME, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def bound(tree: ast.AST) -> set[str | None]:
    """Return every name that a program binds, anywhere."""
    return set().union(*map(_bound, ast.walk(tree)))


def _bound(node: ast.AST) -> set[str | None]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Load) else {node.id}
    if isinstance(node, ast.alias):
        return {(node.asname or node.name).split(".")[0]}
    return set() if isinstance(node, ast.keyword) else {getattr(node, "name", None), getattr(node, "arg", None)}
