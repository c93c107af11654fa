"""`viva training`: scores of many checkpoints of one model over its training."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from viva.cli.checkpoints import Checkpoints, read_checkpoints
from viva.cli.options import pick
from viva.cli.reporting import check_writable, emit
from viva.cli.scored import PLAIN, Scored, scored
from viva.errors import DataError, VivaError
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.training import Point, Training

SUFFIXES = {".svg": "svg", ".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}
"""What an --out of that name holds, where --format does not say."""


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    checkpoints: Path
    by: str | None = None
    over: str | None = None
    format: str | None = None
    out: Path | None = None


@click.command(name="training", short_help="Scores over training: many checkpoints of one model.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--checkpoints",
    required=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV that says how far each was trained: `model,tokens` (or `run,tokens`; also base_url, revision, steps).",
)
@click.option(
    "--by",
    metavar="TABLE|TAG",
    help="A curve for each column of this table of models, or value of this tag.  [default: the exam's first such "
    "table; format]",
)
@click.option(
    "--over",
    metavar="TAG",
    help=f"The overall curve averages the values of this tag first; `{PLAIN}`: the plain mean.  [default: the paper's]",
)
@click.option(
    "--format",
    type=click.Choice(["terminal", "json", "csv", "markdown", "latex", "svg"]),
    help="How it is printed.  [default: as the name of --out says, else terminal]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file instead: .svg, .csv, .json, .md, .tex.")
def training_command(runs: tuple[Path, ...], **given: Any) -> int:
    """Put the scores of RUN... (run folders, a folder of runs, or tables of item scores) in the order of training: a
    curve a format with 95 % intervals, over training tokens on a logarithmic axis.

    \b
    viva run syneval --checkpoints steps.csv --run runs/steps
    viva training runs/steps --checkpoints steps.csv
    viva training runs/steps --checkpoints steps.csv --out figure.svg
    """
    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    form = wanted.format or (SUFFIXES.get(wanted.out.suffix.lower(), "terminal") if wanted.out else "terminal")
    checkpoints = read_checkpoints(wanted.checkpoints)
    if not checkpoints.axis:
        raise DataError(f"{checkpoints.path}, line 1: no column `tokens` (or `steps`): how far was each one trained?")
    found, notes = _found(runs, checkpoints, wanted)
    if form == "svg" and len(found) > 1:
        raise VivaError(
            f"an SVG file shows one exam, and here are {', '.join(one.exam for one in found)}: name the runs of one"
        )
    emit(_printed(found, notes, form, wanted), wanted.out)
    return 0


def _found(runs: tuple[Path, ...], checkpoints: Checkpoints, wanted: Wanted) -> tuple[list[Training], list[str]]:
    from viva.analysis.training import Point, measured, training

    points: dict[str, list[Point]] = {}
    places: dict[tuple[str, int], Scored] = {}
    strangers: dict[str, None] = {}
    for one in scored(runs, wanted.by, wanted.over):
        row = checkpoints.find(one.source, one.model)
        if row is None:
            strangers[f"{one_line(one.model, 60)} of {one.source}"] = None
            continue
        if row.at is None:
            raise DataError(f"{checkpoints.path}, line {row.line}: how far was {one_line(one.model, 60)} trained?")
        if earlier := places.get((one.exam, row.line)):
            raise DataError(
                f"{checkpoints.path}, line {row.line} is {one_line(one.model, 60)} of both {earlier.source} and "
                f"{one.source}: name one of them, or tell them apart in a column `run`"
            )
        places[one.exam, row.line] = one
        cells = measured(one.scores, one.lines, one.headline.attempts)
        points.setdefault(one.exam, []).append(Point(checkpoint=row.revision or one.model, at=row.at, cells=cells))
    if not points:
        listed = ", ".join(list(strangers)[:5])
        raise DataError(f"{checkpoints.path} has no row for what the runs hold: {listed}")
    return [training(exam, checkpoints.axis, found) for exam, found in points.items()], _notes(
        checkpoints, points, places, strangers
    )


def _notes(
    checkpoints: Checkpoints,
    points: dict[str, list[Point]],
    places: dict[tuple[str, int], Scored],
    strangers: dict[str, None],
) -> list[str]:
    notes: list[str] = []
    if strangers:
        first = ", ".join(list(strangers)[:3]) + (", …" if len(strangers) > 3 else "")
        notes.append(f"Left out, since {checkpoints.path.name} has no row for them: {first}.")
    for exam, here in points.items():
        missing = [row for row in checkpoints.rows if (exam, row.line) not in places]
        if missing:
            names = [one_line(row.revision or row.model or row.run, 60) for row in missing[:3]]
            more = ", …" if len(missing) > 3 else ""
            notes.append(f"{exam}: no scores of {', '.join(names)}{more} ({len(missing)} of {len(checkpoints.rows)}).")
        sizes = {max(cell.n for cell in point.cells.values()) for point in here}
        if len(sizes) > 1:
            notes.append(
                f"{exam}: the checkpoints did not get the same number of answers ({min(sizes):,} to {max(sizes):,})."
            )
    return notes


def _printed(found: list[Training], notes: list[str], form: str, wanted: Wanted) -> str:
    from viva.reports import training as report

    if form != "terminal":
        return report.FORMATS[form](found, notes)
    terminal = wanted.out is None and sys.stdout.isatty()
    width = shutil.get_terminal_size().columns if terminal else None
    return report.as_terminal(found, notes, width=width, colour=terminal)
