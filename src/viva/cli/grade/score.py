"""`viva score`: grade again from the journals, without asking models; or sum up a table of item scores."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from viva.cli.options import check_writable, derive, print_report, refuse_given, report_options, show_study
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.fields import pick
from viva.runs.answers import read_run
from viva.runs.config import LimitOptions, OutputOptions
from viva.runs.scorefile import is_fresh, open_run_folder
from viva.runs.scoring import refuse_unknown, regraded, settings_of
from viva.studies.score_table.study import ScoreTableConfig, study


@click.command
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN|TABLE")
@report_options
@derive(ScoreTableConfig, without=("table",))
def score_command(run: Path, **given: Any) -> int:
    """Grade RUN again from its answers, write scores.jsonl again, and print the tables. Asks no model.

    Or sum up the item scores in TABLE (CSV or JSONL, also gzipped): leaderboard rows beside the published ones. A row
    is an answer with `model`, `case` (or `question`), `sample`, `score` (a share of 1; empty: unscored) and optionally
    `repeat` and tags: what `viva grade --out` writes, and a run's scores.jsonl.

    \b
    viva score runs/NAME --all
    viva score item_scores.csv.gz --benchmark infibench --k 1 --k 5 --k 10
    viva score item_scores.csv.gz --benchmark infibench --levels difficulty_levels.yaml --by level
    """
    if run.exists() and not run.is_dir():  # also a pipe of the shell: <(...)
        refuse_given(("tables", "published_rows"), "is about a run, and this is a table of item scores")
        show_study(study, ScoreTableConfig, {**given, "table": run})
        return EXIT_OK
    refuse_given(ScoreTableConfig.__struct_fields__, "is about a table of item scores, and here is a run")
    output = pick(OutputOptions, given)
    check_writable(output.out)
    folder = open_run_folder(run)
    refuse_unknown(output.published_rows, settings_of(folder.record.exams))
    if is_fresh(folder) and not os.access(folder.path, os.W_OK):  # a read-only archive
        report = read_run(folder.path, output.published_rows).report
    else:
        limits = LimitOptions(progress=click.get_current_context().lookup_default("progress") or "auto")
        report = regraded(folder.path, output, limits)
    print_report(report, output)
    return EXIT_INCOMPLETE if any(result.missing for result in report.results) else EXIT_OK
