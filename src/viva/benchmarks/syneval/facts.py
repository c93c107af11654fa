"""SynEval's data: facts, and the questions that ask for them. Both are plain JSONL.

A fact is one statement of a tree about its sentence ("the subject of `will join` is `pierre vinken`"); `viva build
syneval` writes them to facts.jsonl. An item is one question in one format; a set is a folder with

    test.jsonl        the items that are asked
    exemplars.jsonl   the items that few-shot prompts show
    build.json        how the set was made (build.Manifest)

Reading a set's files: the questions that are asked, and the pools of exemplars.

A set is what `viva build syneval` writes (see items.py): test.jsonl, and exemplars.jsonl where exemplars are shown. An
unusable row is refused with its file and line: a part of a set would be another exam.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks.basics import locate
from viva.errors import DataError, MissingDataError, flag, option
from viva.files import UNREADABLE
from viva.types import Defect
from viva.visible import brief

KnowledgePoint = Literal["GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA"]
"""Grammatical (surface) subject, subject complement, direct and indirect object, main verb phrase, adjective modifier,
adverbial modifier, coordinated phrase, prepositional phrase attachment (arXiv 2311.08287, section 3)."""
KNOWLEDGE_POINTS: tuple[KnowledgePoint, ...] = ("GS", "SC", "DO", "IO", "MVP", "ADJ", "ADV", "CO", "PPA")

Format = Literal["TF", "MC", "FITB"]
"""True or false, multiple choice, fill in the blank."""
FORMATS: tuple[Format, ...] = ("TF", "MC", "FITB")

SlotKind = Literal[
    "verb_phrase", "noun_phrase", "prepositional_phrase",
    "grammatical_subject", "direct_object", "indirect_object", "subject_complement",
]  # fmt: skip
"""Role of the phrase that a question shows; MVP shows an argument and asks for its verb phrase."""


class Fact(Struct, frozen=True, kw_only=True):
    """One fill-in-the-blank fact: a row of facts.jsonl."""

    file: str
    """The treebank file's stem: "wsj_0001"."""
    tree: int
    """Index of the tree in its file, from 0."""
    sentence: str
    knowledge_point: KnowledgePoint
    slot_kind: SlotKind
    slot: str
    """The phrase that the question shows."""
    answer: str
    category: str
    """The answer's syntactic category, the stratum of clean sampling."""
    tags: tuple[str, ...]
    """The published strata."""
    nodes: tuple[str, ...]
    """Paths of the slot's and the answer's nodes, child by child from the root: "0.1.1"."""
    rule: str
    """The pattern of its knowledge point that found it."""


class Item(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One question: a row of questions.jsonl, test.jsonl and exemplars.jsonl."""

    id: str
    """Unique in its set, made of file, tree, knowledge point, format, running number ("wsj_0001-0-GS-MC-2")."""
    knowledge_point: KnowledgePoint
    format: Format
    sentence: str
    question: str
    """The question without sentence and options."""
    options: tuple[str, ...] = ()
    """The four options of a multiple-choice question."""
    answer: str
    """ "true" or "false"; a letter A to D; or the phrase."""
    accepted: tuple[str, ...] = ()
    """Other right phrases (FITB)."""
    category: str
    tags: tuple[str, ...] = ()
    file: str
    tree: int
    nodes: tuple[str, ...] = ()
    rule: str = ""
    wording: str = ""
    """The wording in wordings.toml: knowledge point, format, number."""
    stratum: str = ""
    """In a sampled set: the stratum that it was drawn for. The published scheme may draw a question for several, and
    then it is listed and counted as often."""


TEST = "test.jsonl"
EXEMPLARS = "exemplars.jsonl"
BUILD = "build.json"
LETTERS = "ABCD"
MAX_LINE = 1_000_000
"""Bytes of one row: no sentence with its question comes near."""
MAX_TEXT = 20_000
"""Characters of a sentence, a question, an answer; longer ones would make reading replies too slow."""
_decode = msgspec.json.Decoder(Item).decode

Pools = dict[tuple[KnowledgePoint, Format], list[Item]]


class Built(Struct, frozen=True):
    """The fields read from build.json; `viva build syneval` writes more."""

    fingerprint: str = ""


class Listed(Struct, frozen=True):
    """A question of the set, and the number of strata that it was drawn for: asked once, counted so often."""

    item: Item
    times: int = 1


def find_set(data: Path) -> Path:
    """Return the folder that holds test.jsonl: `data` or its folder syneval/. Raises (Missing)DataError."""
    if data.is_file():
        raise DataError(f"{data} is a file; {option('data')} takes the folder of a set, with {TEST} in it")
    try:
        return locate(data, "syneval", TEST)
    except MissingDataError:
        raise MissingDataError(
            f"{data} holds no syneval set: expected {TEST} in it or in syneval/; "
            f"`viva build syneval TREEBANK {flag('out', 'DIR')}` makes one"
        ) from None


def read_test(path: Path, content: bytes) -> list[Listed]:
    """Return the questions in the order of the file, each once. Raises DataError naming file, line and what is
    wrong.
    """
    by_id: dict[str, Listed] = {}
    strata: dict[str, dict[str, int]] = {}
    for line, item in read_items(path, content):
        lines = strata.setdefault(item.id, {})
        if item.stratum in lines:
            where = f"stratum {brief(item.stratum)}" if item.stratum else "no stratum"
            raise DataError(
                f"{path}, line {line}: id {brief(item.id)} is there twice in {where}, first in line "
                f"{lines[item.stratum]}; ids must differ"
            )
        lines[item.stratum] = line
        first = by_id.setdefault(item.id, Listed(item, 0))
        _same(path, line, first.item, item, min(lines.values()))
        by_id[item.id] = Listed(first.item, first.times + 1)
    if not by_id:
        raise DataError(f"{path} holds no question")
    return list(by_id.values())


def read_exemplars(path: Path, content: bytes) -> Pools:
    """Return (knowledge point, format) → its exemplars, each once, in the order of the file. Raises DataError."""
    pools: Pools = {}
    first: dict[str, tuple[int, Item]] = {}
    for line, item in read_items(path, content):
        first_line, known = first.setdefault(item.id, (line, item))
        _same(path, line, known, item, first_line)
        if first_line == line:
            pools.setdefault((item.knowledge_point, item.format), []).append(item)
    return pools


def read_items(path: Path, content: bytes) -> Iterator[tuple[int, Item]]:
    """Yield every row with its line, from 1. Raises DataError for one that is no `Item`."""
    for line, row in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not row.strip():
            continue
        where = f"{path}, line {line}"
        if len(row) > MAX_LINE:
            raise DataError(f"{where}: {len(row):,} bytes, more than a question can have ({MAX_LINE:,})")
        try:
            item = _decode(row)
        except UNREADABLE as problem:
            raise DataError(f"{where} is no question of SynEval: {_explained(problem)}") from None
        wrong = _wrong(item)
        if wrong:
            raise DataError(f"{where}, id {brief(item.id)}: {wrong}")
        yield line, item


def read_if_there(path: Path) -> bytes | None:
    """Return a file's bytes, which may be empty; None where there is no such file. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise DataError(f"cannot read the data file {path}: {problem.strerror or problem}") from None


def changed(folder: Path, fingerprint: str) -> Iterator[Defect]:
    """Yield a defect where the files' fingerprint is not that in build.json. Raises DataError if it is damaged."""
    content = read_if_there(folder / BUILD)
    if content is None:
        return
    try:
        built = msgspec.json.decode(content, type=Built).fingerprint
    except UNREADABLE as problem:
        raise DataError(f"{folder / BUILD} is damaged: {_explained(problem)}") from None
    if built and built != fingerprint:
        yield Defect(
            "set", "changed since it was built", f"build.json has {brief(built)}, the files {fingerprint}", "noted"
        )


def _wrong(item: Item) -> str:
    """Return why a row that decodes still cannot be asked; empty where it can."""
    for name in ("id", "sentence", "question", "answer"):
        length = len(getattr(item, name).strip())
        if not 0 < length <= MAX_TEXT:
            most = f"{name} has {length:,} characters, more than a question can have ({MAX_TEXT:,})"
            return most if length else f"{name} is empty"
    if item.format != "MC" and item.options:
        return f"a {item.format} question has no options, and here are {len(item.options)}"
    if item.format == "TF" and item.answer not in ("true", "false"):
        return f'the answer of a TF question is "true" or "false", not {brief(item.answer)}'
    if item.format == "MC":
        if len(item.options) != len(LETTERS) or not all(option.strip() for option in item.options):
            filled = sum(1 for option in item.options if option.strip())
            return f"an MC question has four options, and here are {filled}"
        if item.answer not in tuple(LETTERS):
            return f"the answer of an MC question is a letter A to D, not {brief(item.answer)}"
    return ""


def _same(path: Path, line: int, first: Item, item: Item, first_line: int) -> None:
    """Raise DataError if two rows of one id are not one item drawn for two strata."""
    if replace(item, stratum="") != replace(first, stratum=""):
        differing = next(name for name in item.__struct_fields__ if getattr(item, name) != getattr(first, name))
        raise DataError(
            f"{path}, line {line}: id {brief(item.id)} is another question in line {first_line} ({differing} "
            "differs): ids must differ"
        )


def _explained(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deep"
    text = str(problem)
    for name, values in (("knowledge_point", KNOWLEDGE_POINTS), ("format", FORMATS)):
        if f"$.{name}`" in text:
            return f"{text}; known: {', '.join(values)}"
    return text
