"""Page templates that are compiled once a process: every served application and every page in a file has its own."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment


def compile_once() -> None:
    """Keep what Jinja makes of a template's file; texts without a file, such as those of cards, are left alone."""
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
