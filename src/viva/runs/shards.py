"""Shards of a run: finding them, reporting differences and missing ones, and merging them (`viva merge`).

Journals and marks are merged as streams, with only keys in memory.

A line is copied unchanged, but for its key and served model (`journal.ServedChanges`). If several runs answered a
request, the first answer counts; a failure stays only without an answer, so that a resume asks again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.wrapper import Shard, read_shard
from viva.contracts import Model
from viva.engine.batchlog import BatchLog
from viva.engine.budget import RunLimits, Spent
from viva.engine.folder import ExamRecord, ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Entry, Journal, Keys, ServedChanges, whole_lines
from viva.engine.labelling import STAGE as LABELS
from viva.engine.reviews import Review
from viva.engine.stages import Evaluation, EvidenceStore
from viva.errors import StorageError, VivaError, flag, option
from viva.files import UNREADABLE, LockedError, lock, new_file, open_regular, reading
from viva.keytable import KeyTable, read_key
from viva.runs.collected import UNMATCHED
from viva.runs.exams import note_judged, reopen
from viva.runs.open import (
    REVIEWS,
    OpenRun,
    is_approved,
    keep_approval,
    kept_file,
    open_evidence,
    prepare,
    reach,
    without_consent,
)
from viva.runs.progress import Screen, say
from viva.runs.scorefile import runs_in
from viva.types import Question
from viva.visible import one_line

_SHOWN = 3
"""Most differences named in an error."""
_PER_PROCESS = ("key_variable", "device", "batch")
"""Settings of a model that no answer depends on, so that shards may differ."""


class Part(Struct, frozen=True):
    """One shard's run."""

    shard: Shard
    folder: RunFolder


class Parts(Struct, frozen=True, kw_only=True):
    """All shards of one run, in order; of a shard made twice, the run that began first comes first."""

    parts: tuple[Part, ...]
    left_out: tuple[Path, ...] = ()
    """Runs in a given folder that are no shards."""

    @property
    def of(self) -> int:
        """Number of shards of the whole run."""
        return self.parts[0].shard.of

    @property
    def missing(self) -> list[int]:
        """Numbers of the missing shards."""
        there = {part.shard.number for part in self.parts}
        return [number for number in range(1, self.of + 1) if number not in there]

    @property
    def record(self) -> RunRecord:
        """The first shard's run.json, which equals the whole run's but for the shard."""
        return self.parts[0].folder.record


def find_parts(paths: Sequence[Path], *, any_address: bool) -> Parts:
    """Find the shards in run folders and folders of runs.

    Raises VivaError for a run that is no shard, and, with the differences, for shards of different runs; StorageError
    for a run that cannot be read, or that another process writes to.
    """
    by_folder: dict[Path, Part] = {}
    left_out: list[Path] = []
    makes = f"(`viva run {flag('shard', 'I/N')}` makes shards)"
    for path in paths:
        for run in runs_in(path):
            folder = RunFolder.open(run)
            shard = folder.record.shard
            if shard:
                by_folder.setdefault(run.resolve(), Part(read_shard(shard), folder))
            elif run == path:
                raise VivaError(f"{run} is a whole run, no shard of one {makes}")
            else:
                left_out.append(run)
    if not by_folder:
        raise VivaError(f"{paths[0]} holds {len(left_out):,} whole runs and no shard of one {makes}")
    parts = sorted(by_folder.values(), key=lambda part: (part.shard, part.folder.record.created, str(part.folder.path)))
    _refuse_strangers(parts, any_address=any_address)
    for part in parts:
        with part.folder.still():
            _refuse_waiting(part.folder)
    return Parts(parts=tuple(parts), left_out=tuple(left_out))


def _refuse_waiting(folder: RunFolder) -> None:
    """Refuse a shard with open batches: their requests would be asked, and paid, a second time."""
    with closing(BatchLog(folder.path, write=False)) as log:
        waiting = len([*log.waiting()])
    if waiting:
        raise VivaError(
            f"{folder.path} waits for {waiting:,} batches that a provider works on: `viva resume {folder.path}` reads "
            "them first"
        )


def _refuse_strangers(parts: Sequence[Part], *, any_address: bool) -> None:
    first = parts[0]
    for part in parts[1:]:
        both = f"{first.folder.path} and {part.folder.path} are no shards of one run: "
        if part.shard.of != first.shard.of:
            raise VivaError(f"{both}one is {first.shard}, the other {part.shard}")
        differences = list(_differences(_compared(first.folder, any_address), _compared(part.folder, any_address)))
        if differences:
            more = f"; and {len(differences) - _SHOWN} more" if len(differences) > _SHOWN else ""
            moved = all(name.endswith("base_url") for name, _, _ in differences)
            hint = (
                f"; where both served the same model, say so with {option('any_address')}"
                if moved
                else "; merge what belongs together, or grade or judge the one as the other first"
            )
            listed = "; ".join(
                f"{name} is {one_line(repr(mine), 60)} in the first, {one_line(repr(other), 60)} in the second"
                for name, mine, other in differences[:_SHOWN]
            )
            raise VivaError(f"{both}{listed}{more}{hint}")


def _compared(folder: RunFolder, any_address: bool) -> dict[str, object]:
    """Return the settings of run.json that answers or scores depend on, by name."""
    content: dict[str, Any] = msgspec.to_builtins(folder.record)
    exams = [_exam(exam) for exam in content["exams"]]
    models = {kind: [_model(model, folder, any_address) for model in content[kind]] for kind in ("models", "judges")}
    names = ("viva", "judge_samples", "verdicts", "encoder", "samples", "repeats", "seed", "seed_rule", "sampling")
    return {**dict(_flat("exam", exams)), **dict(_flat("", models)), **dict(_flat("", {n: content[n] for n in names}))}


def _exam(exam: dict[str, Any]) -> dict[str, Any]:
    """Return an exam without the path of its data and its number of questions, in which shards may differ, and without
    what an earlier Viva did not record."""
    data = "the bundled sample" if exam["data"] is None else "files"
    return {**exam, "spec": {**exam["spec"], "shard": ""}, "questions": 0, "data": data, "judged": True}


def _model(model: dict[str, Any], folder: RunFolder, any_address: bool) -> dict[str, Any]:
    known = {name: value for name, value in model.items() if name not in _PER_PROCESS}
    if any_address:
        known.pop("base_url", None)
    if known.get("weights"):
        known["weights"] = {name: value for name, value in known["weights"].items() if name not in _PER_PROCESS}
    inside = kept_file(str(known["name"]))
    if inside:  # the answers that the run was graded from are in its folder
        known["content"] = _digest(folder.path / inside)
    return known


def _digest(path: Path) -> str:
    try:
        with reading(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from None


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield nested settings as (`exam 1 spec shots`, value)."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _flat(f"{name} {key}".strip(), below)
    elif isinstance(value, list) and value:
        for number, below in enumerate(value, 1):
            yield from _flat(f"{name} {number}".strip(), below)
    else:
        yield name, value


def _differences(first_record: dict[str, object], two: dict[str, object]) -> Iterator[tuple[str, object, object]]:
    for name in dict.fromkeys([*first_record, *two]):
        if first_record.get(name) != two.get(name):
            yield one_line(name, 80), first_record.get(name), two.get(name)


def spans(numbers: Sequence[int]) -> str:
    """Return 1, 2, 3, 7 as `1-3, 7`."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and number == ranges[-1][1] + 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in ranges)


STAGES = ("responses", "executions", "similarities", "annotations", LABELS)
"""The journals of a run."""


OF_SHARD = ("shard", "max_requests", "max_cost")
"""Options of a shard that the whole run does not have."""


def merged_record(parts: Parts, command: Sequence[str]) -> RunRecord:
    """Return run.json of the whole run. Raises DataError where the shards' data is missing or has changed."""
    records = [part.folder.record for part in parts.parts]
    record = msgspec.structs.replace(
        parts.record,
        created=min(record.created for record in records),
        command=[*command],
        plan={name: value for name, value in parts.record.plan.items() if name not in OF_SHARD},
    )
    record.limits = msgspec.structs.replace(record.limits or RunLimits(), max_requests=None, max_cost=None)
    record.spent = Spent(
        sum(each_record.spent.requests for each_record in records),
        sum(each_record.spent.cost for each_record in records),
    )
    record.canaries = list(dict.fromkeys(canary for each_record in records for canary in each_record.canaries))
    record.exams = [_whole_exam([record.exams[index] for record in records]) for index in range(len(record.exams))]
    return record


def _whole_exam(records: list[ExamRecord]) -> ExamRecord:
    """Return the whole exam, with the first shard's path of its data that still exists."""
    here = next((record for record in records if record.data is None or Path(record.data).exists()), records[0])
    whole = msgspec.structs.replace(here, spec=msgspec.structs.replace(here.spec, shard=""))
    exam = reopen(whole)
    note_judged(whole, exam)
    return msgspec.structs.replace(whole, questions=len(exam))


def merge(parts: Parts, record: RunRecord, into: Path) -> int:
    """Write the whole run into `into`, which appears when complete. Returns its number of answers."""
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
    """Copy the files that replays read from the first shard's folder; the other shards' are the same."""
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
    """Yield a temporary folder next to `into`, renamed to it when the block succeeds, else removed.

    Raises VivaError where `into` exists, StorageError where it cannot be written.
    """
    if (into / "run.json").exists():
        raise StorageError(f"{into} holds a run already: choose another {option('out')}")
    if into.exists() and (not into.is_dir() or any(into.iterdir())):
        raise VivaError(f"{into}: name a folder that is not there yet, or is empty", field="out")
    stage = into.absolute().parent / f".{into.absolute().name}.merging"
    for place in (into, stage):  # what is left in the stage is removed: behind a link it is not ours
        if place.is_symlink():
            raise VivaError(f"{place} is a link: name another folder", field="out")
    try:
        stage.mkdir(parents=True, exist_ok=True)
        try:
            held = lock(stage / ".lock")
        except LockedError:
            raise StorageError(
                f"another process is merging into {into}; wait for it, or choose another {option('out')}"
            ) from None
        try:
            for left in stage.iterdir():  # left by a merge that was killed
                if left.name != ".lock":
                    left.unlink()
            yield stage
            stage.rename(into)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(held)
    except OSError as problem:
        raise StorageError(f"cannot write {problem.filename or into}: {problem.strerror or problem}") from None


class JournalMerge:
    """A merged journal of one stage. Call `take` with the journals of all runs; earlier ones have precedence."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0
        """Lines read so far."""
        self.answered = KeyTable()
        self.repeated = 0
        """Answers left out because an earlier run had one."""
        self._decode = msgspec.json.Decoder(Entry).decode
        self._encode = msgspec.json.Encoder().encode
        self._written = ServedChanges()
        self._out = path.open("xb")

    def take(
        self, source: Path, keys: Mapping[bytes, bytes] | None = None, told: Callable[[], None] = lambda: None
    ) -> None:
        """Append all whole lines of a journal, if the file exists. `told` is called now and then, for progress.

        `keys`: request key → the differing key in the merged run. Raises StorageError for a damaged line, OSError
        where the merged journal cannot be written.
        """
        read = ServedChanges()
        for entry, raw in _lines(source, self._decode):
            key, answerer = bytes.fromhex(entry.key), (entry.served, entry.by)
            read.resolve(entry)
            moved = keys is not None and key in keys
            if keys and moved:
                key = keys[key]
                entry.key = key.hex()
            self.lines += 1
            if self.lines % 4096 == 0:
                told()
            if key in self.answered:
                self.repeated += entry.error is None
                continue
            if entry.error is None:
                self.answered.add(key)
            written = self._written.shortened(entry)
            self._out.write(self._encode(written) + b"\n" if moved or (written.served, written.by) != answerer else raw)
            self._written.resolve(written)

    def abandon(self) -> None:
        """Close the file without flushing, after a failure."""
        with contextlib.suppress(OSError):
            self._out.close()

    def close(self) -> None:
        """Flush to the disk and close. An empty journal is removed, as a run without judges has no file for them."""
        with self._out as out:
            out.flush()
            os.fsync(out.fileno())
        if not self.path.stat().st_size:
            self.path.unlink()


def _raw_lines(source: Path) -> Iterator[tuple[int, bytes]]:
    """Yield (number, line) of a file's whole lines, if it exists. A torn last line is left out, as on resume."""
    try:
        file = open_regular(source)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise StorageError(f"cannot open {source}: {problem.strerror}") from None
    try:
        yield from whole_lines(file, source)
    finally:
        os.close(file)


def _lines(source: Path, decode: Callable[[bytes], Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Yield every whole line of a journal, (decoded, raw)."""
    for number, line in _raw_lines(source):
        try:
            entry = decode(line)
            read_key(entry.key)
        except UNREADABLE as problem:
            raise StorageError(
                f"{source}, line {number} is damaged ({problem}); remove that line to go on without it"
            ) from None
        yield entry, line


def merge_reviews(sources: Sequence[Path], path: Path) -> int:
    """Merge the experts' marks of all runs into one file, in the order in which they were given; each line once.

    Within a run the order of lines stays, since a reviewer's last mark of an aspect counts. Returns the number of
    unreadable lines, which are left out. Raises StorageError for files that cannot be read, OSError.
    """
    decode = msgspec.json.Decoder(Review).decode
    latest_by_id: dict[str, tuple[float, bytes]] = {}
    damaged = 0
    for source in sources:
        latest = float("-inf")
        for _, line in _raw_lines(source):
            try:
                review = decode(line)
            except UNREADABLE:
                damaged += 1
                continue
            latest = max(latest, review.at)  # a clock that was set back must not change the order within a file
            latest_by_id.setdefault(review.id, (latest, line))
    if latest_by_id:
        with path.open("xb") as out:
            out.writelines(line for _, line in sorted(latest_by_id.values(), key=lambda latest_line: latest_line[0]))
            out.flush()
            os.fsync(out.fileno())
    return damaged


Renamed = dict[bytes, bytes]
"""Key in one run → key in another."""


def moved(record: RunRecord, other: RunRecord) -> bool:
    """Return whether models or judges of two runs have different addresses."""
    return [model.base_url for model in (*record.models, *record.judges)] != [
        model.base_url for model in (*other.models, *other.judges)
    ]


def keys_elsewhere(folder: RunFolder, record: RunRecord) -> dict[str, Renamed]:
    """Return stage → key → its key in the same run with the models and judges of `record`. Sends nothing."""
    record = without_consent(record)
    opened = prepare(folder)
    models = list(map(_there, opened.models, folder.record.models, record.models))
    judges = list(map(_there, (judge.model for judge in opened.judges), folder.record.judges, record.judges))
    elsewhere = dict(zip((model.name for model in opened.models), models, strict=True))
    renamed: dict[str, Renamed] = {"responses": {}, "annotations": {}}
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            keys = Keys(elsewhere[evaluation.model.name].identity, evaluation.exam.spec.benchmark)
            for question, key, request in evaluation.requests():
                renamed["responses"][key] = keys.of(request)
                if judges:
                    renamed["annotations"].update(
                        _verdicts(opened, evidence_store, evaluation, question, key, journal, judges)
                    )
    return renamed


def _there(model: Model, here: ModelRecord, there: ModelRecord) -> Model:
    """Return the model with the other run's address."""
    return model if here.base_url == there.base_url else reach(there, 0)


def _verdicts(
    opened: OpenRun,
    evidence_store: EvidenceStore,
    evaluation: Evaluation,
    question: Question,
    key: bytes,
    journal: Journal,
    judges: Sequence[Model],
) -> Renamed:
    """Return the keys of the verdicts on one answer."""
    entry, judge_panel = journal.read(key), opened.judge_panel
    if entry is None or entry.error or judge_panel is None:
        return {}
    response = entry.response()
    similarities = (
        evidence_store.similarity_store.of(evaluation.exam, question, response)
        if evidence_store.similarity_store
        else {}
    )
    renamed: Renamed = {}
    for judge, other in zip(judge_panel.judges, judges, strict=True):
        here, there = (
            judge_panel.requests(model, evaluation.exam, question, response, similarities)
            for model in (judge.model, other)
        )
        renamed.update((old, new) for (old, _), (new, _) in zip(here, there, strict=True))
    return renamed
