"""`viva merge`: the shards of a run as the run that they are parts of."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, print_report, published_rows_option, typed
from viva.engine.folder import RunFolder
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.fields import pick
from viva.runs.config import OutputOptions
from viva.runs.open import prepare
from viva.runs.progress import say
from viva.runs.scoring import grade_run, refuse_unknown, settings_of
from viva.runs.shards import Parts, find_parts, merge, merged_record, spans


@click.command
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
    help="The shards' servers (--base-url) had different addresses: you confirm that they served the same models.",
)
@derive(OutputOptions, only=("format", "tables", "all"))
@published_rows_option
def merge_command(runs: tuple[Path, ...], into: Path, any_address: bool, **given: Any) -> int:
    """Make one run of the shards RUNS (`viva run --shard I/N`; run folders, or a folder of them), and print its tables:
    the numbers of one run of all questions, to the last digit. The shards are not changed.

    Shards of different runs are refused, and the message names the differences. If a shard is missing or not finished,
    the exit code is 3, and `viva resume` asks for the rest. If a shard was made twice, the earlier answers count.

    \b
    viva merge runs/cmmlu/ --out runs/cmmlu-whole
    viva merge runs/s1 runs/s2 runs/s3 --out runs/whole
    """
    output = pick(OutputOptions, given)
    parts = find_parts(runs, any_address=any_address)
    refuse_unknown(output.published_rows, settings_of(parts.record.exams))
    for path in parts.left_out:
        say(f"viva: {path} is a whole run, and left out")
    record = merged_record(parts, typed())
    strange = merge(parts, record, into)
    print(f"run folder: {into}", file=sys.stderr)
    folder = RunFolder.open(into)
    try:
        with folder.lock():
            opened = prepare(folder)
            report = grade_run(opened, output)
    except KeyboardInterrupt:
        say(f"viva: {into} is merged, and not graded: viva score {into}")
        raise
    print_report(report, output)
    missing = sum(result.missing for result in report.results)
    counted = opened.answers_wanted - missing
    return _ending(parts, into, missing=missing, strange=strange - counted)


def _ending(parts: Parts, into: Path, *, missing: int, strange: int) -> int:
    """Report missing shards and answers; return the exit code."""
    if parts.missing:
        say(f"viva: of {parts.of:,} shards these are missing: {spans(parts.missing)}")
    if strange > 0 and missing:
        print(
            f"viva: {strange:,} answers of the shards fit no request of the merged run: was another server asked "
            "(OPENAI_BASE_URL), or do the weights lie elsewhere?",
            file=sys.stderr,
        )
    if missing:
        say(f"viva: {missing:,} answers are not there; ask for them with: viva resume {into}")
    return EXIT_INCOMPLETE if missing or parts.missing else EXIT_OK
