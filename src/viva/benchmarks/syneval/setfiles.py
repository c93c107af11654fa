"""A set's files → the questions that are asked, and the pools of exemplars.

A set is what `viva build syneval` writes (see items.py): test.jsonl, and exemplars.jsonl where exemplars are shown. A
row that cannot be asked is refused with its file and line: a set that is half read would be another examination.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from viva.benchmarks.sets import locate
from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Format, Item, KnowledgePoint
from viva.errors import DataError, MissingDataError, flag, option
from viva.types import Defect

TEST = "test.jsonl"
EXEMPLARS = "exemplars.jsonl"
BUILD = "build.json"
LETTERS = "ABCD"
MAX_LINE = 1_000_000
"""Bytes of one row: no sentence with its question comes near."""
MAX_TEXT = 20_000
"""Characters of a sentence, a question, an answer: what is longer costs every reader of a reply too much."""
_SHOWN = 60
_decode = msgspec.json.Decoder(Item).decode

Pools = dict[tuple[KnowledgePoint, Format], list[Item]]


class Built(Struct, frozen=True):
    """What is read of build.json; `viva build syneval` writes more."""

    fingerprint: str = ""


class Listed(Struct, frozen=True):
    """A question of the set, and for how many strata it was drawn: asked once, counted so often."""

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
    found: dict[str, Listed] = {}
    strata: dict[str, dict[str, int]] = {}
    for line, item in read_items(path, content):
        lines = strata.setdefault(item.id, {})
        if item.stratum in lines:
            where = f"stratum {_short(item.stratum)}" if item.stratum else "no stratum"
            raise DataError(
                f"{path}, line {line}: id {_short(item.id)} is there twice in {where}, first in line "
                f"{lines[item.stratum]}; ids must differ"
            )
        lines[item.stratum] = line
        first = found.setdefault(item.id, Listed(item, 0))
        _same(path, line, first.item, item, min(lines.values()))
        found[item.id] = Listed(first.item, first.times + 1)
    if not found:
        raise DataError(f"{path} holds no question")
    return list(found.values())


def read_exemplars(path: Path, content: bytes) -> Pools:
    """Knowledge point and format → its exemplars, each once, in the order of the file. Raises DataError."""
    pools: Pools = {}
    first: dict[str, tuple[int, Item]] = {}
    for line, item in read_items(path, content):
        at, known = first.setdefault(item.id, (line, item))
        _same(path, line, known, item, at)
        if at == line:
            pools.setdefault((item.knowledge_point, item.format), []).append(item)
    return pools


def read_items(path: Path, content: bytes) -> Iterator[tuple[int, Item]]:
    """Yield every row with its line, from 1. Raises DataError for one that is no question as items.py has it."""
    for line, row in enumerate(content.removeprefix(b"\xef\xbb\xbf").split(b"\n"), 1):
        if not row.strip():
            continue
        where = f"{path}, line {line}"
        if len(row) > MAX_LINE:
            raise DataError(f"{where}: {len(row):,} bytes, more than a question can have ({MAX_LINE:,})")
        try:
            item = _decode(row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
            raise DataError(f"{where} is no question of SynEval: {_explained(problem)}") from None
        wrong = _wrong(item)
        if wrong:
            raise DataError(f"{where}, id {_short(item.id)}: {wrong}")
        yield line, item


def read_if_there(path: Path) -> bytes | None:
    """Return a file's bytes, which may be none; None where there is no such file. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as problem:
        raise DataError(f"cannot read the data file {path}: {problem.strerror or problem}") from None


def changed(folder: Path, found: str) -> Iterator[Defect]:
    """Yield whether the files have another fingerprint than build.json says they had. Raises DataError if it is
    damaged.
    """
    content = read_if_there(folder / BUILD)
    if content is None:
        return
    try:
        built = msgspec.json.decode(content, type=Built).fingerprint
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as problem:
        raise DataError(f"{folder / BUILD} is damaged: {_explained(problem)}") from None
    if built and built != found:
        yield Defect("set", "changed since it was built", f"build.json has {_short(built)}, the files {found}", "noted")


def alike(listed: Sequence[Listed]) -> Iterator[Defect]:
    """Yield questions with options that read alike."""
    for one in listed:
        folded = [" ".join(option.split()).casefold() for option in one.item.options]
        if len(set(folded)) < len(folded):
            gold = folded.count(folded[LETTERS.index(one.item.answer)]) > 1
            detail = "two options read alike" + (", and one of them is the gold" if gold else "")
            yield Defect(one.item.id, "equal options", detail, "noted")


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
        return f'the answer of a TF question is "true" or "false", not {_short(item.answer)}'
    if item.format == "MC":
        if len(item.options) != len(LETTERS) or not all(option.strip() for option in item.options):
            filled = sum(1 for option in item.options if option.strip())
            return f"an MC question has four options, and here are {filled}"
        if item.answer not in tuple(LETTERS):
            return f"the answer of an MC question is a letter A to D, not {_short(item.answer)}"
    return ""


def _same(path: Path, line: int, first: Item, item: Item, at: int) -> None:
    """Raise DataError if two rows of one id are not one item drawn for two strata."""
    if replace(item, stratum="") != replace(first, stratum=""):
        differing = next(name for name in item.__struct_fields__ if getattr(item, name) != getattr(first, name))
        raise DataError(
            f"{path}, line {line}: id {_short(item.id)} is another question in line {at} ({differing} differs): "
            "ids must differ"
        )


def _explained(problem: Exception) -> str:
    if isinstance(problem, RecursionError):
        return "it is nested too deep"
    text = str(problem)
    for name, values in (("knowledge_point", KNOWLEDGE_POINTS), ("format", FORMATS)):
        if f"$.{name}`" in text:
            return f"{text}; known: {', '.join(values)}"
    return text


def _short(value: str) -> str:
    text = ascii(value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
