"""`viva scaling`: how scores grow with the number of parameters, and what that predicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from viva.cli.chart_options import chart_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.runs.config import pick
from viva.studies.scaling.sources import Parameters, Source, found_in, read_sizes
from viva.studies.scaling.study import ScalingConfig, curve_kinds, study

if TYPE_CHECKING:
    from viva.reports.scaling import Scaling

_PATH = click.Path(path_type=Path)


@click.command(name="scaling", short_help="How scores grow with size: fits, predictions, breaks.")
@click.argument("sources", nargs=-1, required=True, metavar="BENCHMARK|TABLE.csv|RUN...")
@click.option(
    "--fit",
    multiple=True,
    metavar="family|log|segments",
    help="The curve; several: repeat, or with commas. family: 1 - 1/(a·ln(bx + 1) + 1), CS-Bench's; log: a line over "
    "log size; segments: two lines that meet at a break, tested against one.  [default: log]",
)
@click.option(
    "--by", multiple=True, metavar="family|domain|type|...", help="A curve for each value; several: each combination."
)
@click.option("--predict", multiple=True, metavar="SIZE", help="The score at this many billions; such models judge it.")
@click.option("--fit-on", multiple=True, metavar="SIZE,...", help="Fit models of these sizes only, as papers do.")
@click.option(
    "--parameters",
    type=click.Choice(["total", "active"]),
    default="total",
    show_default=True,
    help="Of mixtures of experts: all parameters, or those that a token passes through.",
)
@click.option("--model", "models", multiple=True, metavar="PATTERN", help="Only these, as in 'Qwen1.5-*'; repeatable.")
@click.option("--exclude", "without", multiple=True, metavar="PATTERN", help="Leave these models out.")
@click.option("--where", multiple=True, metavar="WORD=VALUE", help="Only models of which this is said: domain=Code.")
@click.option("--best", is_flag=True, help="Only the best model of each size.")
@click.option("--table", metavar="NAME", help="Which published table (`viva published BENCHMARK`).")
@click.option("--score", metavar="COLUMN", help="Which column is the score.")
@click.option("--sizes", type=_PATH, metavar="FILE", help="CSV `model,billions[,active]`, where names do not say it.")
@click.option(
    "--questions",
    type=click.IntRange(1),
    help="On how many questions each score of a table rests, for intervals where no model is left over.",
)
@chart_option()
@tables_options
def scaling_command(sources: tuple[str, ...], **given: Any) -> int:
    """How scores grow with the number of parameters, in the published tables of csbench, infibench, cmmlu or syneval,
    in a table of your own (a row a model), or in runs: curves, what they predict, and how far to trust that.

    \b
    viva scaling csbench --fit family --model 'Qwen1.5-*' --fit-on 7,14,32,72 --predict 110
    viva scaling infibench --fit segments --by domain --chart break.svg
    viva scaling runs/* --sizes sizes.csv --fit log --predict 400
    """
    from viva.reports.charts import save

    config = pick(ScalingConfig, given)
    check_writable(config.out)
    kinds = curve_kinds(config)
    asked = Source(
        table=config.table,
        score=config.score,
        parameters=cast("Parameters", config.parameters),
        sizes=read_sizes(config.sizes) if config.sizes else {},
        questions=config.questions,
    )
    found = [study(one, kinds, config) for one in found_in(sources, asked)]
    if config.chart is not None:
        from viva.reports.charts.scaling import chart

        if len(found) > 1:
            raise VivaError(
                f"a chart shows one exam, and here are {', '.join(one.title for one in found)}: name one's runs"
            )
        save(chart(found[0]), config.chart)
    emit(_printed(found, config), config.out)
    return 0


def _printed(found: Sequence[Scaling], config: ScalingConfig) -> str:
    from viva.reports import scaling as report

    if config.format != "terminal":
        return report.FORMATS[config.format](found)
    width, colour = screen(config.out)
    return report.as_terminal(found, width=width, colour=colour)
