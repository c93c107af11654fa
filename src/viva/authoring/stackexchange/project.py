"""A project folder of `viva build infibench`, read: what its files say together.

pool.jsonl, build.json     the questions that can be chosen (viva build infibench pool --out PROJECT)
questions/ID/              original.md to read, question.yaml to write, draft.md where a model drafted
instructions.toml          what a drafting model is told        drafts.jsonl     its replies, append-only
reviews.jsonl              what experts decided, append-only    exports.jsonl    which texts went into which set
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import date
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.authoring.files import content_of
from viva.authoring.stackexchange.cutoffs import created
from viva.authoring.stackexchange.decisions import ApprovalState, Decision, Event, Status, standing
from viva.authoring.stackexchange.kit import (
    FILE,
    LONGEST,
    QUESTIONS,
    authors_of,
    digest,
    question_id,
    same_lines,
    template,
)
from viva.authoring.stackexchange.kitchecks import KitChecked, at, check_kit
from viva.authoring.stackexchange.pool import BUILD, POOL, Build, PoolQuestion, read_build, read_pool
from viva.authoring.stackexchange.prompt import asked, draft_of, unfit_of
from viva.authoring.stackexchange.set_places import Candidate, Places, places
from viva.benchmarks.custom.positions import Scalar, Unreadable, read_yaml
from viva.engine.journal import Journal
from viva.engine.reviews import Review, ReviewLog
from viva.errors import DataError, StorageError, VivaError
from viva.files import reading
from viva.runs.messages import notify

if TYPE_CHECKING:
    from viva.review.items import Item


INSTRUCTIONS, DRAFTS, REVIEWS, EXPORTS = "instructions.toml", "drafts.jsonl", "reviews.jsonl", "exports.jsonl"
SCOPE = "infibench-draft/"
"""What a draft's entry calls its benchmark, before the digits of what is asked (`drafting.asked`)."""
MANY = 200
"""Questions from which on reading them takes seconds."""
_NAMED = re.compile(r"(?:so-|https?://[^/\s]+/(?:questions|q)/)?(\d{1,10})(?:/\S*)?", re.ASCII)
ASPECT = "question"
"""What a decision is about: the whole of a question.yaml."""


class Drafted(Struct, frozen=True):
    """The last reply about a question: `text` is empty where the model wrote no prompt, `unfit` says why it did not."""

    model: str
    text: str
    unfit: str


class State(Struct, frozen=True, kw_only=True):
    """Where one question of the pool stands."""

    about: PoolQuestion
    text: str | None
    """Of question.yaml; None where there is no kit yet."""
    checked: KitChecked
    standing: ApprovalState
    authors: tuple[str, ...]
    status: Status

    @property
    def id(self) -> str:
        """What the set calls it."""
        return question_id(self.about)


class Exported(Struct, frozen=True):
    """A line of exports.jsonl: the fingerprint of a set, and the digits of its questions' texts."""

    fingerprint: str
    pilot: bool
    texts: dict[str, str]


class Project:
    """The folder, each file read once, when it is asked for; question files and decisions as they are now."""

    def __init__(self, path: Path) -> None:
        if not (path / POOL).is_file():
            raise DataError(
                f"{path} has no {POOL}; begin with: viva build infibench pool DUMP --out {path}, or take a pool that "
                f"lies elsewhere: viva build infibench kit {path} --pool FOLDER"
            )
        self.path = path
        self._checked: dict[int, tuple[str, KitChecked]] = {}
        self._authors: dict[int, tuple[str, tuple[str, ...]]] = {}

    @cached_property
    def pool(self) -> tuple[PoolQuestion, ...]:
        """The questions, in the pool's order. Raises DataError for a pool that is damaged."""
        found = read_pool(self.path)
        seen: set[int] = set()
        for one in found:
            if one.id in seen or one.id < 1:
                raise DataError(f"{self.path / POOL}: question {one.id} stands twice, or is no question")
            seen.add(one.id)
            created(one.created)
            for answer in one.answers:
                created(answer.created)
        if not found:
            raise DataError(f"{self.path / POOL} holds no question")
        return tuple(found)

    @cached_property
    def build(self) -> Build:
        """How the pool was made."""
        return read_build(self.path)

    @cached_property
    def quotas(self) -> dict[str, int]:
        """Language → questions wanted, as the pool was drawn."""
        return {one.language: one.quota for one in self.build.languages if one.quota}

    def folder(self, about: PoolQuestion) -> Path:
        """The folder of a question's kit."""
        return self.path / QUESTIONS / str(about.id)

    def file(self, about: PoolQuestion) -> Path:
        """Its question.yaml."""
        return self.folder(about) / FILE

    def text(self, about: PoolQuestion) -> str | None:
        """Contents of question.yaml, or None if missing. Undecodable bytes become surrogates; `check` reports them."""
        content = self.read(self.file(about))
        return None if content is None else content.decode("utf-8", "surrogateescape")

    def read(self, path: Path) -> bytes | None:
        """A file's bytes, as many as are read of any; None where it is not there."""
        try:
            with reading(path, follow=True) as file:
                return file.read(LONGEST + 1)
        except FileNotFoundError:
            return None
        except OSError as problem:
            raise StorageError(f"cannot read {path}: {problem.strerror or problem}") from None

    def checked(self, about: PoolQuestion, text: str) -> KitChecked:
        """What reading tells of a text of its question.yaml."""
        known = self._checked.get(about.id)
        if known is None or known[0] != text:
            found = check_kit(about, text.encode("utf-8", "surrogateescape"), self.file(about))
            known = self._checked[about.id] = (text, found)
        return known[1]

    @cached_property
    def drafts(self) -> dict[str, Drafted]:
        """What is asked → its last draft."""
        journal = Journal(self.path / DRAFTS, write=False)
        try:
            entries = [entry for entry in journal.entries() if entry.error is None]
        finally:
            journal.close()
        found: dict[str, Drafted] = {}
        for entry in sorted(entries, key=lambda entry: entry.at):
            name, draft = entry.benchmark.removeprefix(SCOPE), draft_of(entry.text)
            if draft or name not in found or not found[name].text:
                found[name] = Drafted(entry.model, draft, unfit_of(entry.text))
        return found

    @cached_property
    def log(self) -> ReviewLog:
        """The audit trail."""
        return ReviewLog(self.path / REVIEWS)

    def events(self) -> dict[str, list[Event]]:
        """Question → what was decided about it, in order. Raises StorageError for a damaged trail."""
        self.log.refresh()
        if self.log.damaged:  # a lost line may be a rejection
            first = self.log.damaged[0]
            raise StorageError(
                f"{self.log.path}, line {first.line} is damaged ({first.reason}); mend or remove it first"
            )
        found: dict[str, list[Event]] = {}
        for review in self.log.reviews:
            found.setdefault(review.about.get("question", ""), []).append(as_event(review))
        return found

    def state(self, about: PoolQuestion, events: Sequence[Event]) -> State:
        """Where a question stands, its file read anew."""
        text = self.text(about)
        identity = question_id(about)
        if text is None:
            there = standing(identity, template(about), (), events)
            status: Status = "rejected" if there.decided == "rejected" else "unwritten"
            return State(about=about, text=None, checked=KitChecked(), standing=there, authors=(), status=status)
        if about.id not in self._authors or self._authors[about.id][0] != text:
            self._authors[about.id] = (text, authors_in(text))
        authors = self._authors[about.id][1]
        there = standing(identity, text, authors, events)
        if self._untouched(about, text):
            status, checked = "unwritten", KitChecked()
        else:
            checked = self.checked(about, text)
            status = there.decided if checked.question is not None else "faulty"
        if there.rejected_by and status in ("unwritten", "faulty"):
            status = "rejected"
        authors = tuple(dict.fromkeys((*authors, *there.editors)))
        return State(about=about, text=text, checked=checked, standing=there, authors=authors, status=status)

    def _untouched(self, about: PoolQuestion, text: str) -> bool:
        """Whether nobody wrote into the file yet: it is the template, with or without a draft."""
        drafted = self.drafts.get(asked(about))
        known = [template(about), *([template(about, drafted.text)] if drafted and drafted.text else [])]
        return same_lines(text) in {same_lines(one) for one in known}

    def states(self, *, quiet: bool = False) -> list[State]:
        """Every question of the pool, in its order. A pool that takes its time is announced, unless `quiet`."""
        if len(self.pool) > MANY and not quiet:
            notify(f"reading {len(self.pool):,} questions")
        events = self.events()
        return [self.state(about, events.get(question_id(about), ())) for about in self.pool]

    def places(self, states: Sequence[State], after: date | None = None) -> Places:
        """Which questions are in the set, as things stand; `after`: only those asked from that day on."""
        candidates = [Candidate(state.about, state.status, barred(state, after)) for state in states]
        areas = {one.language: one.area for one in self.build.languages}
        return places(candidates, self.quotas, areas)

    def find(self, identity: str) -> PoolQuestion:
        """A question by its number, its id in the set or its address. Raises DataError."""
        found = _NAMED.fullmatch(identity.strip())
        for one in self.pool:
            if found and str(one.id) == found[1]:
                return one
        raise DataError(f"{identity[:80]!r} is no question of {self.path / POOL}; name it as so-{self.pool[0].id}")

    def sources(self) -> dict[str, str]:
        """The files that a set is made of, besides the questions' own → SHA-256."""
        found: dict[str, str] = {}
        for name in (POOL, BUILD, DRAFTS, REVIEWS):
            if (self.path / name).is_file():
                with (self.path / name).open("rb") as file:
                    found[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return found

    def exports(self) -> Iterator[Exported]:
        """The sets that were exported, oldest first. A damaged line is passed over: it only helps to compare."""
        content = (self.path / EXPORTS).read_bytes() if (self.path / EXPORTS).is_file() else b""
        for line in content.split(b"\n"):
            try:
                yield msgspec.json.decode(line, type=Exported)
            except (msgspec.DecodeError, RecursionError):
                continue


def barred(state: State, after: date | None) -> str:
    """Why a question cannot be in the set whatever its state is; "" if it can."""
    return f"asked before {after}" if after is not None and created(state.about.created) < after else ""


def authors_in(text: str) -> tuple[str, ...]:
    """The names in a question.yaml's author tag, also of a file with errors."""
    try:
        node = at(read_yaml(text.encode("utf-8", "replace").decode()), "questions", 0, "tags", "author")
    except Unreadable:
        return ()
    return authors_of(node.value) if isinstance(node, Scalar) else ()


def as_event(review: Review) -> Event:
    """A line of the audit trail as what was decided: 1 approves, anything less rejects."""
    decision: Decision = "none" if review.after is None else "approve" if review.after >= 1 else "reject"
    return Event(
        item=review.item,
        question=review.about.get("question", ""),
        reviewer=review.reviewer,
        decision=decision,
        seen=review.text_before,
        made=review.text_after,
        comment=review.comment,
        undoes=bool(review.undoes),
    )


def key_of(state: State) -> str:
    """The item that decisions are about: another text is another item."""
    return digest(state.id, state.text if state.text is not None else template(state.about))


def items_for_review(project: Project, *, everything: bool = False, kits: bool = False) -> list[Item]:
    """What the review page needs: a question an item, its file to be edited, approved or rejected.

    What is approved or rejected is left out unless `everything` is wanted; what is not written yet, unless `kits` are.
    """
    from viva.authoring.stackexchange.review_items import item

    hidden = {"approved", "rejected"} if not everything else set()
    hidden |= {"unwritten"} if not kits else set()
    states = project.states(quiet=True)
    return [item(state) for state in states if state.status not in hidden and state.text is not None]


def make_folder(folder: Path) -> None:
    """Make a folder. Raises StorageError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise StorageError(f"cannot write {folder}: {problem.strerror or problem}") from None


def take_pool(pool: Path, project: Path) -> None:
    """The pool's two files into the project, build.json last: then it is whole."""
    from viva.authoring.reasoning.project import replace_file

    read_build(pool)
    read_pool(pool)
    make_folder(project)
    for name in (POOL, BUILD):
        content = content_of(pool / name)
        if (project / name).exists():
            if content_of(project / name) != content:
                raise VivaError(f"{project} has another {name} than {pool}; begin a new project, or leave out --pool")
            continue
        replace_file(project / name, content)
