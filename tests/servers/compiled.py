"""Cache per process: compiled page templates, otherwise compiled for every application and page file, and certificates,
otherwise read by every vendor's client."""

import functools
import ssl
from typing import Any

from jinja2 import Environment


def compile_once() -> None:
    """Cache Jinja's compilation of template files; templates without a file, such as those of cards, are not cached."""
    compiled, known = Environment.compile, {}

    def compile(
        self: Environment, source: Any, name: Any = None, filename: Any = None, *more: Any, **named: Any
    ) -> Any:
        if filename is None:
            return compiled(self, source, name, filename, *more, **named)
        key = (type(self), source, name, filename, *more, *named.items())
        if key not in known:
            known[key] = compiled(self, source, name, filename, *more, **named)
        return known[key]

    Environment.compile = compile  # type: ignore[method-assign, assignment]
    made = ssl.create_default_context
    kept = functools.cache(made)
    ssl.create_default_context = lambda *given, **named: (kept if named.get("cafile") else made)(*given, **named)
