"""A journal that somebody else is writing, followed: each look reads only what is new.

`engine.journal.Journal` belongs to whoever works on a run; it stops at damage. Whoever only looks on goes on: what
cannot be read is counted, a last line without its end is not there yet, and a file that was replaced is read anew.
"""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.engine.journal import Entry
from viva.errors import StorageError
from viva.files import UNREADABLE, lines, open_regular
from viva.types import Failure, Usage

_LENGTH = 0xFFFFFFFF


class Line(Struct, frozen=True):
    """What is remembered of a line: everything but the text."""

    key: str
    model: str = ""
    benchmark: str = ""
    error: Failure | None = None
    usage: Usage | None = None
    at: float = 0.0
    reused: str = ""


class Tokens(Struct):
    """Tokens as servers counted them, over all answers of a journal."""

    input: int = 0
    output: int = 0
    uncounted: int = 0
    """Answers that came without a count."""
    answers: int = 0


class Followed:
    """One stage's file, indexed by request key as far as it has been read. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decode = msgspec.json.Decoder(Line).decode
        self._forget()

    def _forget(self) -> None:
        self._file = (0, 0)  # device and inode
        self.end = 0
        """Bytes read so far: where the last whole line ends."""
        self.lines = 0
        self.answered: dict[bytes, int] = {}
        self.failed: dict[bytes, int] = {}
        self.by_group = defaultdict[tuple[str, str], list[int]](lambda: [0, 0])
        """(model, benchmark) → answered, failed."""
        self.failures: dict[str, int] = {}
        """Kind of failure → how often, of requests that have no answer yet; of all lines, a retried one again."""
        self.tokens = Tokens()
        self.used = defaultdict[tuple[str, str], Tokens](Tokens)
        """The same by model and benchmark."""
        self.times: list[float] = []
        """When each new answer came, in the order of the lines."""
        self.damaged: list[str] = []

    def refresh(self, most: int | None = None) -> bool:
        """Read what is new, at most about `most` bytes of it; whether all was read. Raises StorageError."""
        try:
            file = open_regular(self.path)
        except FileNotFoundError:
            self._forget()
            return True
        except OSError as problem:
            raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None
        try:
            found = os.fstat(file)
            if (found.st_dev, found.st_ino) != self._file or found.st_size < self.end:
                self._forget()
                self._file = (found.st_dev, found.st_ino)
            return found.st_size == self.end or self._read(file, most)
        except OSError as problem:
            raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None
        finally:
            os.close(file)

    def _read(self, file: int, most: int | None) -> bool:
        start = self.end
        with os.fdopen(os.dup(file), "rb") as content:
            content.seek(start)
            for line in lines(content, self.path):
                if not line.endswith(b"\n"):
                    break
                self._take(line)
                self.end += len(line)
                if most is not None and self.end - start > most:
                    return False
        return True

    def _take(self, line: bytes) -> None:
        self.lines += 1
        try:
            said = self._decode(line)
            key = bytes.fromhex(said.key)
        except UNREADABLE as problem:
            self.damaged.append(f"line {self.lines}: {problem}")
            return
        place = self.end << 32 | len(line)
        counts = self.by_group[said.model, said.benchmark]
        if said.error is None:
            if key not in self.answered:
                counts[0] += 1
            if self.failed.pop(key, None) is not None:
                counts[1] -= 1
            self.answered[key] = place
            for tokens in (self.tokens, self.used[said.model, said.benchmark]):
                tokens.answers += 1
                if said.usage:
                    tokens.input += said.usage.input
                    tokens.output += said.usage.output
                else:
                    tokens.uncounted += 1
            if not said.reused and said.at:
                self.times.append(said.at)
        elif key not in self.answered:
            if key not in self.failed:
                counts[1] += 1
            self.failed[key] = place
            self.failures[said.error.kind] = self.failures.get(said.error.kind, 0) + 1

    def place(self, key: bytes) -> int:
        """Return where the latest word on a request stands: another number for every other word; 0 where there is
        none.
        """
        place = self.answered.get(key)
        if place is None:
            place = self.failed.get(key)
        return 0 if place is None else place + 1

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """The file, open to be read at any place."""
        try:
            file = open_regular(self.path)
        except FileNotFoundError:
            yield Reader(self, -1)
            return
        except OSError as problem:
            raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None
        try:
            found = os.fstat(file)
            yield Reader(self, file if (found.st_dev, found.st_ino) == self._file else -1)
        finally:
            os.close(file)

    def rate(self, now: float, window: float = 60.0) -> float:
        """New answers a second over the last `window` seconds; 0.0 where there was none."""
        count = 0
        for at in reversed(self.times):
            if at < now - window:
                break
            count += 1
        since = max(now - window, self.times[0]) if self.times else now
        return count / max(now - since, 1.0) if count else 0.0


class Reader:
    """Entries of an open journal by request key."""

    def __init__(self, followed: Followed, file: int) -> None:
        self._followed = followed
        self._file = file
        self._decode = msgspec.json.Decoder(Entry).decode

    def read(self, key: bytes) -> Entry | None:
        """Return the answer to a request, or its latest failure, or None; also where the file is another by now."""
        line = self.line(key)
        try:
            return self._decode(line) if line else None
        except UNREADABLE:
            return None

    def line(self, key: bytes) -> bytes:
        """Return the same as the bytes that stand there."""
        place = self._followed.place(key) - 1
        return b"" if place < 0 or self._file < 0 else os.pread(self._file, place & _LENGTH, place >> 32)
