"""`viva item-analysis`: which questions are worth asking, how able models are, and few questions that predict all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.analysis.difficulty import TRIALS
from viva.cli.chart_options import chart_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.runs.config import pick
from viva.studies.items.study import ItemsConfig, only_exam, refuse_contradictions, study

if TYPE_CHECKING:
    from viva.reports.result import Grid
    from viva.studies.items.sources import ItemSources

_PATH = click.Path(path_type=Path)


@click.command(name="item-analysis", short_help="Questions: facility, discrimination, item response, anchors, levels.")
@click.argument("sources", nargs=-1, type=_PATH, metavar="RUN|TABLE...")
@click.option("--exam", metavar="NAME", help="Only this exam, where the sources have several.")
@click.option(
    "--irt",
    type=click.Choice(["1pl", "2pl"]),
    help="Also fit this item-response model: difficulties and abilities on one scale, with errors and fit.",
)
@click.option(
    "--items", type=click.IntRange(0), default=20, show_default=True, help="List at most so many questions a table."
)
@chart_option()
@click.option(
    "--anchors",
    type=click.IntRange(2),
    metavar="N",
    help="Choose N questions that predict the full score; their error beside random questions. --out FILE.csv keeps "
    "them, for `viva run --questions` and --predict.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Draws the anchors.")
@click.option(
    "--predict",
    multiple=True,
    type=_PATH,
    metavar="RUN",
    help="Predict the full scores of this run's models from their answers to the anchors; repeatable.",
)
@click.option("--anchors-file", type=_PATH, metavar="FILE", help="The anchors for --predict.")
@click.option("--levels", is_flag=True, help="Every question's level of difficulty, by InfiBench's rule.")
@click.option("--weaker", metavar="MODEL", help="--levels: the weaker examiner (the paper's is GPT-3.5).")
@click.option("--stronger", metavar="MODEL", help="--levels: the stronger one (GPT-4 at temperature 0.2).")
@click.option("--warm", metavar="MODEL", help="--levels: the stronger one at temperature 1.0; tells level 3.")
@click.option(
    "--trials",
    type=click.IntRange(1),
    default=TRIALS,
    show_default=True,
    help="--levels: answers without a point that make a question level 5.",
)
@click.option("--given", type=_PATH, metavar="FILE", help="--levels: published levels to compare with.")
@tables_options
def item_analysis_command(sources: tuple[Path, ...], **given: Any) -> int:
    """Look at an exam's questions by the scores of several models: run folders (or a folder of runs) and tables of item
    scores. The more models, the more can be told.

    \b
    viva item-analysis runs/ --irt 2pl --chart map.svg                      good and bad questions, abilities
    viva item-analysis runs/ --anchors 50 --out anchors.csv                 few questions that predict the score on all
    viva run cmmlu --questions anchors.csv --model openai/NEW       ask a new model only these
    viva item-analysis --predict runs/NEW --anchors-file anchors.csv        its full score, with an interval
    viva item-analysis item_scores.csv.gz --levels --weaker gpt-3.5-turbo --stronger gpt-4-0613
    """
    config = pick(ItemsConfig, given)
    refuse_contradictions(sources, config)
    check_writable(config.out)
    if config.predict:
        from viva.studies.items.anchors import predicted

        emit(_told(predicted(config.predict, config.anchors_file, config.exam, config.format), config), config.out)
        return 0
    from viva.studies.items.sources import item_sources

    found = item_sources(sources, config.exam)
    if config.levels:
        from viva.studies.items.levels import levelled

        emit(_told(levelled(only_exam(found, "--levels"), config), config), config.out)
    elif config.anchors is not None:
        _choose_anchors(only_exam(found, "--anchors"), config)
    else:
        _look(found, config)
    return 0


def _told(content: str | tuple[list[Grid], list[str]], config: ItemsConfig) -> str:
    """Text as it is, tables in the form asked for."""
    if isinstance(content, str):
        return content
    from viva.reports.items import GRID_FORMATS, as_terminal

    grids, closing = content
    if config.format != "terminal":
        return GRID_FORMATS[config.format](grids, closing)
    width, colour = screen(config.out)
    return as_terminal(grids, closing, width=width, colour=colour)


def _look(found: Sequence[ItemSources], config: ItemsConfig) -> None:
    from viva.reports import items as report

    if config.chart is not None:
        only_exam(found, "--chart")
    examined = [study(one, config) for one in found]
    notes = [note for one in examined for note in report.notes_on(one)]
    if config.chart is not None:
        from viva.reports.charts import save
        from viva.reports.charts.items import chart

        save(chart(examined[0]), config.chart)
    if config.format == "json":
        emit(report.items_json(examined, notes), config.out)
    elif config.format == "csv":
        emit(report.items_csv(examined), config.out)
    else:
        grids = [grid for one in examined for grid in report.item_grids(one, config.items)]
        legend = [report.LEGEND, *([report.RESPONSE] if config.irt else [])]
        emit(_told((grids, [*legend, *dict.fromkeys(notes)]), config), config.out)


def _choose_anchors(one: ItemSources, config: ItemsConfig) -> None:
    from viva.reports import anchors as report
    from viva.studies.items.anchors import chosen

    assert config.anchors is not None
    found, validation, notes = chosen(one, config.anchors, config.seed)
    notes += report.anchor_notes(found, validation)
    if config.format == "json":
        emit(report.anchors_json(found, validation, notes), config.out)
        return
    if config.format == "csv":
        emit(report.anchors_csv(found), config.out)
        return
    grids = report.anchor_grids(found, validation, config.items)
    closing = [report.LEGEND, *notes]
    if config.out is None or config.out.suffix.lower() != ".csv":
        emit(_told((grids, closing), config), config.out)
        return
    emit(report.anchors_csv(found), config.out)  # FILE.csv keeps the anchors; how good they are is still to be read
    config.out = None
    emit(_told((grids, closing), config), None)
