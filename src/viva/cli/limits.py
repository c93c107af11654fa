"""`viva limits`: how hard a running run asks, shown and changed from another terminal."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
from pathlib import Path

import click

from viva.cli.options import pace_options
from viva.engine.folder import RunFolder, find_run
from viva.engine.limitchanges import ASKED, TOLD, LaneLimits, LimitAnswer, LimitRequest, read_file, write_file
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, StorageError, VivaError
from viva.files import open_regular
from viva.runs.config import Limits, pick
from viva.visible import visible

PATIENCE = 10.0
"""Seconds that the run has to answer."""


@click.command(name="limits", short_help="Show and change the limits of a running run.")
@click.argument("run", type=click.Path(path_type=Path))
@pace_options
def limits_command(run: Path, **given: tuple[str, ...]) -> int:
    """Change how hard RUN asks while it runs (a run folder, or a folder of runs: the newest in it), and show
    its limits.

    Without options nothing changes. What is changed holds until the run ends; `viva resume` has its own options.

    \b
    viva limits runs/NAME                                  the limits now, and what they are doing
    viva limits runs/NAME --concurrency 64                 or `auto`, or openai=64
    viva limits runs/NAME --requests-per-minute none       or a number, or anthropic=50
    """
    from viva.cli.examination import ceilings, paces

    folder = RunFolder.open(find_run(run)).path
    limits = pick(Limits, given)
    request = LimitRequest(
        pid=_process(folder),
        number=secrets.token_hex(8),
        concurrency=ceilings(limits),
        requests_per_minute=paces(limits.requests_per_minute, "--requests-per-minute"),
        tokens_per_minute=paces(limits.tokens_per_minute, "--tokens-per-minute"),
    )
    try:
        write_file(folder / ASKED, request)
        answer = _answer(folder, request.number)
    except OSError as problem:
        raise StorageError(f"cannot write in {folder}: {problem.strerror}") from None
    if answer is None:
        _process(folder)  # it may have ended meanwhile
        click.echo(
            f"viva: {folder} does not ask anybody now; it does what it was asked to when it asks again", err=True
        )
        return EXIT_INCOMPLETE
    if answer.problem:
        raise VivaError(f"nothing was changed: {answer.problem}")
    for lane in answer.lanes:
        click.echo(visible(describe(lane)))
    return EXIT_OK


def describe(lane: LaneLimits) -> str:
    """`openai http://…/v1: 64 at once (fixed), 60 in flight, 3 waiting to be asked again, 204 answered, 7 refused`."""
    parts = [f"{lane.limit} at once ({lane.doing})", f"{lane.in_flight} in flight"]
    if lane.waiting:
        parts.append(f"{lane.waiting} waiting to be asked again")
    parts += [f"{lane.answered:,} answered", f"{lane.refused:,} refused"]
    return f"{lane.lane}: {', '.join([*parts, lane.pace] if lane.pace else parts)}"


def _process(folder: Path) -> int:
    """The number of the process that holds the run. Raises VivaError where none does."""
    try:
        lock = open_regular(folder / ".lock")
    except OSError:
        raise _still(folder) from None
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = re.fullmatch(rb"pid (\d{1,10})\s*", os.pread(lock, 32, 0))
        if holder:
            return int(holder[1])
        raise VivaError(f"{folder} is held by a process that does not say its number; try again") from None
    finally:
        os.close(lock)
    raise _still(folder)


def _still(folder: Path) -> VivaError:
    return VivaError(
        f"{folder} is not running, so nothing was changed: give limits to `viva resume {folder} --concurrency 64`"
    )


def _answer(folder: Path, number: str) -> LimitAnswer | None:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        time.sleep(0.1)
        try:
            answer = read_file(folder / TOLD, LimitAnswer)
        except ValueError:
            continue
        if answer and answer.number == number:
            (folder / TOLD).unlink(missing_ok=True)
            return answer
    return None
