"""Agreement of raters, from anybody's ratings."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Struct
from msgspec.structs import replace

from viva.analysis.raters.agreement import Agreement, agree
from viva.analysis.raters.ratings import Ratings
from viva.commands import command
from viva.engine.folder import find_run
from viva.errors import VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.studies.agreement.rating_table import ASPECT, read_ratings
from viva.studies.agreement.runratings import ratings_of_run
from viva.studies.agreement.tables import Reports, findings
from viva.visible import one_line

MOST_MARKS = 1000
"""Marks that a scale may have."""


class AgreementConfig(Struct, kw_only=True):
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

    source: Annotated[
        Path, note("A run, or a table of ratings: item, rater, value.", argument=True, metavar="RUN|RATINGS.csv|.jsonl")
    ]
    judge: Annotated[str | None, note("The rater that is the judge; all others are people.", metavar="NAME")] = None
    exclude: Annotated[tuple[str, ...], note("Leave this rater out; repeatable.", metavar="NAME")] = ()
    scale: Annotated[
        str | None,
        note("The marks that people can give: 0,0.5,1 or 1..10.  [default: those that were given]", metavar="MARKS"),
    ] = None
    level: Annotated[
        Literal["nominal", "ordinal", "interval"], note("What marks are: names, an order, or amounts.")
    ] = "interval"
    by: Annotated[
        str | None, note("One report for each value of this column.  [default: aspect, if there]", metavar="TAG")
    ] = None
    ppi: Annotated[bool, note("The mean mark of all items, from the judge's marks and the people's sample.")] = False
    strata: Annotated[
        str | None, note("With --ppi: the people's sample was drawn within each value of this.", metavar="TAG")
    ] = None


@command(AgreementConfig, chart="Draw it")
def study(config: AgreementConfig) -> Findings[Reports]:
    """How far raters agree: the experts and judges of a run, or of any table of ratings.

    Raises VivaError for a run that nobody judged and nobody reviewed, DataError for a damaged table.
    """
    if config.strata is not None and not config.ppi:
        raise VivaError(f"{config.strata!r} says how a sample was drawn: it goes with {option('ppi')}", field="strata")
    if not config.source.is_dir():
        needed = [tag for tag in (config.by, config.strata) if tag is not None]
        return findings(_compared(read_ratings(config.source, needed), config.source.name, config, "people"))
    if config.ppi:
        raise VivaError(
            "is for tables of ratings; a random sample of the review page gives a run's score as is", field="ppi"
        )
    run = find_run(config.source)
    found = ratings_of_run(run, config.judge, config.scale)
    config = replace(config, judge=found.judge, scale=found.scale)
    compared = _compared(found.ratings, run.name, config, found.word)
    return findings(compared, found.scores, found.notes)


def _compared(ratings: Ratings, title: str, config: AgreementConfig, word: str) -> list[Agreement]:
    """Return one report, or one for each value of `by`. Aspects are apart: a combined mark would be meaningless."""
    scale = scale_of(config.scale) if config.scale is not None else ()
    if config.exclude:
        ratings = ratings.without(config.exclude)
    if config.judge is not None:
        ratings.column(config.judge)
    parts = {title: ratings}
    for tag in dict.fromkeys(tag for tag in (config.by, ASPECT) if tag is not None):
        if tag == ASPECT != config.by and len(set(ratings.tags.get(ASPECT, ()))) < 2:
            continue
        parts = {
            f"{name} · {value or '(none)'}": part
            for name, whole in parts.items()
            for value, part in whole.parts(tag).items()
        }  # fmt: skip
    return [
        agree(
            part,
            judge=config.judge,
            scale=scale,
            level=config.level,
            ppi=config.ppi,
            strata=config.strata,
            title=name,
            word=word,
        )
        for name, part in parts.items()
    ]


def scale_of(text: str) -> tuple[float, ...]:
    """Return `0,0.5,1` or `1..10` → the marks, ascending. Raises VivaError for anything else."""
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
        raise VivaError(f"{one_line(text, 60)!r}: write two marks or more, as 0,0.5,1 or as 1..10", field="scale")
    return marks
