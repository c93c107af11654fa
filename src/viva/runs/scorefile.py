"""Graded runs on a disk: scores.jsonl, and scores.made.json with hashes of it and of the files that it was made from.

scores.made.json also says how exams average scores, so that runs can be compared without their question sets.

The hashes expose scores that were edited, or are older than the run's answers, verdicts and marks. They prove that
files belong together, not who made them: an editor of scores can write the hashes, too. To trust a stranger's folder,
grade it again (`viva score`, `viva leaderboard --regrade`).
"""

from __future__ import annotations

import errno
import hashlib
import itertools
import os
from array import array
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from pathlib import Path
from typing import IO, BinaryIO, Literal

import msgspec
from msgspec import Struct

from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.errors import DataError, StorageError, VivaError
from viva.files import LONGEST_LINE, UNREADABLE, lines, new_file, read_regular, reading, write_whole
from viva.runs.progress import notify
from viva.types import Aggregate, ScoreRow, TableSpec
from viva.version import __version__

SCORES, MADE = "scores.jsonl", "scores.made.json"
SOURCES = ("run", "draws", "responses", "executions", "similarities", "annotations", "reviews")
"""The files that scores are made from: run.json and journals."""
_CHUNK = 1 << 20
_LONGEST = 1 << 24
"""Bytes of scores.made.json."""
Averages = tuple[Aggregate, tuple[TableSpec, ...]]
"""An exam's headline and its tables."""
MOST_NAMES = 1000
"""Most distinct tags and parts in the rows of one run, since each becomes a column."""


class Made(Struct, kw_only=True):
    """All of scores.made.json: SHA-256 of scores.jsonl, and of each existing file that it was made from.

    `averages`: of the exams in the order of run.json; empty in runs that an earlier Viva graded.
    """

    viva: str
    scores: str
    sources: dict[str, str]
    averages: list[Averages] = []


class Fault(Struct, frozen=True):
    """A reason not to use scores.jsonl as this run's; `why` completes a sentence about the run."""

    kind: Literal["missing", "unrecorded", "changed"]
    why: str


def fault(folder: Path) -> Fault | None:
    """Return what is wrong with a run's scores; None where they were made from the run's present files.

    Reads all of these files once. Raises StorageError for one that cannot be read.
    """
    try:
        made = msgspec.json.decode(read_regular(folder / MADE, _LONGEST), type=Made)
    except FileNotFoundError:
        if not (folder / SCORES).exists():
            return Fault("missing", "is not graded yet")
        return Fault("unrecorded", f"has scores that nothing vouches for: {MADE} is not there (an earlier Viva's run?)")
    except OSError as problem:
        raise StorageError(f"cannot read {folder / MADE}: {problem.strerror}") from None
    except UNREADABLE as problem:
        return Fault("changed", f"has scores that nothing vouches for: {MADE} is damaged ({problem})")
    scores = _hash(folder / SCORES)
    if not scores:
        return Fault("missing", "is not graded yet")
    if scores != made.scores:
        return Fault("changed", f"has another {SCORES} than grading made: it was edited or damaged")
    now = _sources(folder)
    changed = sorted(name for name in {*now, *made.sources} if now.get(name) != made.sources.get(name))
    return Fault("changed", f"has scores of other files than lie there: {changed[0]} was changed") if changed else None


def averages_of(folder: Path) -> list[Averages]:
    """Return how the exams of a graded run average scores, in the order of run.json; [] where unknown."""
    try:
        return msgspec.json.decode(read_regular(folder / MADE, _LONGEST), type=Made).averages
    except (OSError, *UNREADABLE):
        return []


def _sources(folder: Path) -> dict[str, str]:
    names = [f"{name}.json" if name == "run" else f"{name}.jsonl" for name in SOURCES]
    return {name: digest for name in names if (digest := _hash(folder / name))}


def _hash(path: Path) -> str:
    """Return the SHA-256 as hexadecimal digits; "" for a missing file."""
    try:
        with reading(path) as file:
            return _digest(file, path)
    except FileNotFoundError:
        return ""
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from None


def _digest(file: BinaryIO, path: Path) -> str:
    """Hash a file of lines; one without lines, such as a terabyte of holes, is not read to its end."""
    digest, since = hashlib.sha256(), 0
    while chunk := file.read(_CHUNK):
        digest.update(chunk)
        end = chunk.rfind(b"\n")
        since = since + len(chunk) if end < 0 else len(chunk) - end
        if since > LONGEST_LINE:
            raise OSError(errno.EFBIG, f"a line is longer than {LONGEST_LINE:,} bytes", str(path))
    return digest.hexdigest()


@contextmanager
def new_scores(folder: Path, averages: list[Averages]) -> Iterator[IO[bytes]]:
    """Open a new scores.jsonl for writing, which replaces the old one at the end of the block, whole or not at all.

    Raises StorageError where it cannot be written.
    """
    partial = folder / f".{SCORES}.partial"
    try:
        sources = _sources(folder)
        with new_file(partial) as out:
            yield out
        made = Made(viva=__version__, scores=_hash(partial), sources=sources, averages=averages)
        (folder / MADE).unlink(missing_ok=True)  # a process killed in between leaves scores without hashes
        partial.replace(folder / SCORES)
        write_whole(folder / MADE, msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise StorageError(
            f"cannot write {folder / SCORES}: {problem.strerror}; the answers are safe, `viva score` tries again"
        ) from None


def score_rows(folder: Path) -> Iterator[ScoreRow]:
    """Yield the rows of a run's scores.jsonl. Raises StorageError with what to do where it is missing or damaged."""
    with _opened(folder) as content:
        yield from map(_reader(folder), itertools.count(1), lines(content, folder / SCORES))


@contextmanager
def rows_by_place(folder: Path) -> Iterator[Callable[[int], ScoreRow | None]]:
    """Yield a function from a place (from 0) in a run's scores.jsonl to its row; None beyond the end. Raises as
    `score_rows`."""
    read = _reader(folder)
    with _opened(folder) as content:
        ends = array("Q", itertools.accumulate(map(len, lines(content, folder / SCORES)), initial=0))

        def row_at(place: int) -> ScoreRow | None:
            if place + 1 >= len(ends):
                return None
            return read(place + 1, os.pread(content.fileno(), ends[place + 1] - ends[place], ends[place]))

        yield row_at


@contextmanager
def _opened(folder: Path) -> Iterator[BinaryIO]:
    try:
        with reading(folder / SCORES) as content:
            yield content
    except FileNotFoundError:
        raise StorageError(
            f"{folder} is not graded yet: `viva resume {folder}`, or `viva score {folder}` as it is"
        ) from None
    except OSError as problem:
        raise StorageError(f"cannot read {folder / SCORES}: {problem.strerror}") from None


def _reader(folder: Path) -> Callable[[int, bytes], ScoreRow]:
    """Return a decoder from a line's number and content to its row."""
    decode = msgspec.json.Decoder(ScoreRow).decode
    names: set[str] = set()

    def read(number: int, line: bytes) -> ScoreRow:
        try:
            row = decode(line)
            if not (names.issuperset(row.tags) and names.issuperset(row.parts)):
                names.update(row.tags, row.parts)
                if len(names) > MOST_NAMES:
                    raise ValueError(f"more than {MOST_NAMES:,} different tags")
        except UNREADABLE as problem:
            raise StorageError(
                f"{folder / SCORES}, line {number} is damaged ({problem}); `viva score {folder}` makes it anew"
            ) from None
        return row

    return read


ADAPTIVE = "was asked adaptively: the questions drawn are no sample of the exam, so their scores compare with no others"


def runs_in(path: Path) -> list[Path]:
    """Return the folder itself where it is a run, else all runs in it. Raises VivaError where there is none."""
    if (path / "run.json").exists():
        return [path]
    folders = sorted(record.parent for record in path.glob("*/run.json"))
    if not folders:
        raise VivaError(f"{path} is no run folder and holds none (no run.json in it): `viva run` makes some")
    return folders


def find_run(path: Path) -> Path:
    """Return the folder itself if it is a run; of a folder of runs the newest, telling the user which. Raises VivaError
    where there is none.
    """
    if (path / "run.json").exists() or not path.is_dir():
        return path
    *others, newest = sorted(runs_in(path), key=lambda run: (run / "run.json").lstat().st_mtime)
    if others:
        notify(f"{newest}: the newest of {len(others) + 1} runs in {path}")
    return newest


def open_run_folder(path: Path) -> RunFolder:
    """Open the folder that `find_run` returns. Raises as that, and as `RunFolder.open`."""
    return RunFolder.open(find_run(path))


def is_fresh(folder: RunFolder) -> bool:
    """Return whether scores.jsonl was made from the run's present files; for runs of an earlier Viva, by their
    times.
    """
    problem = fault(folder.path)
    if problem is None or problem.kind != "unrecorded":
        return problem is None
    made = (folder.path / SCORES).lstat().st_mtime_ns
    journals = (folder.path / f"{name}.jsonl" for name in SOURCES)
    return all(made >= path.lstat().st_mtime_ns for path in journals if path.exists())


def refuse_strange_scores(path: Path) -> None:
    """Raise StorageError where a run's scores were not made from its files; tell the user where that is unknown."""
    problem = fault(path)
    if problem is None or problem.kind == "missing":  # readers of missing scores report that
        return
    if problem.kind == "unrecorded":
        notify(f"{path} {problem.why}; `viva score {path}` grades it again, asking nobody")
        return
    raise StorageError(f"{path} {problem.why}; `viva score {path}` grades it again, asking nobody")


def refuse_adaptive(path: Path, record: RunRecord) -> None:
    """Raise DataError for an adaptive run: its questions are no random sample, so that scores do not compare."""
    if record.adaptive is not None:
        raise DataError(f"{path} {ADAPTIVE}; `viva score {path}` has its estimate of the full score")


def rows_by_evaluation(path: Path, record: RunRecord) -> Iterator[tuple[ExamRecord, str, Iterator[ScoreRow]]]:
    """Yield (exam, model, rows) for each model on each exam; rows must be read before the next.

    Raises StorageError for a file that is damaged or edited, or lacks a model or an exam.
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
