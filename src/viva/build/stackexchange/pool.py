"""The pool: the questions of a dump that experts choose from, as `viva build infibench pool` draws them.

    folder = Path("pool")
    questions = read_pool(folder)
    build = read_build(folder)

A folder is complete once it has build.json. `pool.jsonl` has one line per question, by area, language and rank: first
the language's quota, then a reserve for questions that experts reject.
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
    """An answer that has a positive score or is the accepted one."""

    id: int
    score: int
    """Upvotes minus downvotes."""
    body: str
    """As in the dump: HTML in Posts.xml, Markdown in some Parquet conversions. Untrusted text."""
    created: str
    """Day, ISO 8601."""


class PoolQuestion(Struct, frozen=True, kw_only=True):
    """A line of pool.jsonl. Title, bodies and tags are untrusted text."""

    id: int
    """Stack Overflow's id: https://stackoverflow.com/questions/ID."""
    title: str
    body: str
    """As in the dump: HTML in Posts.xml, Markdown in some Parquet conversions."""
    tags: tuple[str, ...]
    language: str
    """Language in the tag tree."""
    area: str
    """Area of the language in the tag tree."""
    created: str
    """Day, ISO 8601."""
    views: int
    score: int
    """Upvotes minus downvotes."""
    accepted: int
    """The id of the accepted answer."""
    answers: tuple[PoolAnswer, ...]
    """By score, best first, older first among equals; with the accepted one if the dump has it."""
    rank: int
    """Its rank in its language's sample, from 1."""
    reserve: bool
    """Whether it is beyond its language's quota."""


class LanguageCount(Struct, frozen=True, kw_only=True):
    """Questions of one language left after each step of the filter."""

    language: str
    area: str
    """Empty for excluded languages and for questions without a language."""
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
    """Number of unreadable rows of one kind."""

    kind: str
    count: int


class Build(Made, kw_only=True):
    """All of build.json: how a pool was made. Independent of time, machine and number of processes."""

    settings: dict[str, Any]
    """Every setting that the pool depends on: `selection.PoolSettings`, with the tag tree's fingerprint."""
    date: str
    """Day from which questions' ages are counted, ISO 8601."""
    rows: int
    """Rows read without errors: questions, answers and others."""
    questions: int
    answers: int
    languages: tuple[LanguageCount, ...]
    """In the order of the tag tree, then excluded languages, then "none"."""
    broken: tuple[BrokenRows, ...]
    source: str
    """Hash of the columns read (twelve hexadecimal digits), equal for XML and Parquet with rows in the same order."""
    fingerprint: str
    """Hash of pool.jsonl, twelve hexadecimal digits."""


def read_pool(folder: Path) -> list[PoolQuestion]:
    """Read the questions of a pool, in order. Raises MissingDataError if there is none, DataError for a damaged one."""
    path, content = folder / POOL, _content(folder, POOL)
    if len(content) > MAX_POOL:
        raise DataError(f"{path} has {len(content):,} bytes; a pool has at most {MAX_POOL:,}")
    return [question for _, question in json_lines(path, content, PoolQuestion, "question of a pool")]


def read_build(folder: Path) -> Build:
    """Read a pool's build.json. Raises MissingDataError if there is none, DataError for a damaged one."""
    try:
        return msgspec.json.decode(_content(folder, BUILD), type=Build)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise DataError(f"{folder / BUILD} is damaged: {problem}") from None


def _content(folder: Path, name: str) -> bytes:
    if not (folder / BUILD).is_file():
        raise MissingDataError(f"{folder} is no pool that `viva build infibench pool` made whole: it has no {BUILD}")
    return content_of(folder / name)
