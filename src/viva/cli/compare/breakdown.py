"""`viva breakdown`: where is a model strong or weak, and is that more than chance?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.chart_options import chart_option, correct_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.runs.config import pick
from viva.studies.breakdown.study import SMALLEST, BreakdownConfig, study

if TYPE_CHECKING:
    from viva.analysis.slices import Slices
    from viva.reports.slices import Shown

PICKED = 5
"""Slices of either end that are shown where no tag is named."""


@click.command(name="breakdown", short_help="Scores by any tag; the worst and best slices, and chance.")
@click.argument("sources", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN|TABLE...")
@click.option(
    "--by",
    multiple=True,
    metavar="TAG",
    help="Break down by this tag; repeat it to cross tags (a slice a combination).  [default: every tag of its own]",
)
@click.option("--pairs", is_flag=True, help="Without --by: also every pair of tags.")
@click.option(
    "--worst",
    type=click.IntRange(0),
    help=f"Only so many slices that lie furthest below the rest.  [default: {PICKED} without --by, else all slices]",
)
@click.option("--best", type=click.IntRange(0), help="The same for those furthest above it.")
@click.option(
    "--min",
    "smallest",
    type=click.IntRange(1),
    default=SMALLEST,
    show_default=True,
    help="Answered questions that a slice must have to be tested.",
)
@correct_option
@click.option("--model", multiple=True, metavar="NAME", help="Only this model; repeatable.")
@click.option("--exam", multiple=True, metavar="NAME", help="Only this exam (csbench-en, say); repeatable.")
@chart_option("Draw one model's intervals, or a heat map of several")
@tables_options
def breakdown_command(sources: tuple[Path, ...], **given: Any) -> int:
    """Break the scores of run folders (or a folder of runs, or tables of item scores) down by tags: every slice with
    its interval and outcomes, and its difference from the rest of the questions, tested with control over how many
    slices were looked at.

    \b
    viva breakdown runs/NAME                                     the five worst and best slices over all tags
    viva breakdown runs/NAME --by negation                       CMMLU: are negated questions harder?
    viva breakdown runs/a runs/b --by domain --by tag --chart heat.svg
    """
    config = pick(BreakdownConfig, given)
    check_writable(config.out)
    if config.pairs and config.by:
        raise VivaError("--pairs looks at every pair of tags: leave out --by, which names them")
    found = list(study(sources, config))
    if not found:
        named = " ".join(
            (*(f"--model {name!r}" for name in config.model), *(f"--exam {name!r}" for name in config.exam))
        )
        raise VivaError(f"{named}: there is no such thing in {', '.join(map(str, sources))}")
    if config.chart is not None:
        _draw(found, _shown(config), config.chart)
    emit(_printed(found, config), config.out)
    return 0


def _draw(found: Sequence[Slices], shown: Shown, path: Path) -> None:
    from viva.reports import charts
    from viva.reports.charts.slices import slices_chart

    exams = list(dict.fromkeys(one.exam for one in found))
    if len(exams) > 1:
        raise VivaError(f"--chart draws one exam, and here are {', '.join(exams)}: name one with --exam")
    charts.save(slices_chart(found, shown), path)


def _shown(config: BreakdownConfig) -> Shown:
    from viva.reports.slices import Shown

    if not config.by and config.worst is None and config.best is None:
        return Shown(worst=PICKED, best=PICKED)
    return Shown(worst=config.worst, best=config.best)


def _printed(found: Sequence[Slices], config: BreakdownConfig) -> str:
    from viva.reports import slices as report

    shown = _shown(config)
    if config.format != "terminal":
        return report.FORMATS[config.format](found, shown)
    width, colour = screen(config.out)
    return report.as_terminal(found, shown, width=width, colour=colour)
