"""Run the examinees' programs: many at once, each outcome journaled the moment it is there.

Programs are keyed by content: identical ones, of whichever answer, are run once.
"""

from __future__ import annotations

import asyncio
import hashlib
import time
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from viva.contracts import Sandbox
from viva.engine.asking import Run
from viva.engine.journal import Entry
from viva.types import Execute, Execution, Failure, Response

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Execution).decode


class Program(Struct, frozen=True):
    """One program on its way: under which key, for which benchmark, written by which model."""

    key: bytes
    benchmark: str
    model: str
    request: Execute


def program_key(request: Execute) -> bytes:
    """What makes two programs the same: everything but whose answer it was. 16 bytes."""
    content: tuple[object, ...] = (
        request.language, request.program, request.test, request.files, request.seconds, request.proof,
    )  # fmt: skip
    if request.calls:
        content += (request.calls,)
    return hashlib.blake2b(_encode(content), digest_size=16, person=b"program").digest()


def read_execution(entry: Entry | None) -> Execution | None:
    """How a program fared, from the journal; None when that is not known yet."""
    if entry is None:
        return None
    if entry.error:
        return Execution("toolchain", entry.error.message)
    return _decode(entry.text)


async def run_programs(run: Run, sandbox: Sandbox, programs: Iterator[Program | None], jobs: int) -> None:
    """Run all `programs`, at most `jobs` at once. Returns when all ran or the run is told to finish.

    None among them says that nothing is ready now, and that there may be more.

    Raises StorageError when an outcome could not be written. Cancelling it ends what is running.
    """
    async with asyncio.TaskGroup() as group:
        for _ in range(jobs):
            group.create_task(_work(run, sandbox, programs))


async def _work(run: Run, sandbox: Sandbox, programs: Iterator[Program | None]) -> None:
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
        _write(run, program, execution)
        await asyncio.sleep(0)


def _write(run: Run, program: Program, execution: Execution) -> None:
    failure: Failure | None = None
    if execution.verdict == "toolchain":
        run.tally.failed += 1
        run.tally.failures.add("toolchain")
        run.tally.last_error = execution.detail
        failure = Failure("toolchain", execution.detail)
    else:
        run.tally.answered += 1
    response = Response() if failure else Response(text=_encode(execution).decode())
    run.journal.append(
        Entry(
            key=program.key.hex(),
            benchmark=program.benchmark,
            model=program.model,
            question=program.request.question,
            sample=program.request.sample,
            text=response.text,
            error=failure,
            seconds=round(execution.seconds, 4),
            at=round(time.time(), 3),
        )
    )
    if run.journal.full:
        run.finish("disk")
