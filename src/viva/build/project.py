"""The folder of a set under construction: its files and lock, drafts by models, decisions by people (page or file)."""

from __future__ import annotations

import hashlib
import os
import secrets
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, Generic, TypeAlias, TypeVar

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from viva.build.approval import P, replay
from viva.build.files import AUDIT, clean, filled_rows, new_sheet, replace_file, write_set, written_table
from viva.build.options import ProjectPath, counts_text, tell_held, tell_notes
from viva.engine.journal import Entry, Journal
from viva.engine.reviews import Review, ReviewLog
from viva.errors import EXIT_OK, DataError, StorageError, VivaError, flag, option
from viva.fields import note
from viva.files import LockedError, lock, reading, shipped_text
from viva.pages.review.invitations import Token, TokenFile, token_given
from viva.review.items import Item, name_problem
from viva.types import ReviewItem
from viva.visible import escape_invisible, plural

DRAFTS, REVIEWS, INSTRUCTIONS = "drafts.jsonl", "reviews.jsonl", "instructions.toml"


class Drafted(Struct, frozen=True):
    """The last draft about a question: `text` is empty if there is none, `doubt` may say why."""

    model: str
    text: str
    doubt: str
    times: int
    """Number of replies."""


M = TypeVar("M")
Held: TypeAlias = "list[tuple[str, str]]"
"""Names held back from a set, with reasons."""


class Release(Struct, Generic[M], frozen=True, kw_only=True):
    """A set before it is written."""

    manifest: M
    contents: dict[str, bytes]
    held: Held
    notes: list[str] = []


class ProjectFolder:
    """A project folder; files are read once, on first use, but decisions each time."""

    module: ClassVar[str]
    """A Python file; next to it are the instructions of a new project."""
    told: ClassVar[str] = INSTRUCTIONS
    """File name of the instructions."""
    scope: ClassVar[str]
    """Prefix of the `benchmark` field in a draft's journal entry, before the question's key."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def read(self, name: str | Path, most: int = -1) -> bytes | None:
        """Return a file's bytes, at most the first `most`; None if it is missing. `name` is relative to the folder.

        Raises StorageError.
        """
        try:
            with reading(self.path / name, follow=True) as file:
                return file.read(most)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as problem:
            raise StorageError(f"cannot read {self.path / name}: {problem.strerror or problem}") from None

    def instructions(self) -> tuple[bytes, str]:
        """Return the drafting model's instructions and their file's name; creates the file if missing."""
        content = self.read(self.told)
        if content is None:
            content = shipped_text(self.module, self.told).encode()
            replace_file(self.path / self.told, content)
        return content, str(self.path / self.told)

    @cached_property
    def replies(self) -> list[Entry]:
        """Replies of models, oldest first, without failed requests."""
        journal = Journal(self.path / DRAFTS, write=False)
        try:
            entries = [entry for entry in journal.entries() if entry.error is None]
        finally:
            journal.close()
        return sorted(entries, key=lambda entry: (entry.at, entry.key))

    def last_drafts(self, read: Callable[[str], tuple[str, str]]) -> dict[str, Drafted]:
        """Return question key → its last draft and doubt, as `read` takes them from a reply.

        A reply without a draft does not replace an earlier draft.
        """
        asked: dict[str, list[Entry]] = {}
        for entry in sorted(self.replies, key=lambda entry: entry.sample):
            asked.setdefault(entry.benchmark.removeprefix(self.scope), []).append(entry)
        drafts: dict[str, Drafted] = {}
        for name, replies in asked.items():
            last = next((entry for entry in reversed(replies) if read(entry.text)[0]), replies[-1])
            drafts[name] = Drafted(last.model, read(last.text)[0], read(replies[-1].text)[1], len(replies))
        return drafts

    @cached_property
    def log(self) -> ReviewLog:
        """The audit trail."""
        return ReviewLog(self.path / REVIEWS)

    def decisions(self, clean: Callable[[str], str] = str) -> list[Review]:
        """Return all decisions in order, with `clean` applied to texts. Raises StorageError for a damaged trail."""
        self.log.refresh()
        if self.log.damaged:  # a lost line may be a rejection
            first = self.log.damaged[0]
            raise StorageError(
                f"{self.log.path}, line {first.line} is damaged ({first.reason}); mend or remove it first"
            )
        texts = ("text_before", "text_after")
        return [
            replace(review, **{name: clean(text) for name in texts if (text := getattr(review, name)) is not None})
            for review in self.log.reviews
        ]

    def digests(self, names: Iterable[str]) -> dict[str, str]:
        """Return name → SHA-256, of the files that exist. Raises StorageError."""
        contents = {name: self.read(name) for name in names}
        return {name: hashlib.sha256(content).hexdigest() for name, content in contents.items() if content is not None}

    def release(
        self, made: Release[Any], out: Path, *, force: bool, everything: bool, files: Iterable[str] = ()
    ) -> None:
        """Write a set with the audit trail by `files.write_set`, and print what is held back."""
        trail = msgspec.json.Encoder().encode_lines(self.log.reviews)
        write_set(out, {**made.contents, AUDIT: trail}, made.manifest, force=force, files=files)
        tell_held([f"{what}: {why}" for what, why in made.held], everything=everything)
        tell_notes(made.notes)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the project for drafting. Raises StorageError while another process holds the lock."""
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


_MARKS: dict[str, float | None] = {"approve": 1.0, "reject": 0.0, "edit": None}


class TextProject(ProjectFolder, Generic[P]):
    """A project in which people decide about one text per question, on a page or in a spreadsheet."""

    aspect: ClassVar[str]
    """What the texts are, and the name of their column in a file of decisions."""
    columns: ClassVar[Sequence[str]]
    """Columns of a file of decisions besides the question's name, its text and remarks."""
    called: ClassVar[str] = "file"
    """The word for such a file in messages."""
    needed: ClassVar[Sequence[str]] = ("question", "decision")
    unknown: ClassVar[str]
    """End of the message about an unknown question: `no question NAME ...`."""

    @abstractmethod
    def begun(self) -> list[P]:
        """Return every question with its first text."""

    @abstractmethod
    def about(self, proposal: P) -> dict[str, str]:
        """Return the properties of a question for people and filters."""

    @abstractmethod
    def refusal(self, proposal: P, decision: str, text: str) -> str:
        """Return what is wrong with a decision about a text; "" for nothing."""

    @abstractmethod
    def described(self, proposal: P) -> tuple[str, ...]:
        """Return the values of `columns`."""

    @abstractmethod
    def item(self, proposal: P) -> Item:
        """Return a question for the review page, its text to be edited, approved or rejected."""

    def replayed(self) -> tuple[list[P], list[Review]]:
        """Return every question with its text by the current audit trail, and decisions about none of them."""
        return replay(self.begun(), self.decisions(clean))

    def texts(self) -> list[P]:
        """Return every question with its text by the current audit trail."""
        return self.replayed()[0]

    def proposals(self) -> dict[str, P]:
        """Return question → proposal, for those that can be decided about."""
        return {proposal.name: proposal for proposal in self.texts()}

    def waiting(self, everything: bool) -> list[P]:
        """Return the proposals still to be decided; with `everything`, approved ones too."""
        return [each for each in self.proposals().values() if everything or each.state.status != "approved"]

    def states(self) -> Counter[str]:
        """Return the number of texts by state."""
        return Counter(proposal.state.status for proposal in self.texts())

    def items(self, *, everything: bool = False) -> list[Item]:
        """Return the items of the review page."""
        return [self.item(proposal) for proposal in self.waiting(everything)]

    def refused(self, lines: Sequence[Review]) -> str:
        """Return a sentence on what is wrong with the review page's new decisions; "" for nothing."""
        proposals = self.proposals()
        for line in lines:
            proposal = proposals.get(line.about.get("question", ""))
            text = line.text_before if line.text_after is None else line.text_after
            if proposal is None or text is None or not line.after:
                continue
            if problem := self.refusal(proposal, "approve", clean(text)):
                return f"{problem[0].upper()}{problem[1:]}."
        return ""

    def write_decisions(self, path: Path, *, everything: bool) -> int:
        """Write a decision file to be filled in; returns its number of questions. Raises VivaError, StorageError."""
        titles = ("question", "item", *self.columns, "decision", self.aspect, "comment", "remarks")
        rows = [
            (text.name, text.key, *self.described(text), "", text.state.text, "", "; ".join(text.state.remarks))
            for text in self.waiting(everything)
        ]
        new_sheet(path, written_table(titles, rows, encoding="utf-8-sig"))
        return len(rows)

    def take_decisions(self, path: Path, reviewer: str) -> tuple[int, Counter[str]]:
        """Take over a file's decisions, all or none; returns their number and the new states. Raises DataError."""
        proposals, now = self.proposals(), round(time.time(), 3)
        missing = f"; `approve {option('write')}` writes such a {self.called}"
        columns = ("question", "decision", self.aspect, "item", "comment")
        rows = filled_rows(path, columns, self.needed, "decision", lambda column: f"{column!r}{missing}")
        reviews: dict[str, Review] = {}
        for where, row in rows:
            name = row["question"]
            if name not in proposals:
                raise DataError(f"{where}: no question {name[:80]!r} {self.unknown}")
            if name in reviews:
                raise DataError(f"{where}: a second decision about {name!r}")
            if review := self._review(proposals[name], row, where, reviewer, now):
                reviews[name] = review
        return len(self.log.append(list(reviews.values()))), self.states()

    def _review(self, proposal: P, row: Mapping[str, str], where: str, reviewer: str, now: float) -> Review | None:
        """Return a row's review; None if it repeats this reviewer's own decision. Raises DataError."""
        decision, state = row["decision"].casefold(), proposal.state
        if decision not in _MARKS:
            raise DataError(f"{where}: decision {row['decision'][:40]!r}; write {', '.join(_MARKS)}, or nothing")
        if row["item"] and row["item"] != proposal.key:
            raise DataError(
                f"{where}: {row['question']!r} or its {self.aspect} has changed since this {self.called} was written; "
                f"write a new one with {option('write')}, and decide about that"
            )
        text = clean(row[self.aspect]) or state.text
        if problem := self.refusal(proposal, decision, text):
            raise DataError(f"{where}: {problem}")
        if decision == "edit" and text == state.text:
            raise DataError(
                f"{where}: `edit`, but the {self.aspect} is as it was; write `approve` if that is what you mean"
            )
        edited = text != state.text and decision != "reject"
        before = {"approve": state.approved_by, "reject": state.rejected_by}.get(decision, ())
        if reviewer in before and not edited:
            return None
        return new_review(
            reviewer,
            now,
            item=proposal.key,
            about=self.about(proposal),
            aspect=self.aspect,
            after=_MARKS[decision],
            comment=row["comment"],
            text_before=state.text,
            text_after=text if edited else None,
        )


def new_review(reviewer: str, now: float, **decided: Any) -> Review:
    """Return a line for the audit trail."""
    return Review(id=secrets.token_hex(16), at=now, reviewer=reviewer, **decided)


def review_item(
    key: str, about: dict[str, str], question: str, *, aspect: str, text: str, gold: str, reasons: str, **more: Any
) -> Item:
    """Return a review-page item with one text, to be edited, approved or rejected."""
    draft = ReviewItem(aspect=aspect, text=text, gold=gold, value=None, scale=(0.0, 1.0), reasons=reasons)
    return Item(key=key, about=about, question=question, drafts=(draft,), editable=True, **more)


class DecidingOptions(Struct, kw_only=True):
    """Who decides, about what, how often, and where the page is served."""

    project: ProjectPath
    reviewer: Annotated[str, note("Who decides, where the page is not told another name.", metavar="NAME")] = ""
    everything: Annotated[bool, note("Also what is approved already.")] = False
    marks: Annotated[int, Meta(ge=1, le=100, description="Experts wanted for each question.")] = 1
    host: Annotated[str, note("For another one a token is needed.")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65535, description="0: a free one.")] = 8470
    token: Token = ""
    token_file: TokenFile = None


class FileOptions(Struct, kw_only=True):
    """A file of decisions, read or written."""

    project: ProjectPath
    reviewer: Annotated[str | None, note("Who decided what is in the file.", metavar="NAME")] = None
    decided: Annotated[
        Path | None,
        note(
            "Decisions: question, decision, rationale or translation, comment.", metavar="FILE.csv", spelled=("--file",)
        ),
    ] = None
    target: Annotated[
        Path | None,
        note("Write such a file of what is to be decided, to be filled in.", metavar="FILE.csv", spelled=("--write",)),
    ] = None
    everything: Annotated[bool, note("With --write: also what is approved already.")] = False


def serve_items(
    project: ProjectFolder,
    items: Sequence[Item],
    config: DecidingOptions,
    others: str = f"{flag('everything')} shows what is approved",
    **settings: Any,
) -> int:
    """Serve the review page of `items` until Ctrl-C; if there are none, print `others`: the option to see the rest."""
    from viva.pages.review.reviewpages import serve
    from viva.pages.review.reviewsession import Settings

    token = token_given(config.token, config.token_file)
    if not items:
        print(f"nothing is left to decide; {others}")
        return EXIT_OK
    chosen = Settings(
        title=project.path.resolve().name, reviewer=config.reviewer, marks_per_item=config.marks, **settings
    )
    serve(items, project.log, chosen, host=config.host, port=config.port, token=token)
    return EXIT_OK


def decide_by_file(project: type[TextProject[Any]], config: FileOptions) -> int:
    """Take over the decisions of --file, or write the file for --write. Raises VivaError."""
    if (config.decided is None) == (config.target is None):
        raise VivaError(
            f"{option('write', 'FILE')}.csv to get a {project.called} to fill in, then {option('reviewer', 'NAME')} "
            f"{option('file', 'FILE')}.csv"
        )
    opened = project(config.project)
    if config.target is not None:
        count = opened.write_decisions(config.target, everything=config.everything)
        print(f"{config.target}: {plural(count, 'question')}; write approve, reject or edit into the column decision")
    elif config.decided is not None:
        tell_decisions(*opened.take_decisions(config.decided, _name(config.reviewer)))
    return EXIT_OK


def tell_decisions(count: int, states: dict[str, int]) -> None:
    """Print how many decisions were taken over, and the number of texts by state."""
    print(f"{plural(count, 'decision')} taken over; now {counts_text(states)}")


def refuse_name(reviewer: str) -> None:
    """Raise VivaError for a --reviewer that the page would refuse."""
    if problem := name_problem(reviewer):
        raise VivaError(f"{escape_invisible(reviewer, limit=80)!r}: {problem}", field="reviewer")


def _name(reviewer: str | None) -> str:
    """Return the reviewer's name for the audit trail. Raises VivaError if it is missing or too long."""
    if not reviewer or not reviewer.strip() or len(reviewer) > 100:
        raise VivaError(f"{option('reviewer', 'NAME')}: who decided? (the audit trail keeps it)")
    return " ".join(escape_invisible(reviewer).split())
