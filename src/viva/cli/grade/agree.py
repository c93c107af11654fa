"""`viva agreement`: how far experts agree with each other, and a judge with them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.engine.folder import find_run
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.studies.agreement.study import AgreementConfig, compared
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.agreement import Agreement
    from viva.analysis.ratings import Ratings
    from viva.reports.agreement import ScoreFromLabels

MOST_CHARTS = 20


@click.command(name="agreement", short_help="How far experts agree, and a judge with them.")
@click.argument("source", type=click.Path(path_type=Path), metavar="RUN|RATINGS.csv|.jsonl")
@click.option("--judge", metavar="NAME", help="The rater that is the judge; all others are people.")
@click.option("--exclude", "without", multiple=True, metavar="NAME", help="Leave this rater out; repeatable.")
@click.option(
    "--scale",
    metavar="MARKS",
    help="The marks that people can give: 0,0.5,1 or 1..10.  [default: those that were given]",
)
@click.option(
    "--level",
    type=click.Choice(["nominal", "ordinal", "interval"]),
    default="interval",
    show_default=True,
    help="What marks are: names, an order, or amounts.",
)
@click.option("--by", metavar="TAG", help="One report for each value of this column.  [default: aspect, if there]")
@click.option("--ppi", is_flag=True, help="The mean mark of all items, from the judge's marks and the people's sample.")
@click.option("--strata", metavar="TAG", help="With --ppi: the people's sample was drawn within each value of this.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Draws the bootstrap.")
@tables_options
@click.option(
    "--chart", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw it; several reports as FILE-1.svg, ..."
)
def agreement_command(source: Path, **given: Any) -> int:
    """Agreement of a run's experts and judges, or of any raters: rows of item, rater, value; other columns are tags.

    Of a run, the judge is the verdict that it had before experts (or one of its judges: --judge NAME); a random sample
    that experts marked to its end also gives the score that they would give to all answers, with an interval.

    Cronbach's and Krippendorff's alpha, Fleiss' and Cohen's kappa, correlations, the confusion table; with --judge, the
    judge against the mean human. With --ppi, the people must have rated a random sample of the items.

    \b
    viva agreement runs/NAME
    viva agreement ratings.csv --judge gpt-4o --scale 0,0.5,1 --chart agreement.svg
    viva agreement ratings.csv --judge gpt-4o --by type --ppi
    """
    from viva.studies.agreement.rating_table import read_ratings

    config = pick(AgreementConfig, given)
    check_writable(config.out)
    _check_chart(config.chart)
    if config.strata is not None and not config.ppi:
        raise VivaError(f"--strata {config.strata!r} says how a sample was drawn: it goes with --ppi")
    if source.is_dir():
        from viva.studies.agreement.labels import ratings_of_run

        if config.ppi:
            raise VivaError(
                "--ppi is for tables of ratings; a random sample of the review page gives a run's score as is"
            )
        run = find_run(source)
        ratings, config, scores, notes = ratings_of_run(run, config)
        present(ratings, run.name, config, scores, notes)
        return 0
    needed = [tag for tag in (config.by, config.strata) if tag is not None]
    present(read_ratings(source, needed), source.name, config)
    return 0


def present(
    ratings: Ratings,
    title: str,
    config: AgreementConfig,
    scores: Sequence[ScoreFromLabels] = (),
    notes: Sequence[str] = (),
) -> None:
    """The reports on some ratings, wherever these come from: printed or written, and drawn."""
    from viva.reports.agreementchart import svg_agreement

    found = compared(ratings, title, config)
    if config.chart is not None:
        if len(found) > MOST_CHARTS:
            titles = _listed(one.title for one in found)
            raise VivaError(f"--chart {config.chart}: that would be {len(found)} pictures: {titles}")
        for number, one in enumerate(found, 1):
            name = config.chart if len(found) == 1 else config.chart.with_stem(f"{config.chart.stem}-{number}")
            emit(svg_agreement(one), name)
            if len(found) > 1:
                click.echo(f"{name}: {one_line(one.title, 100)}", err=True)
    emit(_printed(found, config, scores, notes), config.out)


def _check_chart(chart: Path | None) -> None:
    if chart is None:
        return
    if chart.suffix.lower() != ".svg":
        raise VivaError(f"--chart {chart}: the picture is an SVG; write a name that ends in .svg")
    if chart.is_dir() or not chart.absolute().parent.is_dir():
        raise DataError(f"--chart {chart}: write the name of a file, in a folder that exists")


def _printed(
    found: Sequence[Agreement], config: AgreementConfig, scores: Sequence[ScoreFromLabels], more: Sequence[str]
) -> str:
    from viva.reports import agreement as report

    notes = [*report.notes_on(found), *more]
    if config.format != "terminal":
        return report.FORMATS[config.format](found, notes, scores)
    width, colour = screen(config.out)
    return report.as_terminal(found, notes, scores, width=width, colour=colour)


def _listed(names: Any) -> str:
    found = [repr(one_line(str(name), 60)) for name in names]
    return ", ".join(found[:10]) + (" …" if len(found) > 10 else "")
