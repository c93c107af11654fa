"""The shards of a run made into the run that they are parts of."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path

import msgspec

from viva.engine.endpoints import is_approved
from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.engine.labelling import STAGE as LABELS
from viva.engine.merging import JournalMerge, merge_reviews
from viva.errors import StorageError, VivaError
from viva.files import LockedError, lock, new_file, reading
from viva.runs.answer_files import UNMATCHED
from viva.runs.exams import reopen
from viva.runs.moved_keys import keys_elsewhere, moved
from viva.runs.open import REVIEWS
from viva.runs.progress import Screen, say
from viva.runs.shards import Parts, kept_file
from viva.runs.trust import keep_approval

STAGES = ("responses", "executions", "similarities", "annotations", LABELS)
"""The journals of a run."""


def merged_record(parts: Parts) -> RunRecord:
    """run.json of the whole run. Raises DataError where the data of the shards is not here, or not what it was."""
    records = [part.folder.record for part in parts.parts]
    record = msgspec.structs.replace(
        parts.record,
        created=min(record.created for record in records),
        command=["viva", *sys.argv[1:]],
    )
    record.canaries = list(dict.fromkeys(canary for one in records for canary in one.canaries))
    record.exams = [_exam([record.exams[index] for record in records]) for index in range(len(record.exams))]
    return record


def _exam(records: list[ExamRecord]) -> ExamRecord:
    """The whole exam, with its data where one of the shards found it and it still is."""
    here = next((one for one in records if one.data is None or Path(one.data).exists()), records[0])
    whole = msgspec.structs.replace(here, spec=msgspec.structs.replace(here.spec, shard=""))
    return msgspec.structs.replace(whole, questions=len(reopen(whole)))


def merge(parts: Parts, record: RunRecord, into: Path) -> int:
    """Write the whole run, which appears at its place when it is complete. Returns how many answers it holds."""
    with _staged(into) as stage:
        journals = {name: JournalMerge(stage / f"{name}.jsonl") for name in STAGES}
        screen = Screen("plain")
        with ExitStack() as stack:
            for journal in journals.values():
                stack.callback(journal.abandon)
            for number, part in enumerate(parts.parts):
                tell = partial(_tell, screen, f"merging: {number}/{len(parts.parts)} shards", journals.values())
                with part.folder.still():
                    keys = keys_elsewhere(part.folder, record) if moved(part.folder.record, record) else {}
                    for name, journal in journals.items():
                        journal.take(part.folder.path / f"{name}.jsonl", keys.get(name), tell)
            for journal in journals.values():
                journal.close()
        damaged = merge_reviews([part.folder.path / REVIEWS for part in parts.parts], stage / REVIEWS)
        if damaged:
            say(f"viva: {damaged:,} lines of {REVIEWS} cannot be read, and are left out")
        _copy_answers(parts, stage)
        whole = RunFolder(stage, record)
        whole.remember(record)
        if any(is_approved(part.folder.path, record) for part in parts.parts):
            keep_approval(whole)
        repeated = journals["responses"].repeated
        if repeated:
            say(f"viva: {repeated:,} answers were there twice: the earlier ones count")
        return len(journals["responses"].answered)


def _tell(screen: Screen, done: str, journals: Iterable[JournalMerge]) -> None:
    if screen.due():
        screen.say(f"{done}, {sum(journal.lines for journal in journals):,} lines")


def _copy_answers(parts: Parts, stage: Path) -> None:
    """The files in the first shard's folder that its replays play: the others' are the same."""
    first = parts.parts[0].folder
    for name in [*(kept_file(model.name) for model in first.record.models), UNMATCHED]:
        if name and os.path.lexists(first.path / name):
            try:
                with reading(first.path / name) as content, new_file(stage / name) as copy:
                    shutil.copyfileobj(content, copy)
            except OSError as problem:
                raise StorageError(f"cannot copy {first.path / name}: {problem.strerror}") from None


@contextmanager
def _staged(into: Path) -> Iterator[Path]:
    """A folder beside `into` to write into, which takes its place when the block ends well, and goes otherwise.

    Raises VivaError where `into` is there already, StorageError where it cannot be written.
    """
    if (into / "run.json").exists():
        raise StorageError(f"{into} holds a run already: choose another --out")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise VivaError(f"--out {into}: name a folder that is not there yet, or is empty")
    stage = into.absolute().parent / f".{into.absolute().name}.merging"
    try:
        stage.mkdir(parents=True, exist_ok=True)
        try:
            held = lock(stage / ".lock")
        except LockedError:
            raise StorageError(
                f"another process is merging into {into}; wait for it, or choose another --out"
            ) from None
        try:
            for left in stage.iterdir():  # by a merge that was killed
                if left.name != ".lock":
                    left.unlink()
            yield stage
            stage.rename(into)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(held)
    except OSError as problem:
        raise StorageError(f"cannot write {into}: {problem.strerror or problem}") from None
