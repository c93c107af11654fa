"""The set: a question file an area, who is to be named (attribution.csv), the audit trail, and build.json.

A question file is the tree of each question.yaml, with the tags of a set, written as YAML. It is read again and
compared: a set says what its experts approved, or is not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.custom.positions import Listing, Node, Scalar, read_yaml
from viva.benchmarks.custom.positions import Mapping as Entries
from viva.benchmarks.custom.questionloading import MAX_BYTES, read_content
from viva.benchmarks.custom.questionmodel import OwnQuestion
from viva.benchmarks.infibench.cases import areas
from viva.benchmarks.infibench.caseset import FORMAT, KIND, MANIFEST
from viva.build.files import counted, readable_json
from viva.build.stackexchange.coverage import created, exposed
from viva.build.stackexchange.kit import accepted_text, answer_url, digest, question_id, url
from viva.build.stackexchange.kitchecks import at, metrics_of
from viva.build.stackexchange.pool import PoolQuestion
from viva.errors import DataError
from viva.io.tables import CsvText

_WIDTH = 1_000_000


def question_node(text: str, tags: Mapping[str, str]) -> Node:
    """Return the question of a question.yaml, with these tags in place of its own."""
    node = at(read_yaml(text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")), "questions", 0)
    assert isinstance(node, Entries)
    given = _mapping({name: _text(value) for name, value in tags.items()})
    return Entries(tuple((key, given if key.value == "tags" else value) for key, value in node.entries), 0, 0)


def emit(title: str, questions: Sequence[Node], *, blocks: bool = True) -> bytes:
    """Return a question file as YAML. Without `blocks` every text is in quotes: less readable, and right for any
    text.
    """
    import yaml

    root = _mapping({"title": _text(title), "questions": Listing(tuple(questions), 0, 0)})
    events = [yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False), *_events(root, blocks)]
    events += [yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent()]
    written: str = yaml.emit(events, allow_unicode=True, width=_WIDTH)
    return written.encode("utf-8")


def verify(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> None:
    """Raise DataError unless the file reads as these questions, tags included."""
    if len(content) > MAX_BYTES:
        raise DataError(f"{name} would have {len(content):,} bytes; a question file has at most {MAX_BYTES:,}")
    read = read_content(content, Path(name))
    if read.errors:
        raise DataError(f"{name} cannot be written so that it is read as it was meant: {read.errors[0]}")
    if len(read.questions) != len(wanted):
        raise DataError(f"{name} would hold {len(read.questions):,} of {len(wanted):,} questions")
    for one, other in zip(read.questions, wanted, strict=True):
        if _bare(one) != _bare(other):
            raise DataError(f"{other.id} cannot be written so that it is read as it was meant; simplify its YAML")


def reads_as(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> bool:
    """Return whether `verify` is content."""
    try:
        verify(content, wanted, name)
    except DataError:
        return False
    return True


def _bare(own: OwnQuestion) -> OwnQuestion:
    """Return a question without the lines that it stands in."""
    examples = tuple(msgspec.structs.replace(example, line=0) for example in own.examples)
    return msgspec.structs.replace(own, line=0, examples=examples)


def _text(text: str) -> Scalar:
    return Scalar(text, 0, 0, quoted=True, block="\n" in text)


def _mapping(entries: Mapping[str, Node]) -> Entries:
    return Entries(tuple((Scalar(name, 0, 0), node) for name, node in entries.items()), 0, 0)


def _events(node: Node, blocks: bool) -> Iterator[Any]:
    """Yield the tree as PyYAML's events. A text is quoted or a block, whatever it looks like; the rest is plain."""
    import yaml

    if isinstance(node, Scalar):
        if node.null:
            yield yaml.ScalarEvent(None, None, (True, True), "null")
        elif blocks and node.block and node.value.strip():
            yield yaml.ScalarEvent(None, None, (True, True), node.value, style="|")
        else:
            yield yaml.ScalarEvent(
                None, None, (True, True), node.value, style='"' if node.quoted or node.block else None
            )
    elif isinstance(node, Listing):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
        for item in node.items:
            yield from _events(item, blocks)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
        for name, value in node.entries:
            yield from _events(name, blocks)
            yield from _events(value, blocks)
        yield yaml.MappingEndEvent()


ATTRIBUTION, AUDIT = "attribution.csv", "audit.jsonl"
OTHER = "other.yaml"
LICENCES = ((date(2011, 4, 8), "CC BY-SA 2.5"), (date(2018, 5, 2), "CC BY-SA 3.0"))
"""Stack Overflow's licence of what was posted before a day; CC BY-SA 4.0 after them."""
LICENCE = "CC BY-SA 4.0"
COLUMNS = ("question", "what", "post", "address", "created", "licence", "use")


class Chosen(Struct, frozen=True, kw_only=True):
    """A question that enters the set: its file's text as it was approved, and as it is read."""

    about: PoolQuestion
    text: str
    own: OwnQuestion
    authors: tuple[str, ...]
    approved_by: tuple[str, ...]
    drafted_by: str = ""
    """The model whose draft its prompt began as."""


class Exposure(Struct, frozen=True):
    """How much of the set a model may have read: questions asked up to its cut-off, and after it."""

    cutoff: str
    before: int
    after: int


class Manifest(Struct, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    kind: str = KIND
    format: int = FORMAT
    viva: str
    name: str
    pilot: bool
    """Whether questions are in it that nobody approved yet: for calibration, not for publication."""
    questions: int = 0
    areas: dict[str, int] = {}
    languages: dict[str, int] = {}
    metrics: dict[str, int] = {}
    types: dict[str, int] = {}
    quotas: dict[str, int]
    """Language → questions wanted."""
    held_back: dict[str, int]
    """Why questions of the pool are not in it → how many."""
    after: str = ""
    """Only questions asked from this day on."""
    exposure: dict[str, Exposure] = {}
    """Model → how much of the set it may have read in training."""
    authors: list[str] = []
    reviewers: list[str] = []
    drafted_by: dict[str, int] = {}
    licence: str = LICENCE
    files: tuple[str, ...] = ()
    urls: dict[str, str] = {}
    texts: dict[str, str] = {}
    """Question → digits of the text that was approved."""
    sources: dict[str, str]
    """File of the project → SHA-256."""
    fingerprint: str = ""
    """Twelve hexadecimal digits over the question files: the one that runs have."""


def files() -> tuple[str, ...]:
    """Return all that a set may consist of."""
    return (MANIFEST, *[_file(area.name) for area in areas()], OTHER, ATTRIBUTION, AUDIT)


def _file(area: str) -> str:
    """Return the question file of an area: `DS & ML` is ds-ml.yaml."""
    slug = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in area.casefold()).split())
    return f"{slug}.yaml" if area in {known.name for known in areas()} else OTHER


def tags_of(one: Chosen) -> dict[str, str]:
    """Return the tags of a question of the set: the paper's, its date, and what its author added."""
    known = {
        "area": one.about.area,
        "language": one.about.language,
        "type": one.own.tags.get("type", ""),
        "metric": " + ".join(metrics_of(one.own.rubric)),
        "created": one.about.created[:10],
    }
    return known | {name: value for name, value in one.own.tags.items() if name not in known and name != "author"}


def export(chosen: Sequence[Chosen], audit: bytes, begun: Manifest, cutoffs: Mapping[str, date]) -> dict[str, bytes]:
    """Return the set's files by name; `begun` says what its questions do not.

    Raises DataError where nothing is chosen, or a question cannot be written.
    """
    if not chosen:
        why = ", ".join(f"{count:,} {reason}" for reason, count in begun.held_back.items())
        raise DataError(f"there is nothing to export ({why or 'the pool is empty'})")
    groups: dict[str, list[Chosen]] = {}
    for one in chosen:
        groups.setdefault(_file(one.about.area), []).append(one)
    written: dict[str, bytes] = {}
    for name in (name for name in files() if name in groups):
        group = groups[name]
        wanted = [msgspec.structs.replace(one.own, tags=tags_of(one)) for one in group]
        nodes = [question_node(one.text, tags_of(one)) for one in group]
        title = f"{begun.name}: {group[0].about.area if name != OTHER else 'other areas'}"
        written[name] = emit(title, nodes)
        if not reads_as(written[name], wanted, name):
            written[name] = emit(title, nodes, blocks=False)
            verify(written[name], wanted, name)
    manifest = _finished(begun, chosen, written, cutoffs)
    return {
        **written,
        ATTRIBUTION: _attribution(chosen),
        AUDIT: audit,
        MANIFEST: readable_json(manifest),
    }


def _finished(
    begun: Manifest, chosen: Sequence[Chosen], written: Mapping[str, bytes], cutoffs: Mapping[str, date]
) -> Manifest:
    """Return the manifest with what the questions say."""
    tags = [tags_of(one) for one in chosen]
    days = {one.about.id: created(one.about.created) for one in chosen}
    exposure = {
        model: Exposure(cutoffs[model].isoformat(), len(old), len(days) - len(old))
        for model, old in exposed(days, cutoffs).items()
    }
    return msgspec.structs.replace(
        begun,
        questions=len(chosen),
        areas=counted(tag["area"] for tag in tags),
        languages=counted(tag["language"] for tag in tags),
        metrics=counted(tag["metric"] for tag in tags),
        types=counted(tag["type"] for tag in tags),
        exposure=exposure,
        authors=sorted({name for one in chosen for name in one.authors}),
        reviewers=sorted({name for one in chosen for name in one.approved_by}),
        drafted_by=counted(one.drafted_by or "experts" for one in chosen),
        files=tuple(written),
        urls={question_id(one.about): url(one.about) for one in chosen},
        texts={question_id(one.about): digest(question_id(one.about), one.text) for one in chosen},
        fingerprint=fingerprint(written.values()),
    )


def licence_of(created: str) -> str:
    """The licence of a post by the day it was posted."""
    day = date.fromisoformat(created[:10])
    return next((name for last, name in LICENCES if day < last), LICENCE)


def _attribution(chosen: Sequence[Chosen]) -> bytes:
    """Return a row a post that something of is in the set. Its page, under the address, names who wrote it."""
    table = CsvText(COLUMNS)
    for one in chosen:
        about = one.about
        row = (question_id(about), "question", about.id, url(about), about.created[:10], licence_of(about.created))
        table.add((*row, "paraphrased"))
        for answer in about.answers:
            if answer.id == about.accepted and accepted_text(about):
                posted = (answer.created[:10], licence_of(answer.created))
                row = (question_id(about), "answer", answer.id, answer_url(answer.id), *posted)
                table.add((*row, "adapted: criteria and example answers"))
    return table.text().encode()
