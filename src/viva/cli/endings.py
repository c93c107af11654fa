"""How a stage ended: what to tell the user, how to go on, and the exit code."""

from __future__ import annotations

import sys
from pathlib import Path

from viva.engine.asking import Run, disk_full
from viva.errors import EXIT_INCOMPLETE, EXIT_INTERRUPTED, EXIT_OK, EXIT_REFUSED
from viva.visible import visible


def ending_of_asking(run: Run, path: Path, total: int) -> int:
    """After asking examinees or the judge."""
    tally = run.tally
    resume = f"viva resume {path}"
    for model, why in run.refused.items():
        print(visible(f"viva: {model} was given up: {why}"), file=sys.stderr)
    if run.stop == "disk":
        raise disk_full(run)
    missing = total - tally.answered - tally.kept
    if run.stop == "interrupted":
        print(f"viva: interrupted, {missing:,} not answered yet; go on with: {resume}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if run.stop == "budget":
        print(
            f"viva: the limit of this run is reached, {missing:,} not answered yet; go on with: {resume}",
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    if run.refused:
        print(f"viva: {missing:,} not answered; mend that, then: {resume}", file=sys.stderr)
        return EXIT_INCOMPLETE if run.unreached == run.refused.keys() else EXIT_REFUSED
    if missing > 0 and all(name == "missing" for name in tally.failures):
        print(visible(f"viva: {missing:,} questions have no answer in the file ({tally.last_error})"), file=sys.stderr)
        return EXIT_INCOMPLETE
    if missing > 0:
        why = tally.last_failure or tally.last_error
        last = f" (last error: {why})" if why else ""
        print(visible(f"viva: {missing:,} not answered{last}; try those again with: {resume}"), file=sys.stderr)
        return EXIT_INCOMPLETE
    return EXIT_OK


def ending_of_running(run: Run, path: Path, total: int) -> int:
    """After running the examinees' programs."""
    tally = run.tally
    if run.stop == "disk":
        raise disk_full(run)
    missing = total - tally.answered - tally.kept
    if run.stop == "interrupted":
        print(f"viva: interrupted, {missing:,} programs not run yet; go on with: viva resume {path}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if missing > 0:
        print(
            visible(
                f"viva: {missing:,} programs could not be run, their answers are not graded ({tally.last_error}); "
                f"`viva toolchains` says what is missing; then: viva resume {path}"
            ),
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    return EXIT_OK


def ending_of_comparing(run: Run, path: Path, total: int) -> int:
    """After comparing texts with the gold."""
    tally = run.tally
    if run.stop == "disk":
        raise disk_full(run)
    missing = total - tally.answered - tally.kept
    if run.stop == "interrupted":
        print(f"viva: interrupted, {missing:,} texts not compared yet; go on with: viva resume {path}", file=sys.stderr)
        return EXIT_INTERRUPTED
    if missing > 0:
        why = visible(tally.last_error)
        print(
            f"viva: {missing:,} texts could not be compared ({why}); try those again with: viva resume {path}",
            file=sys.stderr,
        )
        return EXIT_INCOMPLETE
    return EXIT_OK
