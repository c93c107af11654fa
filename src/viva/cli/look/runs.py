"""`viva runs`: which runs there are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import tables_options
from viva.cli.output import show_study
from viva.runs.run_list import RunsConfig, listed_runs


@click.command(name="runs", short_help="Your runs: date, models, exams, score, cost, state.")
@click.argument("folder", type=click.Path(path_type=Path), default=Path("runs"))
@tables_options
def runs_command(**given: Any) -> int:
    """List the runs in FOLDER (runs/ by default), the newest first: when, which models on which exams, their scores and
    cost, and what is left to do. Nothing is asked and nothing graded: numbers are those of scores.jsonl.

    \b
    viva runs
    viva runs /data/runs --all
    viva runs --json
    """
    show_study(listed_runs, RunsConfig, given)
    return 0
