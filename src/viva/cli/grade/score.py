"""`viva score`: grade again from the journal, asking nobody."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import report_options
from viva.cli.output import check_writable, print_report
from viva.engine.folder import RunFolder, find_run
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.runs.config import LimitOptions, OutputOptions, pick
from viva.runs.open import prepare
from viva.runs.published_rows import refuse_unknown, settings_of
from viva.runs.score import grade_run


@click.command(name="score", short_help="Grade a run again from its files.")
@click.argument("run", type=click.Path(path_type=Path))
@report_options
def score_command(run: Path, **given: Any) -> int:
    """Grade RUN again from its answers, write scores.jsonl again, and print the tables. Asks no model."""
    output = pick(OutputOptions, given)
    check_writable(output.out)
    folder = RunFolder.open(find_run(run))
    refuse_unknown(output.published_rows, settings_of(folder.record.exams))
    opened = prepare(folder, LimitOptions(progress="quiet"))
    folder.lock()
    try:
        report = grade_run(opened, output)
    finally:
        folder.unlock()
    print_report(report, output)
    return EXIT_INCOMPLETE if any(result.missing for result in report.results) else EXIT_OK
