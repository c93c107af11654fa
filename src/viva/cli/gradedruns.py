"""Graded runs on a disk: which ones a path means, and the rows of their scores.jsonl."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path

import msgspec

from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.errors import StorageError, VivaError
from viva.types import ScoreRow

SCORES = "scores.jsonl"
JOURNALS = ("responses", "executions", "similarities", "annotations", "reviews")
"""What scores are made from; run.json changes with every `viva resume`, which grades at its end."""


def runs_in(path: Path) -> list[Path]:
    """The folder itself where it is a run, else all runs in it. Raises VivaError where there is none."""
    if (path / "run.json").exists():
        return [path]
    found = sorted(one.parent for one in path.glob("*/run.json"))
    if not found:
        raise VivaError(f"{path} is no run folder and holds none (no run.json in it)")
    return found


def is_fresh(folder: RunFolder) -> bool:
    """Whether scores.jsonl is there, and as new as everything that it was made from."""
    try:
        made = (folder.path / SCORES).stat().st_mtime_ns
    except OSError:
        return False
    journals = (folder.path / f"{name}.jsonl" for name in JOURNALS)
    return all(made >= path.stat().st_mtime_ns for path in journals if path.exists())


def score_rows(path: Path) -> Iterator[ScoreRow]:
    """The rows of a run's scores.jsonl. Raises StorageError for one that is missing or damaged, with what to do."""
    file = path / SCORES
    decode = msgspec.json.Decoder(ScoreRow).decode
    try:
        with file.open("rb") as lines:
            for number, line in enumerate(lines, 1):
                try:
                    yield decode(line)
                except (msgspec.DecodeError, UnicodeDecodeError) as problem:
                    raise StorageError(
                        f"{file}, line {number} is damaged ({problem}); `viva score {path}` makes it anew"
                    ) from None
    except FileNotFoundError:
        raise StorageError(f"{path} is not graded yet: `viva resume {path}`, or `viva score {path}` as it is") from None
    except OSError as problem:
        raise StorageError(f"cannot read {file}: {problem.strerror}") from None


def sat(path: Path, record: RunRecord) -> Iterator[tuple[ExamRecord, str, Iterator[ScoreRow]]]:
    """Exam, model and rows, one model on one exam after the other; rows must be read before the next.

    Raises StorageError for a file that is damaged, or lacks a model or an exam.
    """
    exams = {exam.spec.label: exam for exam in record.exams}
    seen: set[tuple[str, str]] = set()
    for (exam, model), rows in itertools.groupby(score_rows(path), key=lambda row: (row.exam, row.model)):
        if exam not in exams or (exam, model) in seen:
            raise StorageError(f"{path / SCORES} is damaged; `viva score {path}` makes it anew")
        seen.add((exam, model))
        yield exams[exam], model, rows
    if len(seen) < len(record.exams) * len(record.models):
        raise StorageError(
            f"{path / SCORES} lacks some of the {len(record.models)} models; `viva score {path}` makes it anew"
        )
