"""Split the bytes of a treebank file into trees, one at a time, for files and lines of any size.

A line that starts with `(` begins a new tree, as in the published generator; so does an opening bracket after a
complete tree (several on a line, or indented). Lines between trees that start with `*` (the Penn Treebank's notices) or
`<` (other treebanks' mark-up) are remarks. Anything else is reported once as a flaw; reading continues at the next line
that starts with `(`, or after a blank line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

MAX_TREE = 1_000_000
"""Bytes. The longest tree of the Wall Street Journal takes some 20,000."""
_BRACKET = re.compile(rb"[()]")
_VISIBLE = re.compile(rb"\S")


class Span(NamedTuple):
    """The bytes of one bracketed tree. `line` is its first line, from 1; `number` counts begun trees, from 0."""

    content: bytes
    line: int
    number: int


class Flaw(NamedTuple):
    """A flaw in the file. `number` is that of the malformed tree; None for text outside of trees."""

    line: int
    number: int | None
    kind: str
    message: str


class Splitter:
    """Splits a file fed in pieces: lines or parts of lines. No piece may continue after a line's end."""

    def __init__(self) -> None:
        self._line = 1
        self._number = -1
        self._depth = 0
        self._begun = 0
        self._parts: list[bytes] = []
        self._size = 0
        self._whole: Span | None = None
        """A complete tree, held back until no further closing bracket can follow."""
        self._lost = False
        """Whether to skip to the next line that can begin a tree."""
        self._remark = False
        self._start = True
        self._blank = True

    def feed(self, piece: bytes) -> Iterator[Span | Flaw]:
        """Yield the trees and flaws that end in this piece."""
        if self._start:
            self._blank = True
            if piece[:1] == b"(":
                yield from self._cut_short()
            self._remark = self._depth == 0 and piece[:1] in (b"*", b"<")
        if not self._lost and not self._remark:
            if self._depth > (closing := piece.count(b")")):
                self._depth += piece.count(b"(") - closing
                yield from self._keep(piece)
            else:
                yield from self._scan(piece)
        self._blank = self._blank and not piece.strip()
        self._start = piece.endswith(b"\n")
        if self._start:
            self._line += 1
            if self._blank:
                self._lost = False

    def end(self) -> Iterator[Span | Flaw]:
        """Yield the last tree or flaw at the end of the file."""
        yield from self._cut_short()

    @property
    def begun(self) -> int:
        """Number of trees begun so far."""
        return self._number + 1

    def _cut_short(self) -> Iterator[Span | Flaw]:
        """End the previous tree, since a new one begins or the file ends."""
        self._lost = False
        if self._whole is not None:
            yield self._whole
            self._whole = None
        elif self._depth:
            brackets = "1 bracket is" if self._depth == 1 else f"{self._depth} brackets are"
            yield Flaw(self._begun, self._number, "unbalanced", f"{brackets} not closed before the tree ends")
            self._drop()

    def _drop(self) -> None:
        self._parts, self._size, self._depth = [], 0, 0

    def _keep(self, part: bytes) -> Iterator[Flaw]:
        """Append to the current tree; yields a flaw if it is too long."""
        self._parts.append(part)
        self._size += len(part)
        if self._size > MAX_TREE:
            yield Flaw(self._begun, self._number, "too long", f"longer than {MAX_TREE:,} bytes: no sentence is")
            self._drop()
            self._lost = True

    def _scan(self, piece: bytes) -> Iterator[Span | Flaw]:
        """Split a piece in which a tree may end, and others begin."""
        place = 0
        while place < len(piece) and not self._lost:
            if self._depth == 0:
                match = _VISIBLE.search(piece, place)
                if match is None:
                    return
                place = match.start()
                if piece[place : place + 1] != b"(":
                    yield from self._stray(piece[place:])
                    return
                yield from self._cut_short()
                self._number += 1
                self._begun = self._line
            after = self._through(piece, place)
            yield from self._keep(piece[place:after])
            place = after
            if self._depth == 0 and not self._lost:
                self._whole = Span(b"".join(self._parts), self._begun, self._number)
                self._drop()

    def _through(self, piece: bytes, start: int) -> int:
        """Count brackets; returns where the current tree ends in this piece, or the piece's length if it continues."""
        depth = self._depth
        for bracket in _BRACKET.finditer(piece, start):
            depth += 1 if bracket[0] == b"(" else -1
            if depth == 0:
                self._depth = 0
                return bracket.end()
        self._depth = depth
        return len(piece)

    def _stray(self, text: bytes) -> Iterator[Span | Flaw]:
        """Report text that is neither a tree nor a remark."""
        if text[:1] == b")" and self._whole is not None:
            yield Flaw(self._whole.line, self._whole.number, "unbalanced", "a closing bracket too many")
            self._whole = None
        else:
            yield from self._cut_short()
            shown = text[:40].decode("ascii", "backslashreplace").strip()
            yield Flaw(self._line, None, "outside", f"text outside of any tree: {shown!r}")
        self._lost = True
