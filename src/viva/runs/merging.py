"""The journals and marks of several runs as those of one: streamed, in memory are keys alone.

A line is taken over as it is, but for its key and for who answered (`journal.ServedChanges`). Of a request that several
runs answered, the first one's answer counts; a failure stays only where nobody answered, so that it is asked again on
resume.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import msgspec

from viva.contracts import Model
from viva.engine.folder import ModelRecord, RunFolder, RunRecord
from viva.engine.journal import Entry, Journal, Keys, ServedChanges, whole_lines
from viva.engine.reviews import Review
from viva.engine.stages import Evaluation, EvidenceStore
from viva.errors import StorageError
from viva.files import UNREADABLE, open_regular
from viva.keytable import KeyTable, read_key
from viva.runs.config import LimitOptions
from viva.runs.open import OpenRun, open_evidence, prepare, reach
from viva.runs.trust import without_consent
from viva.types import Question


class JournalMerge:
    """One stage's journal in the making. `take` the journals of all runs, in the order in which their answers count."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines = 0
        """Lines read so far."""
        self.answered = KeyTable()
        self.repeated = 0
        """Answers that another run had given already."""
        self._decode = msgspec.json.Decoder(Entry).decode
        self._encode = msgspec.json.Encoder().encode
        self._written = ServedChanges()
        try:
            self._out = path.open("xb")
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem.strerror}") from None

    def take(
        self, source: Path, keys: Mapping[bytes, bytes] | None = None, told: Callable[[], None] = lambda: None
    ) -> None:
        """All whole lines of a journal; none where there is no such file. `told` is called now and then.

        `keys`: what a request's key is in the merged run, where it is another. Raises StorageError for a line that is
        damaged, and where the journal cannot be written.
        """
        read = ServedChanges()
        for entry, raw in _lines(source, self._decode):
            key, said = bytes.fromhex(entry.key), (entry.served, entry.by)
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
            self._write(self._encode(written) + b"\n" if moved or (written.served, written.by) != said else raw)
            self._written.resolve(written)

    def _write(self, raw: bytes) -> None:
        try:
            self._out.write(raw)
        except OSError as problem:
            raise StorageError(f"cannot write {self.path}: {problem.strerror}; free some space") from None

    def abandon(self) -> None:
        """Close the file, whatever becomes of it."""
        with contextlib.suppress(OSError):
            self._out.close()

    def close(self) -> None:
        """Write through to the disk. A journal without a line goes: a run without judges has none for them."""
        try:
            with self._out as out:
                out.flush()
                os.fsync(out.fileno())
        except OSError as problem:
            raise StorageError(f"cannot write {self.path}: {problem.strerror}; free some space") from None
        if not self.path.stat().st_size:
            self.path.unlink()


def _lines(source: Path, decode: Callable[[bytes], Entry]) -> Iterator[tuple[Entry, bytes]]:
    """Yield every whole line of a journal, read and as it is. What a crash tore at the end is left out, as on
    resume.
    """
    try:
        file = open_regular(source)
    except FileNotFoundError:
        return
    except OSError as problem:
        raise StorageError(f"cannot open {source}: {problem.strerror}") from None
    try:
        for number, line in whole_lines(file, source):
            try:
                entry = decode(line)
                read_key(entry.key)
            except UNREADABLE as problem:
                raise StorageError(
                    f"{source}, line {number} is damaged ({problem}); remove that line to go on without it"
                ) from None
            yield entry, line
    except OSError as problem:
        raise StorageError(f"cannot read {source}: {problem.strerror}") from None
    finally:
        os.close(file)


def merge_reviews(sources: Sequence[Path], path: Path) -> int:
    """Return the experts' marks of all runs in one file, in the order in which they were given; each line once.

    Within a run the order of lines stays: the last one of a reviewer about an aspect counts. Returns how many lines
    were left out since they cannot be read. Raises StorageError for files that cannot be read or written.
    """
    decode = msgspec.json.Decoder(Review).decode
    found: dict[str, tuple[float, bytes]] = {}
    damaged = 0
    for source in sources:
        latest = float("-inf")
        for line in _raw_lines(source):
            try:
                review = decode(line)
            except UNREADABLE:
                damaged += 1
                continue
            latest = max(latest, review.at)  # a clock that was set back changes nothing of a file's order
            found.setdefault(review.id, (latest, line))
    if found:
        try:
            with path.open("xb") as out:
                out.writelines(line for _, line in sorted(found.values(), key=lambda one: one[0]))
                out.flush()
                os.fsync(out.fileno())
        except OSError as problem:
            raise StorageError(f"cannot write {path}: {problem.strerror}") from None
    return damaged


def _raw_lines(source: Path) -> list[bytes]:
    """Marks are made by hand: there are few."""
    try:
        file = open_regular(source)
    except FileNotFoundError:
        return []
    except OSError as problem:
        raise StorageError(f"cannot open {source}: {problem.strerror}") from None
    try:
        return [line for _, line in whole_lines(file, source)]
    finally:
        os.close(file)


Renamed = dict[bytes, bytes]
"""Key in the one run → key in the other."""


def moved(one: RunRecord, other: RunRecord) -> bool:
    """Return whether their models or judges have different addresses."""
    return [model.base_url for model in (*one.models, *one.judges)] != [
        model.base_url for model in (*other.models, *other.judges)
    ]


def keys_elsewhere(folder: RunFolder, record: RunRecord) -> dict[str, Renamed]:
    """Stage → what its keys are in a run with the models and judges of `record`, otherwise the same. Asks nobody."""
    record = without_consent(record)
    opened = prepare(folder, LimitOptions(progress="quiet"))
    judged = opened.judge_panel.judges if opened.judge_panel else ()
    models = list(map(_there, opened.models, folder.record.models, record.models))
    judges = list(map(_there, (judge.model for judge in judged), folder.record.judges, record.judges))
    elsewhere = dict(zip((model.name for model in opened.models), models, strict=True))
    found: dict[str, Renamed] = {"responses": {}, "annotations": {}}
    with ExitStack() as stack:
        journal = folder.journal("responses", write=False)
        stack.callback(journal.close)
        evidence_store = open_evidence(opened, stack)
        for evaluation in opened.evaluations:
            keys = Keys(elsewhere[evaluation.model.name].identity, evaluation.exam.spec.benchmark)
            for question, key, request in evaluation.requests():
                found["responses"][key] = keys.of(request)
                if judges:
                    found["annotations"].update(
                        _verdicts(opened, evidence_store, evaluation, question, key, journal, judges)
                    )
    return found


def _there(model: Model, here: ModelRecord, there: ModelRecord) -> Model:
    """Return the model as the other run reaches it."""
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
    found: Renamed = {}
    for judge, other in zip(judge_panel.judges, judges, strict=True):
        here, there = (
            judge_panel.requests(model, evaluation.exam, question, response, similarities)
            for model in (judge.model, other)
        )
        found.update((old, new) for (old, _), (new, _) in zip(here, there, strict=True))
    return found
