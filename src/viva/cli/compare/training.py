"""`viva training`: scores of many checkpoints of one model over its training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.runs.checkpoints import read_checkpoints
from viva.runs.config import pick
from viva.runs.item_scores import UNGROUPED
from viva.studies.training.study import Progress, TrainingConfig, study

if TYPE_CHECKING:
    from viva.analysis.training import Training

SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}
"""What an --out of that name holds, where --format does not say."""


@click.command(name="training", short_help="Scores over training: many checkpoints of one model.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV that says how far each was trained: `model,tokens` (or `run,tokens`; also base_url, revision, steps).  "
    "[default: as the runs say, which were told by --revision NAME=TOKENS or a file]",
)
@click.option(
    "--by",
    metavar="TABLE|TAG",
    help="A curve for each column of this table of models, or value of this tag.  [default: the exam's first such "
    "table; format]",
)
@click.option(
    "--macro-average",
    "over",
    metavar="TAG",
    help=f"The overall curve averages the values of this tag first; `{UNGROUPED}`: the plain mean.  [default: the "
    f"paper's]",
)
@click.option(
    "--format",
    type=click.Choice(["terminal", "json", "csv", "markdown", "latex"]),
    help="How it is printed.  [default: as the name of --out says, else terminal]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file instead: .csv, .json, .md, .tex.")
@chart_option("Also draw it")
def training_command(runs: tuple[Path, ...], **given: Any) -> int:
    """Put the scores of RUN... (run folders, a folder of runs, or tables of item scores) in the order of training: a
    curve a format with 95 % intervals, over training tokens on a logarithmic axis.

    \b
    viva run syneval --checkpoints steps.csv --run runs/steps
    viva training runs/steps
    viva training runs/steps --chart figure.svg
    viva training runs/a runs/b --checkpoints steps.csv
    """
    config = pick(TrainingConfig, given)
    check_writable(config.out)
    if config.out is not None and config.out.suffix.lower() == ".svg":
        raise VivaError(f"--out {config.out} is for tables; --chart {config.out} draws")
    form = config.format or (SUFFIXES.get(config.out.suffix.lower(), "terminal") if config.out else "terminal")
    progress = Progress(read_checkpoints(config.checkpoints) if config.checkpoints else None)
    found, notes = study(runs, progress, config)
    if config.chart and len(found) > 1:
        exams = ", ".join(one.exam for one in found)
        raise VivaError(f"--chart {config.chart}: a chart shows one exam, and here are {exams}: name the runs of one")
    emit(_printed(found, notes, form, config), config.out)
    if config.chart:
        from viva.reports import charts
        from viva.reports.charts.training import training_chart

        charts.save(training_chart(found[0]), config.chart)
    return 0


def _printed(found: list[Training], notes: list[str], form: str, config: TrainingConfig) -> str:
    from viva.reports import training as report

    if form != "terminal":
        return report.FORMATS[form](found, notes)
    width, colour = screen(config.out)
    return report.as_terminal(found, notes, width=width, colour=colour)
