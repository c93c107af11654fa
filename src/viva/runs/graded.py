"""Graded runs on a disk: which ones a path means, and the rows of their scores.jsonl."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from operator import attrgetter
from pathlib import Path

from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.engine.scorefile import SCORES, SOURCES, fault, score_rows
from viva.errors import DataError, StorageError, VivaError
from viva.runs.progress import notify
from viva.types import ScoreRow

ADAPTIVE = "was asked adaptively: the questions drawn are no sample of the exam, so their scores compare with no others"


def runs_in(path: Path) -> list[Path]:
    """Return the folder itself where it is a run, else all runs in it. Raises VivaError where there is none."""
    if (path / "run.json").exists():
        return [path]
    found = sorted(one.parent for one in path.glob("*/run.json"))
    if not found:
        raise VivaError(f"{path} is no run folder and holds none (no run.json in it)")
    return found


def is_fresh(folder: RunFolder) -> bool:
    """Return whether scores.jsonl is what was made of the files beside it; of an earlier Viva's run, as new as all of
    them.
    """
    found = fault(folder.path)
    if found is None or found.kind != "unrecorded":
        return found is None
    made = (folder.path / SCORES).lstat().st_mtime_ns
    journals = (folder.path / f"{name}.jsonl" for name in SOURCES)
    return all(made >= path.lstat().st_mtime_ns for path in journals if path.exists())


def refuse_strange_scores(path: Path) -> None:
    """Raise StorageError where a run's scores are not what was made of its files; say where nobody can know."""
    found = fault(path)
    if found is None or found.kind == "missing":  # that is said by who reads them
        return
    if found.kind == "unrecorded":
        notify(f"{path} {found.why}; `viva score {path}` grades it again, asking nobody")
        return
    raise StorageError(f"{path} {found.why}; `viva score {path}` grades it again, asking nobody")


def refuse_adaptive(path: Path, record: RunRecord) -> None:
    """Raise DataError for an adaptive run: its questions are no sample, so that their scores compare with nothing."""
    if record.adaptive is not None:
        raise DataError(f"{path} {ADAPTIVE}; `viva score {path}` has its estimate of the full score")


def regraded(path: Path) -> None:
    """Grade a run again from its answers, verdicts and marks, as `viva score`; asks nobody.

    Raises VivaError where its questions are not here, StorageError where somebody writes to it or nobody can.
    """
    from viva.runs.config import LimitOptions, OutputOptions
    from viva.runs.open import prepare
    from viva.runs.scoring import grade_run

    folder = RunFolder.open(path)
    opened = prepare(folder, LimitOptions(progress="quiet"))
    with folder.lock():
        grade_run(opened, OutputOptions(published_rows="none"))


def rows_by_evaluation(path: Path, record: RunRecord) -> Iterator[tuple[ExamRecord, str, Iterator[ScoreRow]]]:
    """Yield exam, model and rows, one model on one exam after the other; rows must be read before the next.

    Raises StorageError for a file that is damaged, edited, or lacks a model or an exam.
    """
    refuse_strange_scores(path)
    exams = {exam.spec.label: exam for exam in record.exams}
    seen: set[tuple[str, str]] = set()
    for (exam, model), rows in itertools.groupby(score_rows(path), key=attrgetter("exam", "model")):
        if exam not in exams or (exam, model) in seen:
            raise StorageError(f"{path / SCORES} is damaged; `viva score {path}` makes it anew")
        seen.add((exam, model))
        yield exams[exam], model, rows
    if len(seen) < len(record.exams) * len(record.models):
        raise StorageError(
            f"{path / SCORES} lacks some of the {len(record.models)} models; `viva score {path}` makes it anew"
        )
