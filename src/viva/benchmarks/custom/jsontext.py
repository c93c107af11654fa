"""JSON as a tree that remembers its lines.

JSON is nearly YAML, but not to a YAML 1.1 parser (tabs, pairs of surrogates, keys of over a thousand characters),
and the standard library's reader forgets where things stood and keeps the last of two equal keys. So: a small reader
of its own, by RFC 8259, which says what is usually wrong.
"""

from __future__ import annotations

import bisect
import json
import re

from viva.benchmarks.custom.positions import Builder, Node, Scalar, Unreadable

_SPACE = re.compile(r"[ \t\r\n]*+")
_STRING = re.compile(r'"(?:[^"\\\x00-\x1f]++|\\.)*+"')
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][+-]?[0-9]++)?(?![\w.])|(?:true|false|null)(?!\w)")
_AFTER = {"list": "a comma or ]", "mapping": "a comma or }"}


def read_json(text: str) -> Node:
    """Return the tree of one JSON text. Raises Unreadable with the place and what is wrong there."""
    return _Reader(text).read()


class _Reader:
    """One pass from left to right, without recursion."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]
        self._builder = Builder()
        self._at = 0
        self._fresh = True  # nothing yet in what was opened last

    def read(self) -> Node:
        self._skip()
        self._value()
        while self._builder.inside:
            self._skip()
            self._step()
        self._skip()
        if self._at < len(self._text):
            raise self._wrong("something stands after the end")
        root = self._builder.root
        if root is None:
            raise self._wrong("nothing here")
        return root

    def _step(self) -> None:
        """The next entry of what is open (with the comma before it), or its end."""
        builder, inside = self._builder, self._builder.inside
        closing = "]" if inside == "list" else "}"
        if not self._next():
            raise self._wrong(self._guess(""))
        if self._next() == closing:
            self._at += 1
            self._fresh = False
            builder.close()
            return
        if not self._fresh:
            if self._next() != ",":
                raise self._wrong(f"expected {_AFTER[inside]}")
            self._at += 1
            self._skip()
            if self._next() == closing:
                raise self._wrong(f"a comma before {closing}: JSON has none after the last")
        self._fresh = False
        if inside == "mapping":
            if self._next() != '"':
                raise self._wrong('expected a key in "double quotes"')
            self._value()
            self._skip()
            if self._next() != ":":
                raise self._wrong("expected a colon after the key")
            self._at += 1
            self._skip()
        self._value()

    def _value(self) -> None:
        """A value, or the beginning of one that has parts."""
        line, column = self._place(self._at)
        first = self._next()
        if first and first in "[{":
            self._builder.open(is_mapping=first == "{", line=line, column=column)
            self._at += 1
            self._fresh = True
        elif match := _STRING.match(self._text, self._at):
            try:
                value = json.loads(match.group())
            except ValueError:
                raise self._wrong("an escape that JSON does not have; a backslash itself is written \\\\") from None
            self._builder.scalar(Scalar(value, line, column, quoted=True))
            self._at = match.end()
        elif match := _PLAIN.match(self._text, self._at):
            self._builder.scalar(Scalar(match.group(), line, column, null=match.group() == "null"))
            self._at = match.end()
        else:
            raise self._wrong(self._guess(first))

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
