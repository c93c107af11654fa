"""`viva items`: which questions are worth asking, how able models are, and few questions that predict all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click
from msgspec import Struct

from viva.analysis.difficulty import TRIALS
from viva.cli.analysisoptions import chart_option
from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.runs.config import pick

if TYPE_CHECKING:
    from viva.analysis.itemresponse import Fitted
    from viva.cli.itemsources import Gathered
    from viva.reports.items import Examined
    from viva.reports.result import Grid

_PATH = click.Path(path_type=Path)


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    exam: str | None = None
    irt: Literal["1pl", "2pl"] | None = None
    items: int = 20
    chart: Path | None = None
    anchors: int | None = None
    seed: int = 0
    predict: tuple[Path, ...] = ()
    anchors_file: Path | None = None
    levels: bool = False
    weaker: str | None = None
    stronger: str | None = None
    warm: str | None = None
    trials: int = TRIALS
    given: Path | None = None
    format: str = "terminal"
    out: Path | None = None


@click.command(name="items", short_help="Questions: facility, discrimination, item response, anchors, levels.")
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
def items_command(sources: tuple[Path, ...], **given: Any) -> int:
    """Look at an exam's questions by the scores of several models: run folders (or a folder of runs) and tables of item
    scores. The more models, the more can be told.

    \b
    viva items runs/ --irt 2pl --chart map.svg                      good and bad questions, abilities
    viva items runs/ --anchors 50 --out anchors.csv                 few questions that predict the score on all
    viva run cmmlu --questions anchors.csv --model openai/NEW       ask a new model only these
    viva items --predict runs/NEW --anchors-file anchors.csv        its full score, with an interval
    viva items item_scores.csv.gz --levels --weaker gpt-3.5-turbo --stronger gpt-4-0613
    """
    wanted = pick(Wanted, given)
    _refuse_contradictions(sources, wanted)
    check_writable(wanted.out)
    if wanted.predict:
        from viva.cli.itemanchors import predicted

        emit(_told(predicted(wanted.predict, wanted.anchors_file, wanted.exam, wanted.format), wanted), wanted.out)
        return 0
    from viva.cli.itemsources import gathered

    found = gathered(sources, wanted.exam)
    if wanted.levels:
        from viva.cli.itemlevels import levelled

        emit(_told(levelled(_only(found, "--levels"), wanted), wanted), wanted.out)
    elif wanted.anchors is not None:
        _choose_anchors(_only(found, "--anchors"), wanted)
    else:
        _look(found, wanted)
    return 0


def _told(content: str | tuple[list[Grid], list[str]], wanted: Wanted) -> str:
    """Text as it is, tables in the form asked for."""
    if isinstance(content, str):
        return content
    from viva.reports.items import GRID_FORMATS, as_terminal

    grids, closing = content
    if wanted.format != "terminal":
        return GRID_FORMATS[wanted.format](grids, closing)
    width, colour = screen(wanted.out)
    return as_terminal(grids, closing, width=width, colour=colour)


def _look(found: Sequence[Gathered], wanted: Wanted) -> None:
    from viva.reports import items as report

    if wanted.chart is not None:
        _only(found, "--chart")
    examined = [_examined(one, wanted) for one in found]
    notes = [note for one in examined for note in report.notes_on(one)]
    if wanted.chart is not None:
        from viva.reports.charts import save
        from viva.reports.charts.items import chart

        save(chart(examined[0]), wanted.chart)
    if wanted.format == "json":
        emit(report.items_json(examined, notes), wanted.out)
    elif wanted.format == "csv":
        emit(report.items_csv(examined), wanted.out)
    else:
        grids = [grid for one in examined for grid in report.item_grids(one, wanted.items)]
        legend = [report.LEGEND, *([report.RESPONSE] if wanted.irt else [])]
        emit(_told((grids, [*legend, *dict.fromkeys(notes)]), wanted), wanted.out)


def _examined(one: Gathered, wanted: Wanted) -> Examined:
    import numpy as np

    from viva.analysis.itemresponse import fit
    from viva.analysis.itemscores import item_scores
    from viva.analysis.itemstatistics import item_statistics
    from viva.errors import DataError
    from viva.reports.items import Examined

    scores = item_scores(one.exam, one.frames, one.headline)
    notes = list(one.notes)
    heard = np.atleast_1d(np.isfinite(scores.scores).any(axis=1))
    if not heard.any():
        raise DataError(f"{one.exam}: no answer of any model has a score yet")
    if not heard.all():
        silent = ", ".join(name for name, known in zip(scores.models, heard, strict=True) if not known)
        notes.append(f"{one.exam}: left out, as they have no score at all: {silent}.")
        scores = scores.of(heard, np.ones(len(scores.questions), dtype=bool))
    fits: tuple[Fitted, ...] = ()
    if wanted.irt:
        shares = np.clip(scores.scores, 0.0, 1.0)
        below = int((scores.scores < 0).sum())
        if below:
            notes.append(f"{one.exam}: {below:,} scores below 0 count as 0 in the item-response model.")
        fits = (fit(shares, wanted.irt),)
        if fits[0].log_likelihood is not None:  # else there is nothing to compare two models by
            fits = (*fits, fit(shares, "1pl" if wanted.irt == "2pl" else "2pl"))
    return Examined(scores=scores, statistics=item_statistics(scores.scores), fits=fits, notes=tuple(notes))


def _choose_anchors(one: Gathered, wanted: Wanted) -> None:
    from viva.cli.itemanchors import chosen
    from viva.reports import anchors as report

    assert wanted.anchors is not None
    found, validation, notes = chosen(one, wanted.anchors, wanted.seed)
    notes += report.anchor_notes(found, validation)
    if wanted.format == "json":
        emit(report.anchors_json(found, validation, notes), wanted.out)
        return
    if wanted.format == "csv":
        emit(report.anchors_csv(found), wanted.out)
        return
    grids = report.anchor_grids(found, validation, wanted.items)
    closing = [report.LEGEND, *notes]
    if wanted.out is None or wanted.out.suffix.lower() != ".csv":
        emit(_told((grids, closing), wanted), wanted.out)
        return
    emit(report.anchors_csv(found), wanted.out)  # FILE.csv keeps the anchors; how good they are is still to be read
    wanted.out = None
    emit(_told((grids, closing), wanted), None)


def _only(found: Sequence[Gathered], option: str) -> Gathered:
    if len(found) > 1:
        names = ", ".join(one.exam for one in found)
        raise VivaError(f"{option} is about one exam, and the sources have several: choose one by --exam: {names}")
    return found[0]


def _refuse_contradictions(sources: Sequence[Path], wanted: Wanted) -> None:
    if wanted.predict:
        if sources:
            raise VivaError(f"--predict reads the runs that it names, and {sources[0]} is one more: leave it out")
        if wanted.anchors_file is None:
            raise VivaError(
                "--predict needs --anchors-file FILE: what `viva items RUN... --anchors N --out FILE.csv` wrote"
            )
    elif not sources:
        raise VivaError("name runs or tables of item scores, as in `viva items runs/`")
    elif wanted.anchors_file is not None:
        raise VivaError("--anchors-file goes with --predict; to keep chosen anchors say --anchors N --out FILE.csv")
    modes = {"--predict": bool(wanted.predict), "--anchors": wanted.anchors is not None, "--levels": wanted.levels}
    asked = [name for name, on in modes.items() if on]
    if len(asked) > 1:
        raise VivaError(f"{asked[0]} and {asked[1]} are two questions: ask them one by one")
    for name, on in (("--irt", wanted.irt is not None), ("--chart", wanted.chart is not None)):
        if asked and on:
            raise VivaError(f"{name} belongs to the questions' statistics: leave it out with {asked[0]}")
    for option, value in (("--weaker", wanted.weaker), ("--stronger", wanted.stronger)):
        if wanted.levels and value is None:
            raise VivaError(f"--levels needs {option} MODEL: which of the models takes that part in the rule")
    parts = {"--weaker": wanted.weaker, "--stronger": wanted.stronger, "--warm": wanted.warm, "--given": wanted.given}
    for option, said in parts.items():
        if said is not None and not wanted.levels:
            raise VivaError(f"{option} {said} is for --levels; add --levels")
