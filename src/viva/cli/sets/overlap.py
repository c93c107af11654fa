"""`viva overlap`: near-duplicates and leakage between a set of questions and any other set or corpus."""

from __future__ import annotations

import sys
from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.lab.duplicates.study import OverlapSettings, study

_METAVARS = {
    "others": "OTHER", "language": "LANG", "field": "NAME", "text": "COLUMN", "shingle": "words:K|chars:K",
    "backend": "local|ray[://HOST:PORT]",
}  # fmt: skip
_LATE = ("jobs", "backend", "progress")


@click.command(name="overlap", short_help="Near-duplicates and leakage between a set and others.")
@click.argument("questions", metavar="SET")
@derive(OverlapSettings, without=(*_LATE, "all"), metavars=_METAVARS, spelled={"others": ("--with", "others")})
@click.option(
    "--fail-above",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Exit code 3 if a larger share of the questions has leaked.",
)
@derive(OverlapSettings, only=_LATE, metavars=_METAVARS)
@tables_options
def overlap_command(fail_above: float | None, **given: Any) -> int:
    """Which questions of SET stand elsewhere, nearly the same (MinHash) or in passages (runs of 13 tokens): in other
    sets, in a training corpus of any size, or, without --with, in the set itself.

    SET is a benchmark, a question file, a run, or a file of texts. OTHER may also be a corpus: .jsonl, .csv, .parquet,
    .txt, .md (packed as .gz, .bz2, .xz), or a folder of these. NAME=... gives either another name.

    \b
    viva overlap cmmlu --data DIR                                          duplicates inside
    viva overlap csbench --data DIR --language en --with corpus/ --fail-above 0
    viva overlap test.jsonl --field prompt --with train=train.jsonl.gz --text text --format csv --out leaks.csv

    Exit codes: 0 compared; 2 wrong use or unreadable files; 3 more has leaked than --fail-above; 130 interrupted.
    """
    found = show_study(study, OverlapSettings, given).found
    leaked = found.leaked() / found.questions
    if fail_above is None or leaked <= fail_above:
        return EXIT_OK
    print(
        f"viva: {found.leaked():,} of {found.questions:,} questions ({100 * leaked:.2f} %) have leaked: more than "
        f"--fail-above {fail_above:g}",
        file=sys.stderr,
    )
    return EXIT_INCOMPLETE
