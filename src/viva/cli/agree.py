"""`viva agree`: how far experts agree with each other, and a judge with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from viva.cli.options import tables_options
from viva.cli.reporting import check_writable, emit, screen
from viva.engine.folder import find_run
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.agreement import Agreement
    from viva.analysis.ratings import Ratings
    from viva.reports.agreement import ScoreFromLabels

MOST_CHARTS = 20
MOST_MARKS = 1000
"""Marks that a scale may have."""


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    judge: str | None = None
    without: tuple[str, ...] = ()
    scale: str | None = None
    level: Literal["nominal", "ordinal", "interval"] = "interval"
    by: str | None = None
    ppi: bool = False
    strata: str | None = None
    seed: int = 0
    word: str = "people"
    format: str = "terminal"
    out: Path | None = None
    chart: Path | None = None


@click.command(name="agree", short_help="How far experts agree, and a judge with them.")
@click.argument("source", type=click.Path(path_type=Path), metavar="RUN|RATINGS.csv|.jsonl")
@click.option("--judge", metavar="NAME", help="The rater that is the judge; all others are people.")
@click.option("--without", multiple=True, metavar="NAME", help="Leave this rater out; repeatable.")
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
def agree_command(source: Path, **given: Any) -> int:
    """Agreement of a run's experts and judges, or of any raters: rows of item, rater, value; other columns are tags.

    Of a run, the judge is the verdict that it had before experts (or one of its judges: --judge NAME); a random sample
    that experts marked to its end also gives the score that they would give to all answers, with an interval.

    Cronbach's and Krippendorff's alpha, Fleiss' and Cohen's kappa, correlations, the confusion table; with --judge, the
    judge against the mean human. With --ppi, the people must have rated a random sample of the items.

    \b
    viva agree runs/NAME
    viva agree ratings.csv --judge gpt-4o --scale 0,0.5,1 --chart agreement.svg
    viva agree ratings.csv --judge gpt-4o --by type --ppi
    """
    from viva.cli.ratingtable import read_ratings

    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    _check_chart(wanted.chart)
    if wanted.strata is not None and not wanted.ppi:
        raise VivaError(f"--strata {wanted.strata!r} says how a sample was drawn: it goes with --ppi")
    if source.is_dir():
        from viva.cli.agreerun import ratings_of_run

        if wanted.ppi:
            raise VivaError(
                "--ppi is for tables of ratings; a random sample of the review page gives a run's score as is"
            )
        run = find_run(source)
        ratings, wanted, scores, notes = ratings_of_run(run, wanted)
        present(ratings, run.name, wanted, scores, notes)
        return 0
    needed = [tag for tag in (wanted.by, wanted.strata) if tag is not None]
    present(read_ratings(source, needed), source.name, wanted)
    return 0


def present(
    ratings: Ratings,
    title: str,
    wanted: Wanted,
    scores: Sequence[ScoreFromLabels] = (),
    notes: Sequence[str] = (),
) -> None:
    """The reports on some ratings, wherever these come from: printed or written, and drawn."""
    from viva.reports.agreementchart import svg_agreement

    found = compared(ratings, title, wanted)
    if wanted.chart is not None:
        if len(found) > MOST_CHARTS:
            titles = _listed(one.title for one in found)
            raise VivaError(f"--chart {wanted.chart}: that would be {len(found)} pictures: {titles}")
        for number, one in enumerate(found, 1):
            name = wanted.chart if len(found) == 1 else wanted.chart.with_stem(f"{wanted.chart.stem}-{number}")
            emit(svg_agreement(one), name)
            if len(found) > 1:
                click.echo(f"{name}: {one_line(one.title, 100)}", err=True)
    emit(_printed(found, wanted, scores, notes), wanted.out)


def compared(ratings: Ratings, title: str, wanted: Wanted) -> list[Agreement]:
    """One report, or one for each value of `by`. Aspects are reported separately; combined they mean nothing."""
    from viva.analysis.agreement import agree
    from viva.cli.ratingtable import ASPECT

    scale = scale_of(wanted.scale) if wanted.scale is not None else ()
    if wanted.without:
        ratings = ratings.without(wanted.without)
    if wanted.judge is not None:
        ratings.column(wanted.judge)
    parts = {title: ratings}
    for tag in dict.fromkeys(tag for tag in (wanted.by, ASPECT) if tag is not None):
        if tag == ASPECT != wanted.by and len(set(ratings.tags.get(ASPECT, ()))) < 2:
            continue
        parts = {
            f"{name} · {value or '(none)'}": part
            for name, whole in parts.items()
            for value, part in whole.parts(tag).items()
        }  # fmt: skip
    return [
        agree(
            part,
            judge=wanted.judge,
            scale=scale,
            level=wanted.level,
            ppi=wanted.ppi,
            strata=wanted.strata,
            seed=wanted.seed,
            title=name,
            word=wanted.word,
        )
        for name, part in parts.items()
    ]


def scale_of(text: str) -> tuple[float, ...]:
    """`0,0.5,1` or `1..10` → the marks, ascending. Raises VivaError for anything else."""
    first, dots, last = text.partition("..")
    try:
        if dots:
            low, high = int(first), int(last)
            marks = tuple(float(mark) for mark in range(low, min(high, low + MOST_MARKS) + 1))
        else:
            marks = tuple(sorted({float(part) for part in text.split(",")}))
    except ValueError:
        marks = ()
    if not 1 < len(marks) <= MOST_MARKS or not all(math.isfinite(mark) for mark in marks):
        raise VivaError(f"--scale {one_line(text, 60)!r}: write two marks or more, as 0,0.5,1 or as 1..10")
    return marks


def _check_chart(chart: Path | None) -> None:
    if chart is None:
        return
    if chart.suffix.lower() != ".svg":
        raise VivaError(f"--chart {chart}: the picture is an SVG; write a name that ends in .svg")
    if chart.is_dir() or not chart.absolute().parent.is_dir():
        raise DataError(f"--chart {chart}: write the name of a file, in a folder that exists")


def _printed(found: Sequence[Agreement], wanted: Wanted, scores: Sequence[ScoreFromLabels], more: Sequence[str]) -> str:
    from viva.reports import agreement as report

    notes = [*report.notes_on(found), *more]
    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found, notes, scores)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, notes, scores, width=width, colour=colour)


def _listed(names: Any) -> str:
    found = [repr(one_line(str(name), 60)) for name in names]
    return ", ".join(found[:10]) + (" …" if len(found) > 10 else "")
