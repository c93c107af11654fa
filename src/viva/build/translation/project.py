"""A project folder of `viva build translate`.

translation.json   settings (the source's path and fingerprint, languages, way of asking)
translating.toml   the model's instructions            drafts.jsonl    its replies, append-only
reviews.jsonl      what people decided, append-only

Its set: test.json and valid.json of CS-Bench's format, build.json, the audit trail.

Only words are sent to a model, never golds that are letters or truth values, ids or tags; a field with nothing to
translate (`1100 1010`, `O(n^2)`) is copied. The published German and French files have errors in exactly these places.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.csbench.recordfiles import (
    NAMES,
    TEST,
    VALID,
    Raw,
    RawSet,
    asked,
    named,
    read_set,
    text,
    written,
)
from viva.build.approval import Proposal
from viva.build.drafting import drafting_request, texts_of
from viva.build.files import Made, clean, counted, readable_json, replace_file, toml_of
from viva.build.options import counts_text
from viva.build.project import Held, Release, TextProject, review_item
from viva.build.translation.checks import HAN, Finding, check_pair, check_record, findings_of, text_fields
from viva.engine.journal import Entry
from viva.errors import DataError, VivaError, flag, option
from viva.files import shipped_table
from viva.prompting import replace_surrogates
from viva.review.items import Item
from viva.scorers.lexicon import after_thinking
from viva.types import Generate, Language, Sampling

Each = Literal["question", "field"]
SETTINGS, TEMPLATES = "translation.json", "translating.toml"
LONGEST = 100_000
"""Characters of a reply that are read."""
_PLAIN = re.compile(
    r"\\\(.*?\\\)|\\\[.*?\\\]|\$[^$\n]*\$|[A-Za-z_]\w*(?:->|\.)\w+|\w*\d\w*|\w*[_^=<>*/+]\w*|\b[A-Z]{2,}\b", re.DOTALL
)
_WORD = re.compile(r"[^\W\d_]{3,}")
_FENCED = re.compile(r"\A\s*```[a-z]*\s*\n(.*?)\n?```\s*\Z", re.DOTALL)


class Templates(Struct, frozen=True):
    """The texts of translating.toml."""

    names: dict[str, str]
    translate: dict[str, str]


def read_templates(content: bytes, name: str) -> Templates:
    """Read a project's templates, with bundled defaults. Raises DataError for an unknown key."""
    standard = shipped_table(__file__, TEMPLATES, dict[str, dict[str, str]])
    given = texts_of(toml_of(content, name), name, standard)
    return Templates(**{table: {**texts, **given.get(table, {})} for table, texts in standard.items()})


def to_translate(record: Raw) -> dict[str, str]:
    """Return field → text, of fields with words to translate."""
    texts: dict[str, str] = {}
    for field in text_fields(record):
        content = text(record.get(field))
        if isinstance(record.get(field), str) and has_words(content):
            texts[field] = content
    return texts


def has_words(content: str) -> bool:
    """Return whether a text has natural-language words, not only numbers, formulas, code and abbreviations."""
    return bool(HAN.search(content) or _WORD.search(_PLAIN.sub(" ", content)))


def read_fields(reply: str, wanted: Mapping[str, str]) -> dict[str, str]:
    """Parse the reply about a whole question: field → translation, of the `wanted` fields; {} if it has none."""
    body = _answer(reply)
    first, last = body.find("{"), body.rfind("}")
    if first < 0 or last < first:
        return {}
    try:
        fields = json.loads(body[first : last + 1], strict=False)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {field: _clean(fields[field]) for field in wanted if isinstance(fields.get(field), str)}


def _answer(reply: str) -> str:
    start, unfinished = after_thinking(reply[:LONGEST])
    return "" if unfinished else reply[start:LONGEST]


def read_text(reply: str, original: str) -> str:
    """Parse the reply about one text; removes a fence around it, unless the original has fences."""
    body = _answer(reply)
    fenced = _FENCED.match(body)
    return _clean(fenced[1] if fenced and "```" not in original else body)


def _clean(content: str) -> str:
    """Remove lone surrogates and control characters."""
    return "".join(
        c for c in replace_surrogates(content) if c in "\n\t" or c.isprintable() or c in "\u00a0\u202f\u3000"
    ).strip()


def translated(record: Raw, fields: Mapping[str, str], target: Language) -> Raw:
    """Return the record with translated fields and language; the rest is unchanged."""
    record_translated = {key: fields.get(key, value) for key, value in record.items()}
    if "Language" in record_translated:
        record_translated["Language"] = NAMES[target]
    return record_translated


def item_key(question: str, source: str, shown: str) -> str:
    """Return the review item's key (32 hexadecimal digits); a changed source or translation is a new item."""
    content = json.dumps([question, source, shown]).encode()
    return hashlib.blake2b(content, digest_size=16).hexdigest()


_HEADING = re.compile(r"^(\[+)(Question|A|B|C|D|Answer|Explanation)(\]+)$", re.MULTILINE)


def headed(fields: Mapping[str, str]) -> str:
    """Join fields to one text, each below a heading with more brackets than any such line in the texts."""
    if not fields:
        return ""
    most = max((len(heading[1]) for value in fields.values() for heading in _HEADING.finditer(value)), default=0)
    left, right = "[" * (most + 1), "]" * (most + 1)
    return "\n\n".join(f"{left}{name}{right}\n{value}" for name, value in fields.items())


def unheaded(shown: str, wanted: Iterable[str]) -> dict[str, str] | None:
    """Split such a text into its fields; None unless the headings are the `wanted` ones, each once, in order."""
    first = _HEADING.match(shown.replace("\r\n", "\n").strip())
    if first is None:
        return None
    pattern = re.compile(rf"^{re.escape(first[1])}([A-Z][a-z]*){re.escape(first[3])}[ \t]*$", re.MULTILINE)
    parts = pattern.split(shown.replace("\r\n", "\n").strip())
    names, values = parts[1::2], [value.strip() for value in parts[2::2]]
    if len(first[1]) != len(first[3]) or parts[0].strip() or names != list(wanted):
        return None
    return dict(zip(names, values, strict=True))


ASPECT = "translation"


class Settings(Struct, kw_only=True):
    """All of translation.json."""

    format: int = 1
    source: str
    fingerprint: str
    source_language: Language
    target_language: Language
    each: Each


class Question(Proposal, frozen=True, kw_only=True):
    """A question of the source with the state of its translation; `start` is empty if a field is missing."""

    part: str
    record: Raw
    wanted: dict[str, str]
    """Field → text, of the fields to translate."""

    @property
    def shown(self) -> str:
        """The source's texts as shown to people."""
        return headed(self.wanted)

    def result(self, target: Language) -> Raw | None:
        """Return the translated record; None if headings were damaged or a translation is missing."""
        fields = unheaded(self.state.text, self.wanted) if self.wanted else {}
        if fields is None or any(not value for value in fields.values()):
            return None
        return translated(self.record, fields, target)


class Project(TextProject[Question]):
    """The project folder; each file is read once, on first use."""

    module = __file__
    told = TEMPLATES
    scope = "csbench-translation"
    aspect = ASPECT
    columns = ("format", "checks", "findings", "state", "source")
    called = "sheet"
    needed = ("question", "decision", ASPECT)
    unknown = "with a translation is in the project"

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        content = self.read(SETTINGS)
        if content is None:
            raise DataError(
                f"{path} is no project of translation: begin with `viva build translate SET {flag('to')} de "
                f"{flag('model')} ... {flag('project')} {path}`"
            )
        try:
            self.settings = msgspec.json.decode(content, type=Settings)
        except msgspec.DecodeError as problem:
            raise DataError(f"{path / SETTINGS} is damaged: {problem}") from None
        self._findings: dict[str, list[Finding]] = {}

    @classmethod
    def begin(cls, path: Path, source: Path, languages: tuple[Language | None, Language], each: Each) -> Project:
        """Open the project, creating it if needed. Raises VivaError if the folder has another translation."""
        read = read_set(source, languages[0])
        if read.language == languages[1]:
            raise VivaError(
                f"{languages[1]}: {source} is in that language already; say {option('language')} if it is not",
                field="to",
            )
        wanted = Settings(
            source=str(source.resolve()),
            fingerprint=read.fingerprint,
            source_language=read.language,
            target_language=languages[1],
            each=each,
        )
        if not (path / SETTINGS).exists():
            replace_file(path / SETTINGS, readable_json(wanted))
        project = cls(path)
        project.instructions()
        for name in ("fingerprint", "source_language", "target_language", "each"):
            there, here = getattr(project.settings, name), getattr(wanted, name)
            if there != here:
                raise VivaError(
                    f"{path} holds another translation ({name} {there!r}, and now {here!r}): choose another "
                    f"{option('project')}"
                )
        return project

    @cached_property
    def source(self) -> RawSet:
        """The source set. Raises DataError if it has changed."""
        read = read_set(Path(self.settings.source), self.settings.source_language)
        if read.fingerprint != self.settings.fingerprint:
            raise DataError(
                f"{self.settings.source} has changed since this translation began (fingerprint {read.fingerprint}, "
                f"then {self.settings.fingerprint}): put the old files back, or begin a new project"
            )
        return read

    @cached_property
    def templates(self) -> Templates:
        """The model's instructions."""
        return read_templates(*self.instructions())

    @cached_property
    def drafts(self) -> dict[str, Entry]:
        """Question (or question/field) → last reply."""
        return {entry.question: entry for entry in self.replies}

    def sources(self) -> list[tuple[str, str, Raw]]:
        """Return name, half ("test", "valid") and record of every question of the source."""
        parts = ["test"] * len(self.source.test) + ["valid"] * len(self.source.valid or [])
        records = self.source.records
        return list(zip(named(records), parts, records, strict=True))

    def begun(self) -> list[Question]:
        """Return every question with its drafted translation, in the order of the source."""
        questions: list[Question] = []
        for name, part, record in self.sources():
            wanted = to_translate(record)
            start, author = self._draft(name, wanted)
            key_of = partial(item_key, name, headed(wanted))
            questions.append(
                Question(name=name, start=start, author=author, key_of=key_of, part=part, record=record, wanted=wanted)
            )
        return questions

    def _draft(self, name: str, wanted: dict[str, str]) -> tuple[str, str]:
        """Return the model's translation as shown to people, and the model's name."""
        if self.settings.each == "field":
            entries = {field: self.drafts.get(f"{name}/{field}") for field in wanted}
            draft = {field: read_text(entry.text, wanted[field]) for field, entry in entries.items() if entry}
            author = next((entry.model for entry in entries.values() if entry), "")
        else:
            entry = self.drafts.get(name)
            draft = read_fields(entry.text, wanted) if entry else {}
            author = entry.model if entry else ""
        complete = wanted and all(draft.get(field, "").strip() for field in wanted)
        return (headed({field: clean(draft[field]) for field in wanted}) if complete else ""), author

    def requests(self, sampling: Sampling, limit: int | None, *, rejected: bool) -> list[Generate]:
        """Return all requests in the order of the source, also those already in the journal. `rejected`: ask rejected
        translations again, with the remarks.
        """
        settings, texts = self.settings, self.templates.translate
        again: dict[str, tuple[str, ...]] = {}
        if rejected:
            told = [(text.name, text.state) for text in self.texts() if text.state.status == "rejected"]
            again = {name: state.remarks or ("It was not good enough.",) for name, state in told}
        languages = {"source": settings.source_language, "target": settings.target_language}
        called = {name: self.templates.names[language] for name, language in languages.items()}
        prompts: list[Generate] = []
        for name, _, record in self.sources()[:limit]:
            wanted, remarks = to_translate(record), again.get(name)
            asked: dict[str, dict[str, str]] = {}
            if settings.each == "field":
                asked = {f"{name}/{field}": {"field": field, "text": content} for field, content in wanted.items()}
            elif wanted:
                asked = {name: {"fields": json.dumps(wanted, ensure_ascii=False, indent=1)}}
            for question, content in asked.items():
                last = self.drafts.get(question)
                prompts.append(
                    drafting_request(
                        question,
                        texts,
                        {**content, "remarks": "\n".join(remarks or ["none"]), **called},
                        sampling,
                        user="whole" if settings.each == "question" else "single",
                        again=bool(remarks),
                        sample=last.sample + 1 if remarks and last else 0,
                        notes=texts["notes"],
                    )
                )
        return prompts

    def proposals(self) -> dict[str, Question]:
        """Return name → question, of those with a translation."""
        return {name: question for name, question in super().proposals().items() if question.start}

    def waiting(self, everything: bool) -> list[Question]:
        """Return the questions to be decided, those with errors first."""
        return sorted(super().waiting(everything), key=lambda each: _VERDICTS.index(verdict(self.findings(each))))

    def refusal(self, proposal: Question, decision: str, text: str) -> str:
        """Return what is wrong with a decision about a translation; "" for nothing."""
        if decision == "reject" or unheaded(text, proposal.wanted) is not None:
            return ""
        headings = ", ".join(f"[{field}]" for field in proposal.wanted)
        return f"the translation must keep its headings, each on a line of its own and in this order: {headings}"

    def about(self, proposal: Question) -> dict[str, str]:
        """Return the properties of a question for people and filters."""
        return {
            "question": proposal.name,
            "format": text(proposal.record["Format"]),
            "domain": text(proposal.record["Domain"]),
            "checks": verdict(self.findings(proposal)),
            "state": proposal.state.status,
        }

    def described(self, proposal: Question) -> tuple[str, ...]:
        """Return a question's values of `columns`."""
        findings = self.findings(proposal)
        form = text(proposal.record["Format"])
        return form, verdict(findings), told(findings), proposal.state.status, proposal.shown

    def item(self, proposal: Question) -> Item:
        """Return a question's item for the review page."""
        return review_item(
            proposal.key,
            self.about(proposal),
            asked(proposal.record),
            aspect=ASPECT,
            text=proposal.state.text,
            gold=proposal.shown,
            reasons=told(self.findings(proposal)),
        )

    def record_of(self, question: Question, *, unreviewed: bool) -> tuple[Raw | None, str]:
        """Return the record that enters the set, or None and the reason."""
        status = question.state.status
        record = question.result(self.settings.target_language)
        if not question.wanted:  # nothing to translate
            return record, ""
        if record is None:
            return None, "no translation" if not question.state.text else "headings damaged"
        if status == "approved":
            return record, ""
        if unreviewed and status in ("waiting", "edited"):
            errors = any(finding.severity == "error" for finding in self.findings(question))
            return (None, "errors found") if errors else (record, "")
        return None, "not decided yet" if status == "waiting" else status

    def findings(self, question: Question) -> list[Finding]:
        """Return the findings about the current translation; cached."""
        if question.key not in self._findings:
            self._findings[question.key] = findings_of(question.name, self._found(question))
        return self._findings[question.key]

    def _found(self, question: Question) -> list[Finding]:
        source, target = self.settings.source_language, self.settings.target_language
        if not question.state.text and question.wanted:
            return [Finding("", "no translation", "the model gave none, or left a field out")]
        record = question.result(target)
        if record is None:
            return [Finding("", "headings damaged", "each field must keep its heading, in order")]
        # Findings that the source has, too, are not counted against the translation.
        before = {(finding.field, finding.kind) for finding in check_record(question.record, source)}
        own = [each for each in check_record(record, target) if (each.field, each.kind) not in before]
        return [*own, *check_pair(question.record, record, source, target)]


_VERDICTS = ("error", "warning", "nothing found")


def verdict(findings: list[Finding]) -> str:
    """Return the worst severity in a word, for filters."""
    severities = {finding.severity for finding in findings}
    return "error" if "error" in severities else "warning" if severities else "nothing found"


def told(findings: list[Finding]) -> str:
    """Return the findings as one line for people."""
    return "; ".join(f"{finding.severity}: {finding.field} {finding.kind}: {finding.message}" for finding in findings)


class Manifest(Made, kw_only=True):
    """All of build.json."""

    made_by: str = "translate"
    source_fingerprint: str
    from_: Language = msgspec.field(name="from")
    to: Language
    each: Each
    test: int
    valid: int
    unreviewed: int
    """Number of questions without an approval."""
    held_back: dict[str, int]
    translated_by: dict[str, int]
    reviewers: list[str]
    instructions: str
    """SHA-256 of the model's instructions."""
    fingerprint: str


def released(project: Project, *, unreviewed: bool) -> Release[Manifest]:
    """Return the set of approved translations; `unreviewed`: undecided ones without errors as well. Raises DataError if
    the test half is empty.
    """
    settings = project.settings
    kept: dict[str, list[Raw]] = {"test": [], "valid": []}
    held: Held = []
    unseen = 0
    for question in project.texts():
        record, why = project.record_of(question, unreviewed=unreviewed)
        if record is None:
            held.append((question.name, why))
            continue
        unseen += question.state.status != "approved" and bool(question.wanted)
        kept[question.part].append(record)
    reasons = counted(why for _, why in held)
    if not kept["test"]:
        why = counts_text(reasons) or "it has no question"
        raise DataError(f"no question of the test half is approved, so there is no set ({why})")
    contents = {TEST: written(kept["test"])}
    if kept["valid"]:
        contents[VALID] = written(kept["valid"])
    manifest = Manifest(
        source_fingerprint=settings.fingerprint,
        from_=settings.source_language,
        to=settings.target_language,
        each=settings.each,
        test=len(kept["test"]),
        valid=len(kept["valid"]),
        unreviewed=unseen,
        held_back=reasons,
        translated_by=counted(entry.model for entry in project.drafts.values()),
        reviewers=sorted({review.reviewer for review in project.log.reviews}),
        instructions=project.digests([TEMPLATES])[TEMPLATES],
        fingerprint=fingerprint(contents.values()),
    )
    return Release(manifest=manifest, contents=contents, held=held)
