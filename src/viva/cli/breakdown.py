"""`viva breakdown`: where is a model strong or weak, and is that more than chance?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import click
from msgspec import Struct

from viva.cli.analysisoptions import chart_option, correct_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import DataError, VivaError
from viva.runs.config import pick
from viva.runs.item_scores import EXAM, Scored, scored
from viva.runs.score_table import rows_of
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.slices import Slices
    from viva.reports.slices import Shown

SMALLEST = 10
PICKED = 5
"""Slices of either end that are shown where no tag is named."""
MOST = 3000
"""Slices of one model that are looked at: more takes minutes, and finds nothing after so many comparisons."""


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    by: tuple[str, ...] = ()
    pairs: bool = False
    worst: int | None = None
    best: int | None = None
    smallest: int = SMALLEST
    correct: Literal["holm", "bh", "none"] = "holm"
    model: tuple[str, ...] = ()
    exam: tuple[str, ...] = ()
    chart: Path | None = None
    format: str = "terminal"
    out: Path | None = None


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
    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    if wanted.pairs and wanted.by:
        raise VivaError("--pairs looks at every pair of tags: leave out --by, which names them")
    found = list(_found(sources, wanted))
    if not found:
        named = " ".join(
            (*(f"--model {name!r}" for name in wanted.model), *(f"--exam {name!r}" for name in wanted.exam))
        )
        raise VivaError(f"{named}: there is no such thing in {', '.join(map(str, sources))}")
    if wanted.chart is not None:
        _draw(found, _shown(wanted), wanted.chart)
    emit(_printed(found, wanted), wanted.out)
    return 0


def _found(sources: Sequence[Path], wanted: Wanted) -> Iterator[Slices]:
    from viva.analysis.slices import slices, tags_of

    origin: dict[tuple[str, str], Path] = {}
    for one in scored(sources, EXAM, tags=wanted.by or _tags_of_tables(sources)):
        if (wanted.model and not one.is_called(wanted.model)) or (wanted.exam and one.exam not in wanted.exam):
            continue
        if earlier := origin.get((one.exam, one.model)):
            raise DataError(
                f"{one_line(one.model, 60)} took {one.exam} both in {earlier} and in {one.source}: name one of them"
            )
        origin[one.exam, one.model] = one.source
        cuts = _cuts(tags_of(one.scores), wanted)
        if not cuts:
            raise DataError(f"{one.source}: the questions of {one.exam} have no tags to break down by")
        _refuse_too_many(one, cuts)
        yield slices(
            one.exam,
            one.model,
            one.scores,
            cuts,
            headline=one.headline,
            smallest=wanted.smallest,
            correct=wanted.correct,
        )


def _cuts(tags: Sequence[str], wanted: Wanted) -> list[tuple[str, ...]]:
    """The combinations of tags that are looked at."""
    if wanted.by:
        return [tuple(dict.fromkeys(wanted.by))]
    pairs = [(a, b) for index, a in enumerate(tags) for b in tags[index + 1 :]] if wanted.pairs else []
    return [*((tag,) for tag in tags), *pairs]


def _refuse_too_many(one: Scored, cuts: Sequence[tuple[str, ...]]) -> None:
    known = set(one.scores.columns)
    count = sum(
        one.scores.select(columns).n_unique()
        for combination in cuts
        if known.issuperset(columns := [f"tag:{tag}" for tag in combination])
    )
    if count > MOST:
        raise VivaError(
            f"{one.exam}: that would be {count:,} slices, more than {MOST:,}: name fewer or coarser tags with --by"
        )


def _tags_of_tables(sources: Sequence[Path]) -> tuple[str, ...]:
    """The tags of tables of item scores, where their rows say which columns are tags (scores.jsonl does)."""
    names: dict[str, None] = {}
    for source in sources:
        if source.is_dir():
            continue
        _, row = next(rows_of(source), (0, {}))
        tags = row.get("tags")
        if not isinstance(tags, dict):
            columns = ", ".join(one_line(str(name), 40) for name in row) or "nothing"
            raise DataError(f"{source} does not say which columns are tags: name one with --by TAG; it has {columns}")
        names.update(dict.fromkeys(cast("dict[str, object]", tags)))
    return tuple(names)


def _draw(found: Sequence[Slices], shown: Shown, path: Path) -> None:
    from viva.reports import charts
    from viva.reports.charts.slices import slices_chart

    exams = list(dict.fromkeys(one.exam for one in found))
    if len(exams) > 1:
        raise VivaError(f"--chart draws one exam, and here are {', '.join(exams)}: name one with --exam")
    charts.save(slices_chart(found, shown), path)


def _shown(wanted: Wanted) -> Shown:
    from viva.reports.slices import Shown

    if not wanted.by and wanted.worst is None and wanted.best is None:
        return Shown(worst=PICKED, best=PICKED)
    return Shown(worst=wanted.worst, best=wanted.best)


def _printed(found: Sequence[Slices], wanted: Wanted) -> str:
    from viva.reports import slices as report

    shown = _shown(wanted)
    if wanted.format != "terminal":
        return report.FORMATS[wanted.format](found, shown)
    width, colour = screen(wanted.out)
    return report.as_terminal(found, shown, width=width, colour=colour)
