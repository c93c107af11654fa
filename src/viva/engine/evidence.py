"""Evidence computed on this machine: outcomes of the answers' programs, and similarities of texts to a reference.

Each outcome is journaled at once. Programs are keyed by content: identical ones, of whichever answer, are run once.
Texts are compared in batches, in a thread; comparisons are keyed by content and by all that the encoder's numbers
depend on: the same pair of texts is compared once, whoever wrote it and whatever about it is asked.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

import msgspec
from msgspec import Struct

from viva.contracts import Encoder, Sandbox
from viva.engine.asking import Run
from viva.engine.journal import Entry
from viva.errors import VivaError
from viva.types import Compare, Execute, Execution, Failure

BATCH_CHARACTERS = 1 << 17
"""Characters at which a batch is full; stopping waits for one batch."""
HOPELESS = 8
"""Give an encoder up that fails at this many comparisons before one succeeds."""
LONGEST_REASON = 300
"""Characters of a library's message: it may repeat the texts."""


R = TypeVar("R")


class LocalTask(Struct, Generic[R], frozen=True):
    """A computation about one answer: its key, benchmark, model and question."""

    key: bytes
    benchmark: str
    model: str
    question: str
    sample: int
    request: R
    settled: Callable[[], None] = lambda: None
    """Called when the result is known, or is known not to come."""


Comparison = LocalTask[Compare]
"""A pair of texts."""
Program = LocalTask[Execute]


def _journal(run: Run, task: LocalTask[Any], by: str, reply: str | Failure, seconds: float) -> None:
    """Journal a result or a failure, and count it."""
    text, failure = ("", reply) if isinstance(reply, Failure) else (reply, None)
    if failure is None:
        run.tally.answered += 1
    else:
        run.tally.failed += 1
        run.tally.failures.add(failure.kind)
    run.journal.append(
        Entry(
            key=task.key.hex(),
            benchmark=task.benchmark,
            model=by,
            question=task.question,
            sample=task.sample,
            text=text,
            error=failure,
            seconds=round(seconds, 4),
            at=round(time.time(), 3),
        )
    )
    if run.journal.full:
        run.finish("disk")


def comparison_key(identity: Mapping[str, str], request: Compare) -> bytes:
    """Return a comparison's key, 16 bytes: a hash of the encoder's identity and both texts, not of their question."""
    digest = hashlib.blake2b(msgspec.json.encode(sorted(identity.items())), digest_size=16, person=b"comparison")
    for text in (request.text, request.reference):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(len(content).to_bytes(8))
        digest.update(content)
    return digest.digest()


def read_similarity(entry: Entry | None) -> float | None:
    """Return a similarity from the journal; None where it is not known."""
    if entry is None or entry.error:
        return None
    try:
        value = float(entry.text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


async def run_comparisons(run: Run, encoder: Encoder, comparisons: Iterator[Comparison | None], jobs: int = 1) -> None:
    """Compare all pairs, `jobs` batches at a time. Returns when all are done, or the run is told to finish.

    None among them means that nothing is ready now, but more may come: the pairs so far make a batch. A pair that the
    encoder fails at is journaled as an error and tried again on resume; an encoder that manages none is given up.
    Raises StorageError when a similarity could not be written. Cancelling it drops the batch that is being worked on
    (the thread ends with it).
    """
    batches = _batches(run, max(1, encoder.batch), comparisons)
    threads = ThreadPoolExecutor(jobs, "encoder")
    tasks = [asyncio.create_task(_work(run, encoder, batches, threads)) for _ in range(jobs)]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        threads.shutdown(wait=False, cancel_futures=True)


async def _work(
    run: Run, encoder: Encoder, batches: Iterator[list[Comparison] | None], threads: ThreadPoolExecutor
) -> None:
    for batch in batches:
        if run.stop:
            return
        if batch is None:
            await run.idle()
            continue
        await _compare(run, encoder, batch, threads)
        for comparison in batch:
            comparison.settled()


def _batches(run: Run, size: int, comparisons: Iterator[Comparison | None]) -> Iterator[list[Comparison] | None]:
    """Yield the next comparisons to do, each pair once."""
    batch: dict[bytes, Comparison] = {}
    characters = 0
    for comparison in comparisons:
        if comparison is None:
            yield list(batch.values()) or None
            batch, characters = {}, 0
            continue
        if comparison.key in batch or comparison.key in run.journal.answered:
            run.tally.kept += 1
            continue
        batch[comparison.key] = comparison
        characters += len(comparison.request.text) + len(comparison.request.reference)
        if len(batch) == size or characters >= BATCH_CHARACTERS:
            yield list(batch.values())
            batch, characters = {}, 0
    if batch:
        yield list(batch.values())


async def _compare(run: Run, encoder: Encoder, batch: list[Comparison], threads: ThreadPoolExecutor) -> None:
    """Compare one batch; where it fails, each pair alone, so that one text costs no other its similarity."""
    if run.stop or run.refused:
        return
    started = time.monotonic()
    run.tally.in_flight += len(batch)
    try:
        reply = await _ask(encoder, batch, threads)
    finally:
        run.tally.in_flight -= len(batch)
    seconds = (time.monotonic() - started) / len(batch)
    if not isinstance(reply, Failure):
        for comparison, value in zip(batch, reply, strict=True):
            failure = Failure("encoder", f"a similarity of {value}")
            _write(run, encoder, comparison, repr(float(value)) if math.isfinite(value) else failure, seconds)
    elif len(batch) == 1:
        _write(run, encoder, batch[0], reply, seconds)
    else:
        for comparison in batch:
            await _compare(run, encoder, [comparison], threads)


async def _ask(encoder: Encoder, batch: list[Comparison], threads: ThreadPoolExecutor) -> list[float] | Failure:
    pairs = [(comparison.request.text, comparison.request.reference) for comparison in batch]
    try:
        values = await asyncio.get_running_loop().run_in_executor(threads, encoder.similarities, pairs)
    except VivaError as problem:
        return Failure("encoder", str(problem))
    except Exception as problem:  # out of memory, or a library's defect: only this batch fails
        return Failure("encoder", f"{type(problem).__name__}: {problem}"[:LONGEST_REASON])
    if len(values) != len(pairs):
        return Failure("encoder", f"{len(values)} similarities for {len(pairs)} pairs of texts")
    return values


def _write(run: Run, encoder: Encoder, comparison: Comparison, reply: str | Failure, seconds: float) -> None:
    """Journal a similarity or failure; give up an encoder that fails at everything."""
    _journal(run, comparison, encoder.name, reply, seconds)
    if isinstance(reply, Failure):
        run.tally.last_error = f"{encoder.name}: {reply.message}"
        if run.tally.failed >= HOPELESS and not run.tally.answered:
            why = f"the first {HOPELESS} comparisons all failed; the last: {reply.message}"
            run.refused.setdefault(encoder.name, why)


_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Execution).decode


def program_key(request: Execute) -> bytes:
    """Return a program's key, 16 bytes: a hash of everything but whose answer it is."""
    content: tuple[object, ...] = (
        request.language, request.program, request.test, request.files, request.seconds, request.proof,
    )  # fmt: skip
    if request.calls:
        content += (request.calls,)
    return hashlib.blake2b(_encode(content), digest_size=16, person=b"program").digest()


def read_execution(entry: Entry | None) -> Execution | None:
    """Return how a program fared, from the journal; None when that is not known yet."""
    if entry is None:
        return None
    if entry.error:
        return Execution("toolchain", entry.error.message)
    return _decode(entry.text)


async def run_programs(run: Run, sandbox: Sandbox, programs: Iterator[Program | None], jobs: int) -> None:
    """Run all `programs`, at most `jobs` at once. Returns when all ran or the run is told to finish.

    None among them means that nothing is ready now, but more may come.

    Raises StorageError when an outcome could not be written. Cancelling it ends what is running.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(_run_one_by_one(run, sandbox, programs))


async def _run_one_by_one(run: Run, sandbox: Sandbox, programs: Iterator[Program | None]) -> None:
    for program in programs:
        if run.stop:
            return
        if program is None:
            await run.idle()
            continue
        run.tally.in_flight += 1
        try:
            execution = await sandbox.run(program.request)
        finally:
            run.tally.in_flight -= 1
        reply: str | Failure = _encode(execution).decode()
        if execution.verdict == "toolchain":
            run.tally.last_error = execution.detail
            reply = Failure("toolchain", execution.detail)
        _journal(run, program, program.model, reply, execution.seconds)
        await asyncio.sleep(0)
