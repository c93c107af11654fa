"""Following a journal that another process is writing: each look reads only new lines.

`engine.journal.Journal` is for the process that works on a run, and stops at damage. A `Followed` journal goes on:
lines that cannot be read are counted, an unfinished last line waits, and a replaced file is read again.
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import os
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TypeAlias

import msgspec
from msgspec import Struct

from viva.engine.folder import RunRecord
from viva.engine.journal import Entry
from viva.errors import StorageError
from viva.files import UNREADABLE, lines, open_regular, read_regular
from viva.runs.scorefile import SCORES
from viva.types import Failure, Usage

_LENGTH = 0xFFFFFFFF
Reader: TypeAlias = Callable[[bytes], Entry | None]
"""Returns the answer to a request, by its key, or its latest failure; None for neither."""


class Line(Struct, frozen=True):
    """A journal line without its texts."""

    key: str
    model: str = ""
    benchmark: str = ""
    error: Failure | None = None
    usage: Usage | None = None
    at: float = 0.0
    reused: str = ""


class Tokens(Struct):
    """Tokens as servers counted them, over answers of a journal."""

    input: int = 0
    output: int = 0
    uncounted: int = 0
    """Answers that came without a count."""
    answers: int = 0


_COMPARED = 1000
"""Bytes that tell a file from another in its place which got its inode: they hold the time of an answer."""


class Followed:
    """One stage's file, indexed by request key as far as it has been read. Not for several threads at once."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._decode = msgspec.json.Decoder(Line).decode
        self._decode_entry = msgspec.json.Decoder(Entry).decode
        self._forget()

    def _forget(self) -> None:
        self._seen = (0, 0, b"")
        self.end = 0
        """Bytes read so far: the end of the last whole line."""
        self.lines = 0
        self.answered: dict[bytes, int] = {}
        self.failed: dict[bytes, int] = {}
        self.failed_of = Counter[str]()
        """Failed requests by model."""
        self.failures = Counter[str]()
        """Kind of failure → lines, of requests without an answer yet; a retried request counts again."""
        self.used = defaultdict[tuple[str, str], Tokens](Tokens)
        """(model, benchmark) → tokens."""
        self.times: list[float] = []
        """Times of new answers, in the order of the lines."""
        self.damaged: list[str] = []

    def refresh(self, most: int | None = None) -> bool:
        """Read new lines, about `most` bytes at most; return whether all were read. Raises StorageError."""
        try:
            with os.fdopen(open_regular(self.path), "rb") as content:
                if self._sight(content.fileno()) != self._seen:
                    self._forget()
                try:
                    return self._read(content, most)
                finally:
                    self._seen = self._sight(content.fileno())
        except FileNotFoundError:
            self._forget()
            return True
        except OSError as problem:
            raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None

    def _sight(self, file: int) -> tuple[int, int, bytes]:
        """Return what tells a file from another in its place: device, inode, the last bytes up to the end of what was
        read.
        """
        status, begin = os.fstat(file), max(0, self.end - _COMPARED)
        return status.st_dev, status.st_ino, os.pread(file, self.end - begin, begin)

    def _read(self, content: IO[bytes], most: int | None) -> bool:
        start = self.end
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
            entry = self._decode(line)
            key = bytes.fromhex(entry.key)
        except UNREADABLE as problem:
            self.damaged.append(f"line {self.lines}: {problem}")
            return
        place = self.end << 32 | len(line)
        if entry.error is None:
            if self.failed.pop(key, None) is not None:
                self.failed_of[entry.model] -= 1
            self.answered[key] = place
            tokens = self.used[entry.model, entry.benchmark]
            tokens.answers += 1
            if entry.usage:
                tokens.input += entry.usage.input
                tokens.output += entry.usage.output
            else:
                tokens.uncounted += 1
            if not entry.reused and entry.at:
                self.times.append(entry.at)
        elif key not in self.answered:
            if key not in self.failed:
                self.failed_of[entry.model] += 1
            self.failed[key] = place
            self.failures[entry.error.kind] += 1

    @contextmanager
    def reading(self) -> Iterator[Reader]:
        """Open the file for reading answers; where it was replaced, it holds none."""
        try:
            file = open_regular(self.path)
        except FileNotFoundError:
            yield lambda key: None
            return
        except OSError as problem:
            raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None
        try:
            yield functools.partial(self._entry, file) if self._sight(file) == self._seen else lambda key: None
        finally:
            os.close(file)

    def _entry(self, file: int, key: bytes) -> Entry | None:
        place = self.answered.get(key, self.failed.get(key))
        try:
            return None if place is None else self._decode_entry(os.pread(file, place & _LENGTH, place >> 32))
        except UNREADABLE:
            return None

    def rate(self, now: float, window: float = 60.0) -> float:
        """Return new answers a second over the last `window` seconds; 0.0 without any."""
        recent = list(itertools.takewhile(lambda moment: moment >= now - window, reversed(self.times)))
        since = max(now - window, self.times[0]) if self.times else now
        return len(recent) / max(now - since, 1.0)


STAGES = ("responses", "executions", "similarities", "annotations")
"""The journals of a run, in the order of the work."""
DRAWS = "draws.jsonl"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class RunEntry(Struct, frozen=True):
    """A run folder, possibly damaged, in a list of runs."""

    path: Path
    slug: str
    """Its name in addresses."""
    changed: float
    """Time of the last change, in seconds since 1970."""
    graded: int
    """Time when its scores were written, in nanoseconds since 1970; 0 without scores."""


def slug(text: str) -> str:
    """Return a word that stands for a text in addresses: the text itself if plain, else its hash. Never a path."""
    return (
        text
        if _PLAIN.fullmatch(text)
        else "~" + hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
    )


def runs_in(root: Path) -> list[RunEntry]:
    """Return every run in a folder, newest first; the folder itself where it is one. Raises StorageError for no
    folder.
    """
    if is_run(root):
        return [_found(root)]
    try:
        inside = [
            Path(entry.path) for entry in os.scandir(root) if not entry.name.startswith(".") and _is_folder(entry)
        ]
    except OSError as problem:
        raise StorageError(f"cannot read the folder {root}: {problem.strerror}") from None
    entries = [_found(path) for path in inside if is_run(path)]
    return sorted(entries, key=lambda entry: (-entry.changed, entry.slug))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_run(path: Path) -> bool:
    """Return whether a folder is a run, or was one: it has run.json, or answers alone."""
    named = (path / name for name in ("run.json", "responses.jsonl"))
    return any(os.path.lexists(file) and not file.is_dir() for file in named)


Sizes = tuple[tuple[int, int, int], ...]
"""Inode, bytes and time of change of files, to detect changes."""


def sizes(path: Path, names: Iterable[str]) -> Sizes:
    """Return the `Sizes` of files of a folder; zeros for a missing one."""
    stamps = []
    for name in names:
        try:
            stat = (path / name).lstat()
            stamps.append((stat.st_ino, stat.st_size, stat.st_mtime_ns))
        except OSError:
            stamps.append((0, 0, 0))
    return tuple(stamps)


def _found(path: Path) -> RunEntry:
    *written, (*_, graded) = sizes(path, ("run.json", *(f"{stage}.jsonl" for stage in STAGES), SCORES))
    return RunEntry(path, slug(path.resolve().name), max(stamp for *_, stamp in written) / 1e9, graded)


def answers_wanted(path: Path, record: RunRecord) -> int:
    """Return how many answers a run is to have in all; for an adaptive one, to the questions drawn so far."""
    drawn = None
    if record.adaptive:
        try:
            drawn = read_regular(path / DRAWS).count(b"\n")  # a line a question
        except OSError:
            drawn = 0
    return len(record.models) * sum(
        (exam.questions if drawn is None else drawn) * (exam.samples or record.samples) * record.repeats
        for exam in record.exams
    )
