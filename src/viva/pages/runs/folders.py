"""Folders of runs: which there are, what was asked in each, and what an address calls them."""

from __future__ import annotations

import hashlib
import os
import re
from pathlib import Path

from msgspec import Struct

from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.errors import StorageError
from viva.files import read_regular

STAGES = ("responses", "executions", "similarities", "annotations")
"""The journals of a run, in the order of the work."""
DRAWS = "draws.jsonl"
_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class RunEntry(Struct, frozen=True):
    """A folder that is a run, or looks like one."""

    path: Path
    slug: str
    """What it is called in addresses."""
    changed: float
    """When something was last written, in seconds since 1970."""


def slug(text: str) -> str:
    """Return a word for a text in addresses: itself where that is plain, else a hash of it. Never a path."""
    return text if _PLAIN.fullmatch(text) else "~" + hashlib.blake2b(os.fsencode(text), digest_size=8).hexdigest()


def runs_in(root: Path) -> list[RunEntry]:
    """Return every run in a folder, newest first; the folder itself where it is one. Raises StorageError for no
    folder.
    """
    if is_run(root):
        return [_found(root)]
    try:
        inside = [Path(one.path) for one in os.scandir(root) if not one.name.startswith(".") and _is_folder(one)]
    except OSError as problem:
        raise StorageError(f"cannot read the folder {root}: {problem.strerror}") from None
    found = [_found(path) for path in inside if is_run(path)]
    return sorted(found, key=lambda one: (-one.changed, one.slug))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def is_run(path: Path) -> bool:
    """Return whether a folder is a run, or was one: it has run.json, or answers without it."""
    named = (path / name for name in ("run.json", "responses.jsonl"))
    return any(os.path.lexists(file) and not file.is_dir() for file in named)


def _found(path: Path) -> RunEntry:
    changed = 0.0
    for name in ("run.json", *(f"{stage}.jsonl" for stage in STAGES)):
        try:
            changed = max(changed, (path / name).lstat().st_mtime)
        except OSError:
            continue
    return RunEntry(path, slug(path.resolve().name), changed)


def read_record(path: Path) -> RunRecord:
    """Return what run.json says. Raises StorageError for what is gone, damaged, or of a newer Viva."""
    if not path.is_dir():
        raise StorageError(f"the folder {path} is gone: it was removed or renamed")
    return RunFolder.open(path).record


def answers_wanted(path: Path, record: RunRecord) -> int:
    """Return how many answers a run is to have in all; an adaptive one: of the questions drawn so far."""
    return sum(per_model(path, record)) * len(record.models)


def per_model(path: Path, record: RunRecord) -> list[int]:
    """Return the same of one model, an exam."""
    drawn = None
    if record.adaptive:
        try:
            drawn = read_regular(path / DRAWS).count(b"\n")  # a line a question
        except OSError:
            drawn = 0
    questions = (exam.questions if drawn is None else drawn for exam in record.exams)
    return [
        count * (exam.samples or record.samples) * record.repeats
        for count, exam in zip(questions, record.exams, strict=True)
    ]


def model_name(model: ModelRecord) -> str:
    """Return what tables call a model: a file of answers without its folder."""
    provider, _, name = model.name.partition("/")
    return model.shown or (f"replay/{Path(name).name}" if provider == "replay" else model.name)


def exam_labels(record: RunRecord) -> list[str]:
    """Return what tables call the exams."""
    return [exam.spec.label for exam in record.exams]
