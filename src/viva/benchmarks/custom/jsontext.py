"""JSON as a tree that remembers its lines.

JSON is nearly YAML, but not to a YAML 1.1 parser (tabs, pairs of surrogates, keys of over a thousand characters),
and the standard library's reader forgets where things stood and keeps the last of two equal keys. So: a small reader
of its own, by RFC 8259, which says what is usually wrong.
"""

from __future__ import annotations

import bisect
import json
import re

from viva.benchmarks.custom.positions import Bounds, Node, Unreadable, refuse_deep

_SPACE = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.])|(?:true|false|null)(?!\w)")


def read_json(text: str) -> Node:
    """Return the tree of one JSON text. Raises Unreadable with the place and what is wrong there."""
    return _JsonReader(text).read()


class _JsonReader:
    """One pass from left to right."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._bounds = Bounds()
        self._at = 0

    def read(self) -> Node:
        self._skip()
        root = self._value(0)
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something stands after the end")
        return root

    def _value(self, depth: int) -> Node:
        line, column = self._place(self._at)
        first = self._next()
        if first and first in "[{":
            refuse_deep(depth, line, column)
            if first == "[":
                return self._bounds.listing(self._parts("]", depth + 1), line, column)
            return self._bounds.mapping(self._parts("}", depth + 1), line, column)
        if match := _STRING.match(self._text, self._at):
            try:
                value = json.loads(match.group())
            except ValueError:
                raise self._wrong("an escape that JSON does not have; a backslash itself is written \\\\") from None
            node = self._bounds.scalar(value, line, column, quoted=True)
        elif match := _PLAIN.match(self._text, self._at):
            node = self._bounds.scalar(match.group(), line, column, null=match.group() == "null")
        else:
            raise self._wrong(self._guess(first))
        self._at = match.end()
        return node

    def _parts(self, closing: str, depth: int) -> list[Node]:
        """Return what is between brackets, keys and values alike."""
        parts: list[Node] = []
        self._at += 1
        while True:
            self._skip()
            if not self._next():
                raise self._wrong(self._guess(""))
            if self._next() == closing:
                self._at += 1
                return parts
            if parts:
                self._take(",", f"expected a comma or {closing}")
                if self._next() == closing:
                    raise self._wrong(f"a comma before {closing}: JSON has none after the last")
            if closing == "}":
                if self._next() != '"':
                    raise self._wrong('expected a key in "double quotes"')
                parts.append(self._value(depth))
                self._skip()
                self._take(":", "expected a colon after the key")
            parts.append(self._value(depth))

    def _take(self, sign: str, wanted: str) -> None:
        """Step over a sign and what is behind it."""
        if self._next() != sign:
            raise self._wrong(wanted)
        self._at += 1
        self._skip()

    def _guess(self, first: str) -> str:
        if not first:
            return "the file ends too early"
        if first == '"':
            return "a text that does not end in this line; a line feed in a text is written \\n"
        if first == "'":
            return 'JSON has "double quotes" only'
        if first in "/#":
            return "JSON has no comments (YAML has)"
        return "neither a text in quotes nor a number, true, false or null"

    def _next(self) -> str:
        return self._text[self._at : self._at + 1]

    def _skip(self) -> None:
        match = _SPACE.match(self._text, self._at)
        self._at = match.end() if match else self._at

    def _place(self, at: int) -> tuple[int, int]:
        line = bisect.bisect_right(self._starts, at)
        return line, at - self._starts[line - 1] + 1

    def _wrong(self, text: str) -> Unreadable:
        return Unreadable(*self._place(self._at), f"not JSON: {text}")
