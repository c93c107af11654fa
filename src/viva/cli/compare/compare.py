"""`viva compare`: is one contestant better than another, and could this set have shown it?"""

from __future__ import annotations

from typing import Any, get_args

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.studies.compare.config import CompareConfig, Factor
from viva.studies.compare.study import study

_METAVARS = {
    "between": "|".join(get_args(Factor)), "baseline": "NAME", "pairs": "FIRST=SECOND", "model": "NAME",
    "by": "TABLE|TAG", "macro_average": "TAG", "cluster": "TAG", "aggregate": "WAY,...", "flips": "N",
    "detect": "POINTS",
}  # fmt: skip


@click.command(name="compare", short_help="Who is better, question by question, and is it chance?")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|TABLE...")
@derive(CompareConfig, metavars=_METAVARS)
@chart_option()
@tables_options
def compare_command(**given: Any) -> int:
    """Compare contestants (models, shots, chain of thought, sampling, languages, gradings, checkpoints) on the same
    questions: differences with 95 % intervals, tests, wins and losses, the questions that flipped, and what
    difference the set could have shown.

    A source is a run folder, a folder of runs, or a table of item scores; or `infibench` or `csbench`: the published
    sampling sweep, and expert models against the chat models of their families.

    \b
    viva compare runs/a runs/b                            what differs is found by itself
    viva compare runs/a runs/b --by domain --correct bh --chart gains.svg
    viva compare runs/sweep --baseline 'T 0.2' --aggregate best@1,best@10
    viva compare runs/* --pairs llama2-7b=codellama-7b --flips 20
    viva compare infibench
    """
    show_study(study, CompareConfig, given)
    return 0
