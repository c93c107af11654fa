"""`viva scaling`: how scores grow with the number of parameters, and what that predicts."""

from __future__ import annotations

from typing import Any

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import derive, tables_options
from viva.cli.output import show_study
from viva.studies.scaling.study import ScalingConfig, study

_METAVARS = {
    "fit": "log|family|average|...", "by": "family|domain|type|...", "predict": "SIZE", "fit_on": "SIZE,...",
    "model": "PATTERN", "exclude": "PATTERN", "where": "WORD=VALUE", "table": "NAME", "score": "COLUMN",
    "sizes": "FILE", "families": "FILE|none",
}  # fmt: skip


@click.command(name="scaling", short_help="How scores grow with size: fits, predictions, breaks.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@derive(ScalingConfig, metavars=_METAVARS)
@chart_option()
@tables_options
def scaling_command(**given: Any) -> int:
    """How scores grow with the number of parameters, in the published tables of csbench, infibench, cmmlu or syneval,
    in a table of your own (a row a model), or in runs: curves, what they predict, and how far to trust that.

    \b
    viva scaling csbench --fit family --model 'Qwen1.5-*' --fit-on 7,14,32,72 --predict 110
    viva scaling infibench --fit segments --by domain --chart break.svg
    viva scaling runs/* --sizes sizes.csv --fit log --predict 400
    """
    show_study(study, ScalingConfig, given)
    return 0
