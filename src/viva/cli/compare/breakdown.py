"""`viva breakdown`: where is a model strong or weak, and is that more than chance?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.studies.breakdown.study import BreakdownConfig, study


@click.command(name="breakdown", short_help="Scores by any tag; the worst and best slices, and chance.")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN|TABLE...")
@derive(BreakdownConfig, metavars={"by": "TAG", "model": "NAME", "exam": "NAME"})
@chart_option("Draw one model's intervals, or a heat map of several")
@tables_options
def breakdown_command(**given: Any) -> int:
    """Break the scores of run folders (or a folder of runs, or tables of item scores) down by tags: every slice with
    its interval and outcomes, and its difference from the rest of the questions, tested with control over how many
    slices were looked at.

    \b
    viva breakdown runs/NAME                                     the five worst and best slices over all tags
    viva breakdown runs/NAME --by negation                       CMMLU: are negated questions harder?
    viva breakdown runs/a runs/b --by domain --by tag --chart heat.svg
    """
    show_study(study, BreakdownConfig, given)
    return 0
