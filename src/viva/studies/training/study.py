"""Scores of checkpoints in the order of training."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.training import Point, Training, training
from viva.commands import command
from viva.engine.folder import ModelRecord, RunFolder
from viva.errors import DataError, flag
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.model_names import AXES, HF, Checkpoint, Checkpoints, read_checkpoints
from viva.studies.item_scores import AUTO, PAPERS_MEAN, Runs, ScoreSet, score_sets
from viva.studies.training.chart import training_chart
from viva.studies.training.tables import findings
from viva.visible import one_line, some


class TrainingConfig(Struct, kw_only=True):
    """Put the scores of RUN... (run folders, a folder of runs, or tables of item scores) in the order of training: a
    curve a format with 95 % intervals, over training tokens on a logarithmic axis.

    \b
    viva run syneval --checkpoints steps.csv --run runs/steps
    viva training runs/steps
    viva training runs/steps --chart figure.svg
    viva training runs/a runs/b --checkpoints steps.csv
    """

    runs: Runs
    checkpoints: Annotated[
        Path | None,
        note(
            "CSV that says how far each was trained: `model,tokens` (or `run,tokens`; also base_url, "
            "revision, steps).  [default: as the runs say, which were told by --revision NAME=TOKENS or a file]",
            metavar="FILE",
        ),
    ] = None
    by: Annotated[
        str | None,
        note(
            "A curve for each column of this table of models, or value of this tag.  [default: the exam's "
            "first such table; format]",
            metavar="TABLE|TAG",
        ),
    ] = None
    macro_average: Annotated[
        str | None, note(f"The overall curve averages the values of this tag first; {PAPERS_MEAN}", metavar="TAG")
    ] = None


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

    def of(self, one: ScoreSet) -> Checkpoint | None:
        """Return what is known of a model; None if nothing is. Raises DataError where a file says it twice, or not how
        far.
        """
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

    def twice(self, row: Checkpoint, one: ScoreSet, earlier: ScoreSet) -> DataError:
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
            f"nothing says how far these were trained: {strangers}; viva training and viva run take a file "
            f"(`model,tokens`), {flag('checkpoints', 'FILE')}; viva run also takes {flag('revision', 'NAME=TOKENS')}"
        )

    def _recorded(self, one: ScoreSet) -> ModelRecord | None:
        """Return a model as its run remembers it; None in a table, and where an earlier Viva did not say what it calls
        it.
        """
        if one.source not in self._records:
            models = RunFolder.open(one.source).record.models if one.source.is_dir() else []
            self._records[one.source] = {model.shown: model for model in models if model.shown}
        return self._records[one.source].get(one.model)


@command(TrainingConfig, chart="Also draw it")
def study(config: TrainingConfig) -> Findings[tuple[Training, ...]]:
    """Scores of the checkpoints of one model over its training: a curve a format with 95 % intervals.

    Raises DataError where no model's training is known.
    """
    progress = Progress(read_checkpoints(config.checkpoints) if config.checkpoints else None)
    found, notes = _trainings(config.runs, progress, config)
    return findings(tuple(found), notes, partial(training_chart, found))


def _trainings(runs: Sequence[Path], progress: Progress, config: TrainingConfig) -> tuple[list[Training], list[str]]:
    """Return a curve an exam, and what was left out."""
    points: dict[str, list[Point]] = {}
    places: dict[tuple[str, Checkpoint], ScoreSet] = {}
    strangers: dict[str, None] = {}
    for one in score_sets(runs, config.by or AUTO, config.macro_average):
        row = progress.of(one)
        if row is None or row.at is None:
            strangers[f"{one_line(one.model, 60)} of {one.source}"] = None
            continue
        if earlier := places.get((one.exam, row)):
            raise progress.twice(row, one, earlier)
        places[one.exam, row] = one
        point = Point(checkpoint=row.revision or one.model, at=row.at, cells=one.measured())
        points.setdefault(one.exam, []).append(point)
    if not points:
        raise progress.nothing(some(list(strangers), 5))
    trainings = [training(exam, progress.axis, found) for exam, found in points.items()]
    return trainings, _notes(progress.checkpoints, points, places, strangers)


def _notes(
    checkpoints: Checkpoints | None,
    points: dict[str, list[Point]],
    places: dict[tuple[str, Checkpoint], ScoreSet],
    strangers: dict[str, None],
) -> list[str]:
    notes: list[str] = []
    if strangers:
        why = (
            f"{checkpoints.path.name} has no row for them" if checkpoints else "nothing says how far they were trained"
        )
        notes.append(f"Left out, since {why}: {some(list(strangers), 3)}.")
    rows = checkpoints.rows if checkpoints else ()
    for exam, here in points.items():
        missing = [row for row in rows if (exam, row) not in places]
        if missing:
            names = some([one_line(row.revision or row.model or row.run, 60) for row in missing], 3)
            notes.append(f"{exam}: no scores of {names} ({len(missing)} of {len(rows)}).")
        sizes = {max(cell.n for cell in point.cells.values()) for point in here}
        if len(sizes) > 1:
            notes.append(
                f"{exam}: the checkpoints did not get the same number of answers ({min(sizes):,} to {max(sizes):,})."
            )
    return notes
