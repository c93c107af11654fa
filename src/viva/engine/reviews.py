"""Experts' marks of answers: reviews.jsonl, an append-only file of reviewer, time, and the mark before and after.

The last line of a reviewer about an aspect of an item counts; a line whose `after` is None takes the mark back. A line
is known by its `id`, so one that is posted twice is written once. Several processes may read and append at the same
time: each write is whole, locked (flock) and on the disk before it is acknowledged.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from viva.engine.journal import append_whole, set_torn_tail_aside
from viva.errors import StorageError
from viva.files import UNREADABLE, open_regular, reading
from viva.types import Mark

LARGEST = 1 << 28
"""Most bytes of marks that are read at once."""


Share = Annotated[float, Meta(ge=0, le=1)]
"""A mark, as a share of the full one. A stranger's line with another number would move a score beyond its ends."""


class Review(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One line of reviews.jsonl. The lines of one posted form share `at`."""

    id: str
    """Made by the page that was posted: 32 hexadecimal digits."""
    at: float
    """Seconds since 1970, UTC."""
    reviewer: str
    item: str
    """Which answer: `item_key`."""
    about: dict[str, str] = {}
    """The answer in readable form: exam, model, question, sample."""
    aspect: str
    before: Share | None = None
    """This reviewer's mark until now."""
    after: Share | None = None
    """This reviewer's mark from now on; None takes it back."""
    draft: Share | None = None
    """The verdict before any review."""
    blind: bool = False
    """Whether the reviewer marked without seeing the verdict."""
    drawn: str = ""
    """The random sample that the item was drawn in ("random:30:seed0"); empty where it was picked by hand."""
    comment: str = ""
    text_before: str | None = None
    text_after: str | None = None
    """An edited text, where the item can be edited."""
    undoes: str = ""
    """The id of the line that this one takes back."""


class Damage(Struct, frozen=True):
    """A line of reviews.jsonl that cannot be read: its number from 1, and why. It is skipped and left in the file."""

    line: int
    reason: str


def item_key(exam: str, model: str, question: str, sample: int, reply: str) -> str:
    """Return 32 hexadecimal digits for one answer; another reply to the same question is another item."""
    return _digest([exam, model, question, sample, reply])


def line_id(*parts: str) -> str:
    """Return 32 hexadecimal digits for a form's content: equal for the same form posted again, else different."""
    return _digest(parts)


def _digest(parts: Sequence[object]) -> str:
    return hashlib.blake2b(msgspec.json.encode(parts), digest_size=16).hexdigest()


class ReviewLog:
    """reviews.jsonl, indexed. Safe in several threads; `refresh` reads what other processes appended."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._encode = msgspec.json.Encoder().encode
        self._decode = msgspec.json.Decoder(Review).decode
        self._forget()
        self.refresh()

    def _forget(self) -> None:
        self._file = (0, 0)  # device and inode
        self._end = 0
        self._lines = 0
        self._damaged: list[Damage] = []
        self._reviews: list[Review] = []
        self._ids: set[str] = set()
        self._latest: dict[str, dict[tuple[str, str], Review]] = {}
        self._by: dict[str, list[Review]] = {}

    def refresh(self) -> None:
        """Read new lines. A last line without its end is being written, or torn, and is not read yet."""
        with self._guard:
            try:
                status = self.path.lstat()
                if (status.st_dev, status.st_ino) == self._file and status.st_size == self._end:
                    return
                with reading(self.path) as file:
                    self._read(file.fileno())
            except FileNotFoundError:
                self._forget()
            except OSError as problem:
                raise StorageError(f"cannot read {self.path}: {problem.strerror}") from None

    def _read(self, file: int) -> None:
        status = os.fstat(file)
        if (status.st_dev, status.st_ino) != self._file or status.st_size < self._end:
            self._forget()  # another file under the same name
            self._file = (status.st_dev, status.st_ino)
        if status.st_size - self._end > LARGEST:
            raise OSError(errno.EFBIG, f"it is larger than {LARGEST:,} bytes, and marks are made by hand")
        with os.fdopen(os.dup(file), "rb") as opened:
            opened.seek(self._end)
            content = opened.read(status.st_size - self._end)
        for line in content.split(b"\n")[:-1]:
            self._lines += 1
            self._end += len(line) + 1
            try:
                self._remember(self._decode(line))
            except UNREADABLE as problem:
                self._damaged.append(Damage(self._lines, str(problem)))

    def _remember(self, review: Review) -> None:
        if review.id in self._ids:
            return
        self._ids.add(review.id)
        self._reviews.append(review)
        self._by.setdefault(review.reviewer, []).append(review)
        self._latest.setdefault(review.item, {})[review.reviewer, review.aspect] = review

    @property
    def reviews(self) -> tuple[Review, ...]:
        """All readable lines, in the order of the file."""
        with self._guard:
            return tuple(self._reviews)

    @property
    def damaged(self) -> tuple[Damage, ...]:
        """The lines that cannot be read."""
        with self._guard:
            return tuple(self._damaged)

    @property
    def unread(self) -> str:
        """How many lines cannot be read, and why the first of them; "" for none."""
        count = len(self._damaged)
        left_out = f"{self.path}: lines that cannot be read are left out ({count:,}); "
        return left_out + f"the first is line {self._damaged[0].line}: {self._damaged[0].reason}" if count else ""

    def latest(self, item: str) -> dict[tuple[str, str], Review]:
        """Return (reviewer, aspect) → the last line about it; its `after` is None where the mark was taken back."""
        with self._guard:
            return dict(self._latest.get(item, {}))

    def marks(self, item: str) -> tuple[Mark, ...]:
        """Return the marks that count: the last of every reviewer on every aspect."""
        return tuple(
            Mark(reviewer, aspect, review.after, review.comment)
            for (reviewer, aspect), review in self.latest(item).items()
            if review.after is not None
        )

    def append(self, reviews: Sequence[Review]) -> list[Review]:
        """Write the lines that are not in the file yet, all or none, and flush them to the disk; return those written.

        `before` is filled in here: only under the lock is it certain. Raises StorageError when nothing was written.
        """
        with self._guard, self._locked() as file:
            return self._write(file, reviews)

    def undo(self, reviewer: str, form: str, at: float) -> list[Review]:
        """Take back a reviewer's last form that is still in force; return the lines written.

        `form` is the id of the form that asks for it; a repeated request with the same id takes nothing more back.
        """
        with self._guard, self._locked() as file:
            if line_id(form, "undo", "0") in self._ids:
                return []
            return self._write(file, self._taking_back(reviewer, form, at))

    def _taking_back(self, reviewer: str, form: str, at: float) -> list[Review]:
        lines = self._by.get(reviewer, [])
        undone = {line.undoes for line in lines}
        standing = [line for line in lines if not line.undoes and line.id not in undone]
        if not standing:
            return []
        last = standing[-1]
        group = [line for line in standing if (line.item, line.at) == (last.item, last.at)]
        rest = [line for line in standing if line not in group]
        withdrawn: list[Review] = []
        for number, line in enumerate(group):
            earlier = [other for other in rest if (other.item, other.aspect) == (line.item, line.aspect)]
            empty = msgspec.structs.replace(line, after=None, comment="", text_after=line.text_before)
            withdrawn.append(
                msgspec.structs.replace(
                    earlier[-1] if earlier else empty,
                    id=line_id(form, "undo", str(number)),
                    at=at,
                    text_before=line.text_after,
                    undoes=line.id,
                )
            )
        return withdrawn

    @contextmanager
    def _locked(self) -> Iterator[int]:
        """Yield the file, open for appending and locked against other writers; created where missing.

        What others wrote is read then, and a line that a killed writer left unfinished set aside.
        """
        while True:
            try:
                file = open_regular(self.path, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            except OSError as problem:
                raise StorageError(f"nothing was saved: cannot open {self.path}: {problem.strerror}") from None
            try:
                fcntl.flock(file, fcntl.LOCK_EX)
                if self.path.exists() and os.path.samestat(self.path.lstat(), os.fstat(file)):
                    self._read(file)
                    set_torn_tail_aside(file, self._end, self.path.with_suffix(".torn"))
                    yield file
                    return  # else it was replaced while we waited for it
            finally:
                os.close(file)  # and with it the lock goes

    def _write(self, file: int, reviews: Sequence[Review]) -> list[Review]:
        new: list[Review] = []
        now: dict[tuple[str, str, str], float | None] = {}
        for review in {review.id: review for review in reviews if review.id not in self._ids}.values():
            whose = (review.item, review.reviewer, review.aspect)
            last = self._latest.get(review.item, {}).get(whose[1:])
            new.append(msgspec.structs.replace(review, before=now.get(whose, last.after if last else None)))
            now[whose] = review.after
        lines = [self._encode(review) + b"\n" for review in new]
        content = b"".join(lines)
        if not content:
            return []
        try:
            append_whole(file, content, self._end, sync=True)
        except OSError as problem:
            raise StorageError(f"nothing was saved: cannot write {self.path}: {problem.strerror}") from None
        for review, line in zip(new, lines, strict=True):
            self._remember(review)
            self._lines += 1
            self._end += len(line)
        return new
