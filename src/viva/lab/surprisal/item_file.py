"""The file of --items: models' figures for single texts, so that none is measured twice.

Append-only JSONL: a row for each text, model and k, and another for each further place of the text. A line torn by a
crash is set aside; a damaged one is reported.
"""

from __future__ import annotations

import errno
import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.journal import append_whole, set_torn_tail_aside, whole_lines
from viva.errors import StorageError, option
from viva.files import UNREADABLE, LockedError, lock


class Row(Struct, kw_only=True, frozen=True):
    """One line of the file of items. `identity` and `text` are hashes: of all that identifies a model, and of the text.
    `nll` is a sum over `tokens` scored tokens, natural logarithm; `first`: whether the first token is one, None if
    unknown.
    """

    set: str
    id: str
    model: str
    identity: str
    field: str
    text: str
    k: float
    tokens: int
    bytes: int
    characters: int
    nll: float
    min_k: float | None
    first: bool | None

    @property
    def key(self) -> str:
        """The key of the measurement."""
        return _key(self.identity, self.text, self.k)

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The place of the text."""
        return self.key, self.set, self.id, self.field


class Items:
    """The rows so far, with a file if given. One writer at a time."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._rows: dict[str, Row] = {}
        self._places: set[tuple[str, str, str, str]] = set()
        self._encode = msgspec.json.Encoder().encode
        self._file, self._end = -1, 0
        if path is None:
            return
        try:
            self._file = lock(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, follow=True)
        except LockedError:
            raise StorageError(
                f"another process is writing to {path}; wait for it, or give another {option('items')}"
            ) from None
        except OSError as problem:
            raise StorageError(f"cannot write {option('items')} {path}: {problem.strerror}") from None
        try:
            self._end = self._index(path)
            set_torn_tail_aside(self._file, self._end, path.with_name(f"{path.name}.torn"))
        except BaseException:
            self.close()
            raise

    def _index(self, path: Path) -> int:
        decode = msgspec.json.Decoder(Row).decode
        offset = 0
        for number, line in whole_lines(self._file, path):
            try:
                self._remember(decode(line))
            except UNREADABLE as problem:
                raise StorageError(
                    f"{path}, line {number} is no line of {option('items')} ({problem}); remove it, or give another "
                    "file"
                ) from None
            offset += len(line)
        return offset

    def _remember(self, row: Row) -> None:
        self._rows.setdefault(row.key, row)
        self._places.add(row.place)

    def find(self, identity: str, text: str, k: float) -> Row | None:
        """Return the row of a text, given by its hash; None if there is none."""
        return self._rows.get(_key(identity, text, k))

    def add(self, row: Row) -> None:
        """Add a row, unless it exists. Raises StorageError if it cannot be written."""
        if row.place in self._places:
            return
        if self._file >= 0:
            line = self._encode(row) + b"\n"
            try:
                append_whole(self._file, line, self._end)
            except OSError as problem:
                full = "; free some space, then go on" if problem.errno == errno.ENOSPC else ""
                raise StorageError(f"cannot write {option('items')} {self.path}: {problem.strerror}{full}") from None
            self._end += len(line)
        self._remember(row)

    def close(self) -> None:
        """Release the file for other writers."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def identity_hash(identity: Mapping[str, str]) -> str:
    """Return 32 hexadecimal digits over all that identifies a model."""
    return _digest(msgspec.json.encode(sorted(identity.items())))


def text_hash(text: str) -> str:
    """Return 32 hexadecimal digits of a text."""
    return _digest(text.encode("utf-8"))


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def _key(identity: str, text: str, k: float) -> str:
    return f"{identity}{text}{k!r}"
