"""`viva compare`: is one contestant better than another, and could this set have shown it?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.chart_options import chart_option, correct_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.runs.config import pick
from viva.runs.item_scores import UNGROUPED, existing
from viva.studies.compare.study import FACTORS, FLIPS, POINTS, PUBLISHED, CompareConfig, compared_sources

if TYPE_CHECKING:
    from viva.reports.comparing import Comparison


@click.command(name="compare", short_help="Who is better, question by question, and is it chance?")
@click.argument("sources", nargs=-1, required=True, metavar="RUN|TABLE...")
@click.option(
    "--between",
    type=click.Choice(FACTORS),
    metavar="|".join(FACTORS),
    help="Only pairs that differ in this; `all`: every pair.  [default: pairs with nobody in between]",
)
@click.option("--baseline", metavar="NAME", help="Only pairs of this contestant and each other.")
@click.option("--pairs", multiple=True, metavar="FIRST=SECOND", help="Only this pair (base=expert); repeatable.")
@click.option("--model", multiple=True, metavar="NAME", help="Only this model; repeatable.")
@click.option("--by", metavar="TABLE|TAG", help="A row for each column of this table of models, or value of this tag.")
@click.option(
    "--macro-average",
    "over",
    metavar="TAG",
    help=f"The overall mean averages the values of this tag first; `{UNGROUPED}`: the plain mean.  [default: the "
    f"paper's]",
)
@click.option("--cluster", metavar="TAG", help="Questions with one value of this tag (one text, say) are no two.")
@click.option(
    "--unpaired",
    is_flag=True,
    help="Compare means of sets that have no question in common, or none that can be told to be the same.",
)
@click.option(
    "--aggregate",
    "attempts",
    metavar="WAY,...",
    help="What several answers to a question count as: mean, best, best@K, pass@K; several are compared.  "
    "[default: as the exam's headline]",
)
@correct_option
@click.option(
    "--flips",
    type=click.IntRange(0),
    metavar="N",
    help=f"Show N questions that were gained and N that were lost.  [default: {FLIPS} of a single pair]",
)
@click.option(
    "--detect",
    type=click.FloatRange(0, 100, min_open=True),
    multiple=True,
    metavar="POINTS",
    help=f"How many questions would show a difference of so many points? Repeatable.  [default: {', '.join(POINTS)}]",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of permutation tests by random signs.")
@chart_option()
@tables_options
def compare_command(sources: tuple[str, ...], **given: Any) -> int:
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
    config = pick(CompareConfig, given)
    check_writable(config.out)
    if len(sources) == 1 and sources[0] in PUBLISHED and not Path(sources[0]).exists():
        return _published(sources[0], config)
    found = compared_sources(existing(sources, PUBLISHED), config)
    if config.chart is not None:
        from viva.reports import charts
        from viva.reports.charts.comparing import comparing_chart

        charts.save(comparing_chart(found), config.chart)
    emit(_printed(found, config), config.out)
    return 0


def _published(benchmark: str, config: CompareConfig) -> int:
    from viva.reports import comparedmeans as report
    from viva.studies.compare.published import compare_published

    found, one, notes = compare_published(benchmark, config)
    if config.chart is not None:
        from viva.reports import charts
        from viva.reports.charts.comparing import means_chart

        charts.save(means_chart(found, one), config.chart)
    if config.format != "terminal":
        emit(report.FORMATS[config.format](found, one, notes), config.out)
        return 0
    width, colour = screen(config.out)
    emit(report.as_terminal(found, one, notes, width=width, colour=colour), config.out)
    return 0


def _printed(found: Sequence[Comparison], config: CompareConfig) -> str:
    from viva.reports import comparing as report

    if config.format != "terminal":
        return report.FORMATS[config.format](found)
    width, colour = screen(config.out)
    return report.as_terminal(found, width=width, colour=colour)
