"""A project folder of `viva build clrbench`, read: what its files say together.

topics.csv        the topic graph                     collection.csv    the questions (or collection.jsonl)
instructions.toml what a drafting model is told       drafts.jsonl      its replies, append-only
reviews.jsonl     what experts decided, append-only
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import tempfile
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from viva.authoring.approval import Decision, Event
from viva.authoring.reasoning.approval import ApprovalStates, Proposal, fold
from viva.authoring.reasoning.cells import clean
from viva.authoring.reasoning.checks import Checked, check_sheet
from viva.authoring.reasoning.prompt import doubt_of, draft_of
from viva.authoring.reasoning.questions import NAMES
from viva.authoring.reasoning.sheet import Sheet, read_sheet
from viva.authoring.reasoning.topics import Graph, check, read_triples
from viva.engine.journal import Entry, Journal
from viva.engine.reviews import Review, ReviewLog
from viva.errors import DataError, StorageError
from viva.types import RATIONALE, ReviewItem

if TYPE_CHECKING:
    from viva.review.items import Item


TOPICS, SHEET, SHEET_JSONL, INSTRUCTIONS = "topics.csv", "collection.csv", "collection.jsonl", "instructions.toml"
DRAFTS, REVIEWS = "drafts.jsonl", "reviews.jsonl"
SCOPE = "clrbench-draft/"
"""What a draft's entry calls its benchmark, before the digits of what is asked (`Collected.asked`)."""


class Drafted(Struct, frozen=True):
    """The last reply about a question's rationale: `text` is empty where the model wrote none."""

    model: str
    text: str
    doubt: str
    times: int
    """How many replies there are."""


class Project:
    """The folder, each file read once, when it is asked for."""

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise DataError(
                f"there is no project folder {path}; begin with: viva build clrbench graph {path} --toc FILE"
            )
        self.path = path

    @cached_property
    def graph(self) -> Graph | None:
        """The topic graph, None where there is none yet. Raises DataError for one that cannot be used."""
        content = self.read(TOPICS)
        if content is None:
            return None
        graph = read_triples(content, str(self.path / TOPICS))
        wrong = next((finding for finding in check(graph) if finding.error), None)
        if wrong:
            raise DataError(f"{self.path / TOPICS}: {wrong.message}; `viva build clrbench graph {self.path}` shows all")
        return graph

    def needed_graph(self) -> Graph:
        """The same; raises DataError where there is none."""
        if self.graph is None:
            raise DataError(f"{self.path} has no {TOPICS}; make it: viva build clrbench graph {self.path} --toc FILE")
        return self.graph

    @cached_property
    def sheet_name(self) -> str:
        """Which sheet it has: collection.csv, unless there is only collection.jsonl. Raises DataError for both."""
        there = [name for name in (SHEET, SHEET_JSONL) if (self.path / name).exists()]
        if len(there) > 1:
            raise DataError(f"{self.path} has {SHEET} and {SHEET_JSONL}; keep one of them")
        return there[0] if there else SHEET

    @cached_property
    def sheet(self) -> Sheet | None:
        """The collection sheet, None where there is none yet."""
        content = self.read(self.sheet_name)
        return None if content is None else read_sheet(content, str(self.path / self.sheet_name))

    @cached_property
    def checked(self) -> Checked:
        """The questions that can be used. Raises DataError where there is no sheet."""
        if self.sheet is None:
            raise DataError(f"{self.path} has no {SHEET}; make it: viva build clrbench sheet {self.path}")
        return check_sheet(self.sheet, self.graph)

    @cached_property
    def drafts(self) -> dict[str, Drafted]:
        """What is asked → its last draft."""
        journal = Journal(self.path / DRAFTS, write=False)
        try:
            entries = [entry for entry in journal.entries() if entry.error is None]
        finally:
            journal.close()
        found: dict[str, list[Entry]] = {}
        for entry in sorted(entries, key=lambda entry: (entry.sample, entry.at)):
            found.setdefault(entry.benchmark.removeprefix(SCOPE), []).append(entry)
        return {asked: _last(replies) for asked, replies in found.items()}

    @cached_property
    def log(self) -> ReviewLog:
        """The audit trail."""
        return ReviewLog(self.path / REVIEWS)

    def folded(self) -> ApprovalStates:
        """Every usable question with the state of its rationale, by the audit trail as it is now."""
        self.log.refresh()
        if self.log.damaged:  # a lost line may be a rejection
            first = self.log.damaged[0]
            raise StorageError(
                f"{self.log.path}, line {first.line} is damaged ({first.reason}); mend or remove it first"
            )
        drafts = {asked: (draft.model, draft.text) for asked, draft in self.drafts.items()}
        return fold(self.checked.questions, drafts, [as_event(review) for review in self.log.reviews])

    def read(self, name: str) -> bytes | None:
        """A file's bytes; None where it is not there."""
        try:
            return (self.path / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StorageError(f"cannot read {self.path / name}: {problem.strerror or problem}") from None

    def sources(self) -> dict[str, str]:
        """The files that a set is made of → SHA-256."""
        found = {name: self.read(name) for name in (TOPICS, self.sheet_name, DRAFTS, REVIEWS)}
        return {name: hashlib.sha256(content).hexdigest() for name, content in found.items() if content is not None}


def _last(replies: list[Entry]) -> Drafted:
    """A reply without a draft does not take the place of one that has it."""
    last = next((entry for entry in reversed(replies) if draft_of(entry.text)), replies[-1])
    return Drafted(last.model, draft_of(last.text), doubt_of(replies[-1].text), len(replies))


def as_event(review: Review) -> Event:
    """A line of the audit trail as what was decided: 1 approves, anything less rejects."""
    decision: Decision = "none" if review.after is None else "approve" if review.after >= 1 else "reject"
    return Event(
        item=review.item,
        question=review.about.get("question", ""),
        reviewer=review.reviewer,
        decision=decision,
        seen=None if review.text_before is None else clean(review.text_before),
        text=None if review.text_after is None else clean(review.text_after),
        comment=review.comment,
        undoes=bool(review.undoes),
    )


def about(proposal: Proposal) -> dict[str, str]:
    """Which question it is, for people and filters."""
    question = proposal.question
    found = {"question": question.id, "type": question.type, "discipline": question.path[0]}
    found |= dict(zip(("topic", "subtopic"), question.path[1:], strict=False))
    return found | {"state": proposal.state.status, "author": proposal.author or "nobody"}


def items_for_approval(project: Project, *, everything: bool = False) -> list[Item]:
    """What the review page needs: a question an item, its rationale to be edited, approved or rejected.

    What is approved is left out unless `everything` is wanted.
    """
    from viva.review.items import Item

    return [
        Item(
            key=proposal.key,
            about=about(proposal),
            question=proposal.question.question,
            options=proposal.question.options,
            drafts=(
                ReviewItem(
                    aspect=RATIONALE,
                    text=proposal.state.text,
                    gold=proposal.question.gold_text,
                    value=None,
                    scale=(0.0, 1.0),
                    reasons=_reasons(proposal),
                ),
            ),
            editable=True,
        )
        for proposal in project.folded().proposals
        if everything or proposal.state.status != "approved"
    ]


def _reasons(proposal: Proposal) -> str:
    """What an expert should know before deciding."""
    state = proposal.state
    parts = [f"{NAMES[proposal.question.type]}, {state.status}"]
    parts += [
        f"{word} by {', '.join(names)}"
        for word, names in (("edited", state.edited_by), ("rejected", state.rejected_by))
        if names
    ]
    return "; ".join((*parts, *(f"remark: {remark}" for remark in state.remarks)))


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all. Raises StorageError."""
    try:
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            partial = Path(name)
            partial.chmod(path.stat().st_mode & 0o777 if path.exists() else 0o644)
            partial.replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror or problem}") from None


@contextlib.contextmanager
def locked(project: Path) -> Iterator[None]:
    """Be the project's only writer of drafts. Raises StorageError while another process is."""
    try:
        lock = os.open(project / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    except OSError as problem:
        raise StorageError(f"cannot write in {project}: {problem.strerror}") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    except BlockingIOError:
        raise StorageError(f"another process is drafting in {project}; wait for it or stop it first") from None
    finally:
        os.close(lock)


def opened_project(path: Path) -> Project:
    """The project, its sheet read. Raises DataError where there is none."""
    project = Project(path)
    _ = project.checked
    return project
