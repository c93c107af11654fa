"""A project folder of `viva build translate`, read: what its files say together.

translation.json   what is translated into what (the source's path and fingerprint, languages, how it is asked)
translating.toml   what the model is told            drafts.jsonl    its replies, append-only
reviews.jsonl      what people decided, append-only
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from viva.authoring.approval import Event, State
from viva.authoring.reasoning.cells import clean
from viva.authoring.translation.approval import fold, headed, item_key, unheaded
from viva.authoring.translation.checks import Finding, check_record
from viva.authoring.translation.comparison import Reference, check_pair
from viva.authoring.translation.prompt import (
    Each,
    Templates,
    bundled,
    read_fields,
    read_templates,
    read_text,
    to_translate,
    translated,
)
from viva.benchmarks.csbench.files import Raw, RawSet, asked, named, read_set, text
from viva.engine.journal import Entry, Journal
from viva.engine.reviews import Review, ReviewLog
from viva.errors import DataError, VivaError
from viva.types import Language, ReviewItem

if TYPE_CHECKING:
    from viva.review.items import Item

SETTINGS, TEMPLATES, DRAFTS, REVIEWS = "translation.json", "translating.toml", "drafts.jsonl", "reviews.jsonl"
SCOPE = "csbench-translation"
ASPECT = "translation"


class Settings(Struct, kw_only=True):
    """All of translation.json."""

    format: int = 1
    source: str
    fingerprint: str
    source_language: Language
    target_language: Language
    each: Each


class Question(Struct, frozen=True, kw_only=True):
    """One question of the source, and where its translation stands."""

    name: str
    part: str
    record: Raw
    wanted: dict[str, str]
    """Field → text, of those that are to be translated."""
    start: str
    """The model's translation as people see it; empty where a field is missing."""
    author: str
    state: State

    @property
    def shown(self) -> str:
        """The source's texts as people see them."""
        return headed(self.wanted)

    @property
    def key(self) -> str:
        """The item that a decision is about."""
        return item_key(self.name, self.shown, self.state.text)

    def result(self, target: Language) -> Raw | None:
        """The translated record; None where the headings were damaged, or there is no translation."""
        fields = unheaded(self.state.text, self.wanted) if self.wanted else {}
        if fields is None or any(not value for value in fields.values()):
            return None
        return translated(self.record, fields, target)


class Project:
    """The folder, each file read once, when it is asked for."""

    def __init__(self, path: Path) -> None:
        try:
            content = (path / SETTINGS).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise DataError(
                f"{path} is no project of translation: begin with `viva build translate SET --to de --model ... "
                f"--project {path}`"
            ) from None
        except OSError as problem:
            raise DataError(f"cannot read {path / SETTINGS}: {problem.strerror}") from None
        try:
            self.settings = msgspec.json.decode(content, type=Settings)
        except msgspec.DecodeError as problem:
            raise DataError(f"{path / SETTINGS} is damaged: {problem}") from None
        self.path = path
        self._findings: dict[str, list[Finding]] = {}

    @classmethod
    def begin(cls, path: Path, source: Path, languages: tuple[Language | None, Language], each: Each) -> Project:
        """The project, made where it is not there yet. Raises VivaError where it is another one's."""
        from viva.authoring.reasoning.project import replace_file

        found = read_set(source, languages[0])
        if found.language == languages[1]:
            raise VivaError(f"--to {languages[1]}: {source} is in that language already; say --language if it is not")
        wanted = Settings(
            source=str(source.resolve()),
            fingerprint=found.fingerprint,
            source_language=found.language,
            target_language=languages[1],
            each=each,
        )
        if not (path / SETTINGS).exists():
            path.mkdir(parents=True, exist_ok=True)
            if not (path / TEMPLATES).exists():
                replace_file(path / TEMPLATES, bundled())
            replace_file(path / SETTINGS, msgspec.json.format(msgspec.json.encode(wanted), indent=2) + b"\n")
        project = cls(path)
        for name in ("fingerprint", "source_language", "target_language", "each"):
            there, here = getattr(project.settings, name), getattr(wanted, name)
            if there != here:
                raise VivaError(
                    f"{path} holds another translation ({name} {there!r}, and now {here!r}): choose another --project"
                )
        return project

    @cached_property
    def source(self) -> RawSet:
        """What is translated. Raises DataError where it is not what it was."""
        found = read_set(Path(self.settings.source), self.settings.source_language)
        if found.fingerprint != self.settings.fingerprint:
            raise DataError(
                f"{self.settings.source} has changed since this translation began (fingerprint {found.fingerprint}, "
                f"then {self.settings.fingerprint}): put the old files back, or begin a new project"
            )
        return found

    @cached_property
    def templates(self) -> Templates:
        """What the model is told."""
        path = self.path / TEMPLATES
        return read_templates(path.read_bytes() if path.exists() else b"", str(path))

    @cached_property
    def log(self) -> ReviewLog:
        """The audit trail."""
        return ReviewLog(self.path / REVIEWS)

    @cached_property
    def drafts(self) -> dict[str, Entry]:
        """Question (or question/field) → the last reply about it."""
        journal = Journal(self.path / DRAFTS, write=False)
        try:
            found: dict[str, Entry] = {}
            for entry in journal.entries():
                known = found.get(entry.question)
                if entry.error is None and (known is None or (known.at, known.key) < (entry.at, entry.key)):
                    found[entry.question] = entry
            return found
        finally:
            journal.close()

    def sources(self) -> list[tuple[str, str, Raw]]:
        """Every question of the source: its name, whose half it is in ("test", "valid"), its record."""
        parts = ["test"] * len(self.source.test) + ["valid"] * len(self.source.valid or [])
        records = self.source.records
        return list(zip(named(records), parts, records, strict=True))

    def questions(self) -> list[Question]:
        """Every question with where its translation stands, in the order of the source."""
        drafted = [
            (name, part, record, wanted, *self._draft(name, wanted))
            for name, part, record in self.sources()
            for wanted in (to_translate(record),)
        ]
        states = fold(
            ((name, headed(wanted), start) for name, _, _, wanted, start, _ in drafted),
            [_event(review) for review in self.log.reviews],
        )
        return [
            Question(name=name, part=part, record=record, wanted=wanted, start=start, author=author, state=states[name])
            for name, part, record, wanted, start, author in drafted
        ]

    def _draft(self, name: str, wanted: dict[str, str]) -> tuple[str, str]:
        """The model's translation as people see it, and whose it is."""
        if self.settings.each == "field":
            entries = {field: self.drafts.get(f"{name}/{field}") for field in wanted}
            found = {field: read_text(entry.text, wanted[field]) for field, entry in entries.items() if entry}
            author = next((entry.model for entry in entries.values() if entry), "")
        else:
            entry = self.drafts.get(name)
            found = read_fields(entry.text, wanted) if entry else {}
            author = entry.model if entry else ""
        complete = wanted and all(found.get(field, "").strip() for field in wanted)
        return (headed({field: clean(found[field]) for field in wanted}) if complete else ""), author

    def findings(self, question: Question) -> list[Finding]:
        """What the checks say about a translation as it now stands."""
        known = self._findings.get(question.key)
        if known is None:
            known = self._findings[question.key] = self._found(question)
        return known

    def _found(self, question: Question) -> list[Finding]:
        target = self.settings.target_language
        if not question.state.text and question.wanted:
            return [Finding(question.name, "", "no translation", "the model gave none, or left a field out")]
        record = question.result(target)
        if record is None:
            return [Finding(question.name, "", "headings damaged", "each field must keep its heading, in order")]
        # What was wrong in the source is not the translation's doing.
        before = {
            (finding.field, finding.kind)
            for finding in check_record(question.name, question.record, self.settings.source_language)
        }
        pair = Reference(question.name, question.record, record)
        own = [
            finding
            for finding in check_record(question.name, record, target)
            if (finding.field, finding.kind) not in before
        ]
        return [*own, *check_pair(pair, self.settings.source_language, target)]


def _event(review: Review) -> Event:
    decision = "none" if review.after is None else "approve" if review.after >= 1 else "reject"
    return Event(
        item=review.item,
        question=review.about.get("question", ""),
        reviewer=review.reviewer,
        decision=decision,  # type: ignore[arg-type]
        seen=None if review.text_before is None else clean(review.text_before),
        text=None if review.text_after is None else clean(review.text_after),
        comment=review.comment,
        undoes=bool(review.undoes),
    )


def verdict(findings: list[Finding]) -> str:
    """The worst that the checks found, in a word: for filters."""
    severities = {finding.severity for finding in findings}
    return "error" if "error" in severities else "warning" if severities else "nothing found"


def told(findings: list[Finding]) -> str:
    """What the checks found, for people."""
    return "; ".join(f"{one.severity}: {one.field} {one.kind}: {one.message}" for one in findings)


def about(question: Question, findings: list[Finding]) -> dict[str, str]:
    """Which question it is, for people and filters."""
    return {
        "question": question.name,
        "format": text(question.record["Format"]),
        "domain": text(question.record["Domain"]),
        "checks": verdict(findings),
        "state": question.state.status,
    }


def items_for_approval(project: Project, *, everything: bool = False) -> list[Item]:
    """What the review page needs: a question an item, those first in which the checks found errors."""
    from viva.review.items import Item

    found: list[tuple[int, Item]] = []
    for question in project.questions():
        if not question.wanted or not question.start or (question.state.status == "approved" and not everything):
            continue
        findings = project.findings(question)
        labels = about(question, findings)
        draft = ReviewItem(
            aspect=ASPECT,
            text=question.state.text,
            gold=question.shown,
            value=None,
            scale=(0.0, 1.0),
            reasons=told(findings),
        )
        shown = asked(question.record)
        item = Item(key=question.key, about=labels, question=shown, drafts=(draft,), editable=True)
        found.append((("error", "warning", "nothing found").index(labels["checks"]), item))
    return [item for _, item in sorted(found, key=lambda pair: pair[0])]


def refused(project: Project, lines: Sequence[Review]) -> str:
    """What is wrong with lines that the review page is about to write, as a sentence; "" for nothing."""
    wanted = {name: to_translate(record) for name, _, record in project.sources()}
    for line in lines:
        text_after = line.text_after if line.text_after is not None else line.text_before
        fields = wanted.get(line.about.get("question", ""), {})
        if line.after and text_after is not None and unheaded(clean(text_after), fields) is None:
            headings = ", ".join(f"[{field}]" for field in fields)
            return f"The translation must keep its headings, each on a line of its own and in this order: {headings}."
    return ""


def digest(content: bytes) -> str:
    """SHA-256, for manifests."""
    return hashlib.sha256(content).hexdigest()
