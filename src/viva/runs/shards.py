"""Which runs are the shards of one and the same run, what differs where they are not, and what is missing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.sharding import Shard, read_shard
from viva.engine.batchlog import BatchLog
from viva.engine.folder import RunFolder, RunRecord
from viva.errors import StorageError, VivaError
from viva.files import reading
from viva.models.replay import KEPT
from viva.runs.graded import runs_in
from viva.visible import one_line

_SHOWN = 3
"""Differences that are named."""
_PER_PROCESS = ("key_variable", "device", "batch")
"""Settings of a model that no answer depends on: two tasks may have been given their own."""


class Part(Struct, frozen=True):
    """One shard's run."""

    shard: Shard
    folder: RunFolder


class Parts(Struct, frozen=True, kw_only=True):
    """All shards of one run, in order; of one that was made twice, the run that began first comes first."""

    parts: tuple[Part, ...]
    left_out: tuple[Path, ...] = ()
    """Runs of a folder that are no shards."""

    @property
    def of(self) -> int:
        """How many shards the run has."""
        return self.parts[0].shard.of

    @property
    def missing(self) -> list[int]:
        """The shards that are not there."""
        there = {part.shard.number for part in self.parts}
        return [number for number in range(1, self.of + 1) if number not in there]

    @property
    def record(self) -> RunRecord:
        """The first shard's run.json; but for the shard, it is the whole run's."""
        return self.parts[0].folder.record


def find_parts(paths: Sequence[Path], *, any_address: bool) -> Parts:
    """The shards that the paths name: run folders, and folders of runs.

    Raises VivaError for a run that is no shard, and for shards of different runs, with what differs; StorageError for
    one that cannot be read, or that somebody is writing to.
    """
    found: dict[Path, Part] = {}
    left_out: list[Path] = []
    for path in paths:
        for run in runs_in(path):
            folder = RunFolder.open(run)
            shard = folder.record.shard
            if shard:
                found.setdefault(run.resolve(), Part(read_shard(shard), folder))
            elif run == path:
                raise VivaError(f"{run} is a whole run, no shard of one (`viva run --shard I/N` makes shards)")
            else:
                left_out.append(run)
    if not found:
        raise VivaError(
            f"{paths[0]} holds {len(left_out):,} whole runs and no shard of one (`viva run --shard I/N` makes shards)"
        )
    parts = sorted(found.values(), key=lambda part: (part.shard, part.folder.record.created, str(part.folder.path)))
    _refuse_strangers(parts, any_address=any_address)
    for part in parts:
        with part.folder.still():
            _refuse_waiting(part.folder)
    return Parts(parts=tuple(parts), left_out=tuple(left_out))


def _refuse_waiting(folder: RunFolder) -> None:
    """What is handed in as a batch and not read yet would be asked, and paid, a second time."""
    log = BatchLog(folder.path, write=False)
    try:
        waiting = sum(1 for _ in log.waiting())
    finally:
        log.close()
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
        found = list(_differences(_compared(first.folder, any_address), _compared(part.folder, any_address)))
        if found:
            more = f"; and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
            moved = all(name.endswith("base_url") for name, _, _ in found)
            hint = (
                "; where both served the same model, say so with --any-address"
                if moved
                else "; merge what belongs together, or grade or judge the one as the other first"
            )
            said = "; ".join(
                f"{name} is {_short(one)} in the first, {_short(two)} in the second"
                for name, one, two in found[:_SHOWN]
            )
            raise VivaError(f"{both}{said}{more}{hint}")


def _compared(folder: RunFolder, any_address: bool) -> dict[str, object]:
    """All of run.json that an answer or a score depends on, by name."""
    content: dict[str, Any] = msgspec.to_builtins(folder.record)
    exams = [_exam(exam) for exam in content["exams"]]
    models = {kind: [_model(model, folder, any_address) for model in content[kind]] for kind in ("models", "judges")}
    names = ("viva", "judge_samples", "verdicts", "encoder", "samples", "repeats", "seed", "seed_rule", "sampling")
    return {**dict(_flat("exam", exams)), **dict(_flat("", models)), **dict(_flat("", {n: content[n] for n in names}))}


def _exam(exam: dict[str, Any]) -> dict[str, Any]:
    """Where the data lies and how many questions this part has is the shard's own; what the data is, is not."""
    spec = {**exam["spec"], "shard": ""}
    return {**exam, "spec": spec, "questions": 0, "data": "the bundled sample" if exam["data"] is None else "files"}


def _model(model: dict[str, Any], folder: RunFolder, any_address: bool) -> dict[str, Any]:
    known = {name: value for name, value in model.items() if name not in _PER_PROCESS}
    if any_address:
        known.pop("base_url", None)
    if known.get("weights"):
        known["weights"] = {name: value for name, value in known["weights"].items() if name not in _PER_PROCESS}
    inside = kept_file(str(known["name"]))
    if inside:  # what the run was graded from lies in its folder
        known["content"] = _digest(folder.path / inside)
    return known


def kept_file(model: str) -> str:
    """The name of the file in its run's folder that a replay plays; "" where it is none of the folder's."""
    start = f"replay/{KEPT}"
    name = model.removeprefix(start)
    return name if model.startswith(start) and "/" not in name and name not in ("", ".", "..") else ""


def _digest(path: Path) -> str:
    try:
        with reading(path) as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]
    except OSError as problem:
        raise StorageError(f"cannot read {path}: {problem.strerror}") from None


def _flat(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Nested settings as `exam 1 spec shots` → value."""
    if isinstance(value, dict) and value:
        for key, below in value.items():
            yield from _flat(f"{name} {key}".strip(), below)
    elif isinstance(value, list) and value:
        for number, below in enumerate(value, 1):
            yield from _flat(f"{name} {number}".strip(), below)
    else:
        yield name, value


def _differences(one: dict[str, object], two: dict[str, object]) -> Iterator[tuple[str, object, object]]:
    for name in dict.fromkeys([*one, *two]):
        if one.get(name) != two.get(name):
            yield one_line(name, 80), one.get(name), two.get(name)


def _short(value: object) -> str:
    return one_line(repr(value), 60)


def spans(numbers: Sequence[int]) -> str:
    """1, 2, 3, 7 as `1-3, 7`."""
    found: list[list[int]] = []
    for number in numbers:
        if found and number == found[-1][1] + 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in found)
