"""A set that `viva build infibench export` wrote: question files, and a manifest that names them.

Its questions are in Viva's own grading language (docs/data.md), as those of the bundled sample are.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.custom.questionloading import sound_questions
from viva.benchmarks.custom.questionmodel import OwnQuestion
from viva.benchmarks.sets import read_bytes
from viva.errors import DataError

MANIFEST = "build.json"
KIND = "infibench set"
"""What its manifest says it is; a pool has a build.json, too."""
FORMAT = 1
"""The folder's layout."""
MOST_BYTES = 64_000_000
_FILE = re.compile(r"[a-z0-9][a-z0-9-]{0,60}\.yaml")


class Named(Struct, kw_only=True):
    """What of build.json an examination needs."""

    kind: str = ""
    format: int = 0
    files: tuple[str, ...] = ()
    urls: dict[str, str] = {}
    """Question → where its original stands."""


def find_built(data: Path) -> Path | None:
    """Return the folder of a built set: `data` itself, or infibench/ in it; None where that is something else."""
    for folder in (data, data / "infibench"):
        named = _manifest(folder / MANIFEST)
        if named is not None and named.kind == KIND:
            return folder
    return None


def _manifest(path: Path) -> Named | None:
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(read_bytes(path, MOST_BYTES), type=Named)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as problem:
        raise DataError(f"{path} is damaged: {problem}; export the set anew") from None


def read_built(folder: Path) -> tuple[list[OwnQuestion], dict[str, str], list[bytes]]:
    """Return the questions, their originals' addresses, and the bytes of the question files. Raises DataError."""
    named = _manifest(folder / MANIFEST)
    if named is None:
        raise DataError(f"{folder} holds no set: it has no {MANIFEST}; `viva build infibench export` writes one")
    if named.format != FORMAT:
        raise DataError(f"{folder / MANIFEST} has the format {named.format}; this Viva reads {FORMAT}")
    if not named.files:
        raise DataError(f"{folder / MANIFEST} names no question file")
    questions: list[OwnQuestion] = []
    contents: list[bytes] = []
    seen: dict[str, str] = {}
    for name in named.files:
        if not _FILE.fullmatch(name):
            raise DataError(
                f"{folder / MANIFEST} names the file {name[:80]!r}; it should be a plain name ending in .yaml"
            )
        read = sound_questions(folder / name)
        for question in read.questions:
            if question.id in seen:
                raise DataError(f"{folder / name}: {question.id} stands in {seen[question.id]}, too")
            seen[question.id] = name
        questions += read.questions
        contents += [read_bytes(path) for path in (folder / name, *read.files)]
    return questions, named.urls, contents
