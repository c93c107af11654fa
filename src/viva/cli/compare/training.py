"""`viva training`: scores of many checkpoints of one model over its training."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive
from viva.cli.output import show_study
from viva.errors import VivaError
from viva.runs.config import OutputOptions
from viva.studies.training.study import TrainingConfig, study

SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}
"""What an --out of that name holds, where --format does not say."""


@click.command(name="training", short_help="Scores over training: many checkpoints of one model.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@derive(TrainingConfig, metavars={"checkpoints": "FILE", "by": "TABLE|TAG", "macro_average": "TAG"})
@click.option(
    "--format",
    type=click.Choice(["terminal", "json", "csv", "markdown", "latex"]),
    help="How it is printed.  [default: as the name of --out says, else terminal]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file instead: .csv, .json, .md, .tex.")
@derive(OutputOptions, only=("all",))
@chart_option("Also draw it")
def training_command(out: Path | None, **given: Any) -> int:
    """Put the scores of RUN... (run folders, a folder of runs, or tables of item scores) in the order of training: a
    curve a format with 95 % intervals, over training tokens on a logarithmic axis.

    \b
    viva run syneval --checkpoints steps.csv --run runs/steps
    viva training runs/steps
    viva training runs/steps --chart figure.svg
    viva training runs/a runs/b --checkpoints steps.csv
    """
    suffix = out.suffix.lower() if out else ""
    if suffix == ".svg":
        raise VivaError(f"--out {out} is for tables; --chart {out} draws")
    form = given["format"] or SUFFIXES.get(suffix, "terminal")
    show_study(study, TrainingConfig, {**given, "out": out, "format": form})
    return 0
