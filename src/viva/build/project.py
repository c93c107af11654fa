"""The folder of a set that is being built: its files, its one writer, what models drafted and what people decided."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

from msgspec import Struct

from viva.build.approval import Event, event_of
from viva.build.decision_file import DecisionFile, Proposal
from viva.build.files import new_sheet, replace_file
from viva.build.spreadsheet import written_table
from viva.engine.journal import Entry, Journal
from viva.engine.reviews import ReviewLog
from viva.errors import StorageError
from viva.files import LockedError, lock, reading
from viva.review.items import Item

DRAFTS, REVIEWS, INSTRUCTIONS = "drafts.jsonl", "reviews.jsonl", "instructions.toml"


class Drafted(Struct, frozen=True):
    """The last reply about something: `text` is empty where the model wrote no draft, `doubt` may say why."""

    model: str
    text: str
    doubt: str
    times: int
    """How many replies there are."""


class ProjectFolder:
    """The folder, each file read once, when it is asked for; the decisions as they are now."""

    scope: ClassVar[str]
    """What a draft's entry calls its benchmark, before what is asked."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str | Path, most: int = -1) -> bytes | None:
        """A file's bytes, of a longer one the first `most`; None if it is missing. `name` is relative to the folder.

        Raises StorageError.
        """
        try:
            with reading(self.path / name, follow=True) as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise StorageError(f"cannot read {self.path / name}: {problem.strerror or problem}") from None

    def instructions(self, bundled: str) -> tuple[bytes, str]:
        """What a drafting model is told, and the file's name; the file is made of `bundled` where there is none."""
        content = self.read(INSTRUCTIONS)
        if content is None:
            content = bundled.encode()
            replace_file(self.path / INSTRUCTIONS, content)
        return content, str(self.path / INSTRUCTIONS)

    @cached_property
    def replies(self) -> list[Entry]:
        """What models replied, the oldest first; failed requests are left out."""
        journal = Journal(self.path / DRAFTS, write=False)
        try:
            entries = [entry for entry in journal.entries() if entry.error is None]
        finally:
            journal.close()
        return sorted(entries, key=lambda entry: (entry.at, entry.key))

    def last_drafts(self, read: Callable[[str], tuple[str, str]]) -> dict[str, Drafted]:
        """What is asked → its last draft, as `read` has it of a reply, with a doubt.

        A reply without a draft does not take the place of one that has it.
        """
        asked: dict[str, list[Entry]] = {}
        for entry in sorted(self.replies, key=lambda entry: entry.sample):
            asked.setdefault(entry.benchmark.removeprefix(self.scope), []).append(entry)
        found: dict[str, Drafted] = {}
        for name, replies in asked.items():
            last = next((entry for entry in reversed(replies) if read(entry.text)[0]), replies[-1])
            found[name] = Drafted(last.model, read(last.text)[0], read(replies[-1].text)[1], len(replies))
        return found

    @cached_property
    def log(self) -> ReviewLog:
        """The audit trail."""
        return ReviewLog(self.path / REVIEWS)

    def events(self, clean: Callable[[str], str] = str) -> list[Event]:
        """What was decided, in order, texts made `clean`. Raises StorageError for a damaged trail."""
        self.log.refresh()
        if self.log.damaged:  # a lost line may be a rejection
            first = self.log.damaged[0]
            raise StorageError(
                f"{self.log.path}, line {first.line} is damaged ({first.reason}); mend or remove it first"
            )
        return [event_of(review, clean) for review in self.log.reviews]

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """The files that are there → SHA-256. Raises StorageError."""
        found: dict[str, str] = {}
        for name in names:
            try:
                with reading(self.path / name, follow=True) as file:
                    found[name] = hashlib.file_digest(file, "sha256").hexdigest()
            except FileNotFoundError:
                continue
            except OSError as problem:
                raise StorageError(f"cannot read {self.path / name}: {problem.strerror or problem}") from None
        return found

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Be the only writer of drafts. Raises StorageError while another process is."""
        try:
            held = lock(self.path / ".lock")
        except LockedError:
            raise StorageError(f"another process is drafting in {self.path}; wait for it or stop it first") from None
        except OSError as problem:
            raise StorageError(f"cannot write in {self.path}: {problem.strerror}") from None
        try:
            yield
        finally:
            os.close(held)


class TextProject(ProjectFolder):
    """A project in which people decide about one text of each question."""

    titles: ClassVar[Sequence[str]]
    """The columns of a file of decisions."""
    decision_file: DecisionFile[Any]

    @abstractmethod
    def proposals(self) -> Mapping[str, Proposal]:
        """Question → its text as it now stands."""

    @abstractmethod
    def states(self) -> Counter[str]:
        """How many texts are in which state."""

    @abstractmethod
    def decision_rows(self, *, everything: bool) -> list[tuple[str, ...]]:
        """What is to be decided, as rows of a file; with what is approved already if `everything` is wanted."""

    @abstractmethod
    def items(self, *, everything: bool = False) -> list[Item]:
        """The same as the review page needs it: a question an item, its text to be edited, approved or rejected."""

    def write_decisions(self, path: Path, *, everything: bool) -> int:
        """Write a file to be filled in; returns how many questions it has. Raises VivaError, StorageError."""
        rows = self.decision_rows(everything=everything)
        new_sheet(path, written_table(self.titles, rows, encoding="utf-8-sig"))
        return len(rows)

    def take_decisions(self, path: Path, reviewer: str) -> tuple[int, Counter[str]]:
        """Take over a file's decisions, all or none: how many, and the states of texts now. Raises DataError."""
        written = self.log.append(self.decision_file.read(path, self.proposals(), reviewer))
        return len(written), self.states()
