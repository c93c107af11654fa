"""`viva plan`: how many questions does this decision need?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.lab.planning.study import PlanConfig, study

METAVARS = {
    "difference": "POINTS", "interval": "POINTS", "questions": "N", "samples": "N", "cluster": "TAG",
    "score": "PER CENT", "correlation": "0..1", "within": "0..1", "power": "0..1", "model": "NAME", "exam": "NAME",
    "price": "[MODEL=]IN/OUT", "max_cost": "DOLLARS", "max_time": "HOURS", "repeats": "N", "icc": "0..1",
    "cluster_size": "N", "clusters": "N",
}  # fmt: skip


@click.command(name="plan", short_help="How many questions a decision needs, and what a number of them can show.")
@click.argument("sources", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN...]")
@derive(PlanConfig, metavars=METAVARS)
@tables_options
def plan_command(**given: Any) -> int:
    """How many questions, answers, dollars and hours does it take to tell two models apart, or to know a score so well;
    and what can a given number of questions show?

    From earlier runs (of one model, or better of two on the same questions), or without any from a score and a
    correlation. Asks nobody.

    \b
    viva plan                                              two models at 70 %, nothing known of them
    viva plan --score 90 --difference 1                    close to the top, a difference of a point
    viva plan runs/a runs/b --difference 2 --power 0.9     from two runs: how they scatter, what they cost
    viva plan runs/a --samples 1 --samples 10              do more answers to each question help?
    viva plan --questions 500 --interval 4                 what 500 show; questions for 4 points of interval
    viva plan runs/a --cluster passage                     questions on one passage tell less than single ones
    viva plan --icc 0.2 --cluster-size 5                   the same without a run
    """
    show_study(study, PlanConfig, given)
    return 0
