"""`viva training`: scores of many checkpoints of one model over its training."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from viva.cli.analysisoptions import chart_option
from viva.cli.output import check_writable, emit, screen
from viva.engine.folder import ModelRecord, RunFolder
from viva.errors import DataError, VivaError
from viva.runs.checkpoints import AXES, Checkpoint, Checkpoints, read_checkpoints
from viva.runs.config import pick
from viva.runs.item_scores import PLAIN, WHATEVER, Scored, scored
from viva.runs.model_paths import HF
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.analysis.training import Point, Training

SUFFIXES = {".csv": "csv", ".json": "json", ".md": "markdown", ".tex": "latex"}
"""What an --out of that name holds, where --format does not say."""


class Wanted(Struct, kw_only=True):
    """What is to be told, and how."""

    checkpoints: Path | None = None
    by: str | None = None
    over: str | None = None
    format: str | None = None
    out: Path | None = None
    chart: Path | None = None


@click.command(name="training", short_help="Scores over training: many checkpoints of one model.")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "--checkpoints",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="CSV that says how far each was trained: `model,tokens` (or `run,tokens`; also base_url, revision, steps).  "
    "[default: as the runs say, which were told by --revision NAME=TOKENS or a file]",
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
    type=click.Choice(["terminal", "json", "csv", "markdown", "latex"]),
    help="How it is printed.  [default: as the name of --out says, else terminal]",
)
@click.option("--out", type=click.Path(path_type=Path), help="Write to a file instead: .csv, .json, .md, .tex.")
@chart_option("Also draw it")
def training_command(runs: tuple[Path, ...], **given: Any) -> int:
    """Put the scores of RUN... (run folders, a folder of runs, or tables of item scores) in the order of training: a
    curve a format with 95 % intervals, over training tokens on a logarithmic axis.

    \b
    viva run syneval --checkpoints steps.csv --run runs/steps
    viva training runs/steps
    viva training runs/steps --chart figure.svg
    viva training runs/a runs/b --checkpoints steps.csv
    """
    wanted = pick(Wanted, given)
    check_writable(wanted.out)
    if wanted.out is not None and wanted.out.suffix.lower() == ".svg":
        raise VivaError(f"--out {wanted.out} is for tables; --chart {wanted.out} draws")
    form = wanted.format or (SUFFIXES.get(wanted.out.suffix.lower(), "terminal") if wanted.out else "terminal")
    progress = Progress(read_checkpoints(wanted.checkpoints) if wanted.checkpoints else None)
    found, notes = _found(runs, progress, wanted)
    if wanted.chart and len(found) > 1:
        exams = ", ".join(one.exam for one in found)
        raise VivaError(f"--chart {wanted.chart}: a chart shows one exam, and here are {exams}: name the runs of one")
    emit(_printed(found, notes, form, wanted), wanted.out)
    if wanted.chart:
        from viva.reports import charts
        from viva.reports.charts.training import training_chart

        charts.save(training_chart(found[0]), wanted.chart)
    return 0


class Progress:
    """How far each model was trained: as a file says, or else as the runs do."""

    def __init__(self, checkpoints: Checkpoints | None) -> None:
        if checkpoints and not checkpoints.axis:
            raise DataError(
                f"{checkpoints.path}, line 1: no column `tokens` (or `steps`): how far was each one trained?"
            )
        self.checkpoints = checkpoints
        self.axis = checkpoints.axis if checkpoints else AXES["tokens"]
        self._records: dict[Path, dict[str, ModelRecord]] = {}

    def of(self, one: Scored) -> Checkpoint | None:
        """What is known of a model; None if nothing is. Raises DataError where a file says it twice, or not how far."""
        record = self._recorded(one)
        if self.checkpoints is None:
            if record is None or record.trained is None:
                return None
            return Checkpoint(line=0, model=record.name, base_url=record.base_url or "", at=record.trained)
        weights = record.name if record and record.name.startswith(HF) else ""
        row = self.checkpoints.find(one.source, one.model, weights)
        if row and row.at is None:
            raise DataError(f"{self.checkpoints.path}, line {row.line}: how far was {one_line(one.model, 60)} trained?")
        return row

    def twice(self, row: Checkpoint, one: Scored, earlier: Scored) -> DataError:
        """Two runs hold the same checkpoint."""
        both = f"{one_line(one.model, 60)} of both {earlier.source} and {one.source}: name one of them"
        if self.checkpoints is None:
            return DataError(f"here is {both}")
        return DataError(f"{self.checkpoints.path}, line {row.line} is {both}, or tell them apart in a column `run`")

    def nothing(self, strangers: str) -> DataError:
        """None of the models is known."""
        if self.checkpoints:
            return DataError(f"{self.checkpoints.path} has no row for what the runs hold: {strangers}")
        return DataError(
            f"nothing says how far these were trained: {strangers}; name a file, --checkpoints FILE (`model,tokens`), "
            "or say it when you run them (viva run --revision NAME=TOKENS, or --checkpoints FILE)"
        )

    def _recorded(self, one: Scored) -> ModelRecord | None:
        """A model as its run remembers it; None in a table, and where an earlier Viva did not say what it calls it."""
        if one.source not in self._records:
            models = RunFolder.open(one.source).record.models if one.source.is_dir() else []
            self._records[one.source] = {model.shown: model for model in models if model.shown}
        return self._records[one.source].get(one.model)


def _found(runs: tuple[Path, ...], progress: Progress, wanted: Wanted) -> tuple[list[Training], list[str]]:
    from viva.analysis.training import Point, measured, training

    points: dict[str, list[Point]] = {}
    places: dict[tuple[str, Checkpoint], Scored] = {}
    strangers: dict[str, None] = {}
    for one in scored(runs, wanted.by or WHATEVER, wanted.over):
        row = progress.of(one)
        if row is None or row.at is None:
            strangers[f"{one_line(one.model, 60)} of {one.source}"] = None
            continue
        if earlier := places.get((one.exam, row)):
            raise progress.twice(row, one, earlier)
        places[one.exam, row] = one
        cells = measured(one.scores, one.lines, one.headline.attempts)
        points.setdefault(one.exam, []).append(Point(checkpoint=row.revision or one.model, at=row.at, cells=cells))
    if not points:
        raise progress.nothing(", ".join(list(strangers)[:5]))
    trainings = [training(exam, progress.axis, found) for exam, found in points.items()]
    return trainings, _notes(progress.checkpoints, points, places, strangers)


def _notes(
    checkpoints: Checkpoints | None,
    points: dict[str, list[Point]],
    places: dict[tuple[str, Checkpoint], Scored],
    strangers: dict[str, None],
) -> list[str]:
    notes: list[str] = []
    if strangers:
        first = ", ".join(list(strangers)[:3]) + (", …" if len(strangers) > 3 else "")
        why = (
            f"{checkpoints.path.name} has no row for them" if checkpoints else "nothing says how far they were trained"
        )
        notes.append(f"Left out, since {why}: {first}.")
    rows = checkpoints.rows if checkpoints else ()
    for exam, here in points.items():
        missing = [row for row in rows if (exam, row) not in places]
        if missing:
            names = [one_line(row.revision or row.model or row.run, 60) for row in missing[:3]]
            more = ", …" if len(missing) > 3 else ""
            notes.append(f"{exam}: no scores of {', '.join(names)}{more} ({len(missing)} of {len(rows)}).")
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
    width, colour = screen(wanted.out)
    return report.as_terminal(found, notes, width=width, colour=colour)
