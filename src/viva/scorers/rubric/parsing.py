"""Whether a text is Python."""

from __future__ import annotations

import ast
import threading
import warnings

_ONE = threading.Lock()
"""CPython counts the depth of all trees that are being made in one place: of two threads one fails (SystemError)."""
MAX_PARSED = 200_000
"""Characters: a longer text is not tried as Python (no answer is that long, and parsing takes memory)."""


def parse(text: str) -> ast.Module | None:
    """The syntax tree of a text, or None where it is no Python, or too long."""
    if len(text) > MAX_PARSED:
        return None
    try:
        with _ONE, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text)
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None
