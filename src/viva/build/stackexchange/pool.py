"""The pool: the questions of a dump that experts choose from, as `viva build infibench pool` draws them.

    folder = Path("pool")
    questions = read_pool(folder)
    build = read_build(folder)

A folder with a build.json is whole. `pool.jsonl` has a line a question, by area and language and there by rank: first
what fills the language's quota, then as many again in reserve, for those that experts turn down.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.build.files import Made, content_of
from viva.errors import DataError, MissingDataError
from viva.io.tables import json_lines

POOL, BUILD, BROKEN = "pool.jsonl", "build.json", "broken.jsonl"
MAX_POOL = 1_000_000_000
"""Bytes of pool.jsonl that are read; the paper's would have 5 million."""


class PoolAnswer(Struct, frozen=True, kw_only=True):
    """An answer of a question: a positively voted one, or the accepted one whatever its votes."""

    id: int
    score: int
    """Votes for it less votes against it."""
    body: str
    """As in the dump: HTML in Posts.xml, Markdown in some Parquet conversions. Hostile text."""
    created: str
    """The day, ISO 8601."""


class PoolQuestion(Struct, frozen=True, kw_only=True):
    """A line of pool.jsonl. Title, bodies and tags are hostile text: strangers wrote them."""

    id: int
    """Of Stack Overflow: https://stackoverflow.com/questions/ID."""
    title: str
    body: str
    """As in the dump: HTML in Posts.xml, Markdown in some Parquet conversions."""
    tags: tuple[str, ...]
    language: str
    """Of the tag tree."""
    area: str
    """Of the language, in the tag tree."""
    created: str
    """The day, ISO 8601."""
    views: int
    score: int
    """Votes for it less votes against it."""
    accepted: int
    """The id of the accepted answer."""
    answers: tuple[PoolAnswer, ...]
    """Best first: by score, of equals the older one; the accepted one is among them where the dump has it."""
    rank: int
    """Its place in the sample of its language, from 1."""
    reserve: bool
    """Whether it is beyond its language's quota."""


class LanguageCount(Struct, frozen=True, kw_only=True):
    """What became of one language's questions, step by step; each figure counts what the one before it left."""

    language: str
    area: str
    """Empty for what the tag tree excludes, and for questions without a language."""
    questions: int
    accepted: int
    """With an accepted answer."""
    answered: int
    """... and enough positively voted ones."""
    seen: int
    """... and above the line of views and age."""
    seed: int
    """... and created in the days asked for: the initial seed set of the paper's Table 2. 0 for excluded ones."""
    quota: int
    drawn: int
    """In the pool, reserve included."""


class BrokenRows(Struct, frozen=True, kw_only=True):
    """Rows that could not be read."""

    kind: str
    count: int


class Build(Made, kw_only=True):
    """All of build.json: how a pool was made. It says nothing of when, where and with how many processes."""

    settings: dict[str, Any]
    """Every setting that the pool depends on: `selection.PoolSettings`, with the tag tree's fingerprint."""
    date: str
    """The day at which questions' ages are counted, ISO 8601."""
    rows: int
    """Rows read well: questions, answers and what is neither."""
    questions: int
    answers: int
    languages: tuple[LanguageCount, ...]
    """In the order of the tag tree, then what it excludes, then "none"."""
    broken: tuple[BrokenRows, ...]
    source: str
    """Twelve hexadecimal digits over what was read of the dump's rows: the same for XML and Parquet in one order."""
    fingerprint: str
    """Twelve hexadecimal digits over pool.jsonl."""


def read_pool(folder: Path) -> list[PoolQuestion]:
    """Return the questions of a pool, in order. Raises MissingDataError where there is none, DataError for a damaged
    one.
    """
    path, content = folder / POOL, _content(folder, POOL)
    if len(content) > MAX_POOL:
        raise DataError(f"{path} has {len(content):,} bytes; a pool has at most {MAX_POOL:,}")
    return [question for _, question in json_lines(path, content, PoolQuestion, "question of a pool")]


def read_build(folder: Path) -> Build:
    """Return a pool's build.json. Raises MissingDataError where there is none, DataError for a damaged one."""
    try:
        return msgspec.json.decode(_content(folder, BUILD), type=Build)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise DataError(f"{folder / BUILD} is damaged: {problem}") from None


def _content(folder: Path, name: str) -> bytes:
    if not (folder / BUILD).is_file():
        raise MissingDataError(f"{folder} is no pool that `viva build infibench pool` made whole: it has no {BUILD}")
    return content_of(folder / name)
