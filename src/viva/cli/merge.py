"""`viva merge`: the shards of a run as the run that they are parts of."""

from __future__ import annotations

import fcntl
import os
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import click
import msgspec

from viva.cli.beside import refuse_unknown, settings_of
from viva.cli.collecting import UNMATCHED
from viva.cli.examination import REVIEWS, prepare
from viva.cli.exams import reopen
from viva.cli.options import beside_option
from viva.cli.rekeying import keys_elsewhere, moved
from viva.cli.reporting import grade_run, print_report
from viva.cli.sharding import Parts, find_parts, kept_file, spans
from viva.cli.trust import keep_approval
from viva.engine.endpoints import is_approved
from viva.engine.folder import ExamRecord, RunFolder, RunRecord
from viva.engine.labelling import STAGE as LABELS
from viva.engine.merging import JournalMerge, merge_reviews
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, StorageError, VivaError
from viva.files import new_file, open_regular, reading
from viva.runs.config import Limits, Output, pick

STAGES = ("responses", "executions", "similarities", "annotations", LABELS)
"""The journals of a run."""
PAUSE = 2.0
"""Seconds between two lines of progress."""


@click.command(name="merge", short_help="Make one run of the shards of a run.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--out",
    "into",
    required=True,
    type=click.Path(path_type=Path),
    metavar="RUN",
    help="Folder of the whole run: a new one.",
)
@click.option(
    "--any-address",
    is_flag=True,
    help="The shards' servers (--base-url) had an address each: you vouch that they served the same models.",
)
@click.option(
    "--format",
    type=click.Choice(["terminal", "json", "csv", "markdown", "latex"]),
    default="terminal",
    show_default=True,
    help="How the tables are printed.",
)
@click.option("--all", is_flag=True, help="Also the long tables (every subject).")
@beside_option
def merge_command(runs: tuple[Path, ...], into: Path, any_address: bool, **given: Any) -> int:
    """Make one run of the shards RUNS (`viva run --shard I/N`; run folders, or a folder of them), and print its tables:
    to the last digit what one run of all questions would have given. The shards are left as they are.

    Shards of different runs are refused, with what differs. Where a shard is missing or was not finished the exit code
    is 3, and `viva resume` asks for what is not there; of a shard that was made twice the earlier answers count.

    \b
    viva merge runs/cmmlu/ --out runs/cmmlu-whole
    viva merge runs/s1 runs/s2 runs/s3 --out runs/whole
    """
    output = pick(Output, given)
    parts = find_parts(runs, any_address=any_address)
    refuse_unknown(output.beside, settings_of(parts.record.exams))
    for path in parts.left_out:
        print(f"viva: {path} is a whole run, and left out", file=sys.stderr)
    record = merged_record(parts)
    found = _merge(parts, record, into)
    print(f"run folder: {into}", file=sys.stderr)
    folder = RunFolder.open(into)
    folder.lock()
    try:
        examination = prepare(folder, Limits(progress="quiet"))
        report = grade_run(examination, output)
    except KeyboardInterrupt:
        print(f"viva: {into} is merged, and not graded: viva score {into}", file=sys.stderr)
        raise
    finally:
        folder.unlock()
    print_report(report, output)
    missing = sum(result.missing for result in report.results)
    counted = examination.answers_wanted - missing
    return _ending(parts, into, missing=missing, strange=found - counted)


def _ending(parts: Parts, into: Path, *, missing: int, strange: int) -> int:
    """What is to be said of what is not there, and the exit code."""
    if parts.missing:
        print(f"viva: of {parts.of:,} shards these are missing: {spans(parts.missing)}", file=sys.stderr)
    if strange > 0 and missing:
        print(
            f"viva: {strange:,} answers of the shards fit no request of the merged run: was another server asked "
            "(OPENAI_BASE_URL), or do the weights lie elsewhere?",
            file=sys.stderr,
        )
    if missing:
        print(f"viva: {missing:,} answers are not there; ask for them with: viva resume {into}", file=sys.stderr)
    return EXIT_INCOMPLETE if missing or parts.missing else EXIT_OK


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


def _merge(parts: Parts, record: RunRecord, into: Path) -> int:
    """Write the whole run, which appears at its place when it is complete. Returns how many answers it holds."""
    with _staged(into) as stage:
        journals = {name: JournalMerge(stage / f"{name}.jsonl") for name in STAGES}
        progress = _Progress(len(parts.parts), journals)
        with ExitStack() as stack:
            for journal in journals.values():
                stack.callback(journal.abandon)
            for number, part in enumerate(parts.parts):
                progress.done = number
                with part.folder.still():
                    keys = keys_elsewhere(part.folder, record) if moved(part.folder.record, record) else {}
                    for name, journal in journals.items():
                        journal.take(part.folder.path / f"{name}.jsonl", keys.get(name), progress.tell)
            for journal in journals.values():
                journal.close()
        damaged = merge_reviews([part.folder.path / REVIEWS for part in parts.parts], stage / REVIEWS)
        if damaged:
            print(f"viva: {damaged:,} lines of {REVIEWS} cannot be read, and are left out", file=sys.stderr)
        _copy_answers(parts, stage)
        whole = RunFolder(stage, record)
        whole.remember(record)
        if any(is_approved(part.folder.path, record) for part in parts.parts):
            keep_approval(whole)
        repeated = journals["responses"].repeated
        if repeated:
            print(f"viva: {repeated:,} answers were there twice: the earlier ones count", file=sys.stderr)
        return len(journals["responses"].answered)


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


class _Progress:
    """A line now and then, for what takes longer than one waits without a word."""

    def __init__(self, shards: int, journals: dict[str, JournalMerge]) -> None:
        self.done = 0
        self._shards = shards
        self._journals = journals
        self._last = time.monotonic()

    def tell(self) -> None:
        """Say how far it is, if it is time."""
        now = time.monotonic()
        if now - self._last >= PAUSE:
            self._last = now
            lines = sum(journal.lines for journal in self._journals.values())
            print(f"merging: {self.done}/{self._shards} shards, {lines:,} lines", file=sys.stderr, flush=True)


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
        lock = open_regular(stage / ".lock", os.O_RDWR | os.O_CREAT)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
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
            os.close(lock)
    except OSError as problem:
        raise StorageError(f"cannot write {into}: {problem.strerror or problem}") from None
