"""`viva variance`: what moves a score?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.lab.variation.study import VarianceConfig, study


@click.command(name="variance", short_help="What moves a score: questions, prompts, option orders, judges, chance.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@derive(VarianceConfig, metavars={"budget": "ANSWERS", "model": "NAME", "exam": "NAME"})
@chart_option("Draw the scores in all cells and the standard deviation of every source")
@tables_options
def variance_command(**given: Any) -> int:
    """How much do prompts, the order of options, judges and chance move a score, and the difference of two models?

    From runs that vary them (`viva run --vary`), or have several judges: variance components with intervals, the ranks
    over all cells, which letters a model prefers, and how to split a budget between questions and variants. Asks
    nobody.

    \b
    viva run cmmlu --vary prompt=3,order=4 --model A --model B
    viva variance runs/NAME
    viva variance runs/NAME --budget 5000          5,000 answers: questions, or variants of each?
    viva variance runs/NAME --chart moved.svg
    """
    show_study(study, VarianceConfig, given)
    return 0
