"""Scores of checkpoints in the order of training."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.training import Point, Training, training
from viva.commands import command
from viva.errors import DataError, flag
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.model_names import AXES, HF, Checkpoint, Checkpoints, read_checkpoints
from viva.studies.item_scores import AUTO, PAPERS_MEAN, OnlyExams, Runs, ScoreSet, score_sets
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
    exam: OnlyExams = ()


@command(TrainingConfig, chart="Also draw it")
def study(config: TrainingConfig) -> Findings[tuple[Training, ...]]:
    """Scores of the checkpoints of one model over its training: a curve a format with 95 % intervals.

    Raises DataError where no model's training is known.
    """
    file = read_checkpoints(config.checkpoints) if config.checkpoints else None
    axis = file.axis if file else AXES["tokens"]
    if file and not axis:
        raise DataError(f"{file.path}, line 1: no column `tokens` (or `steps`): how far was each one trained?")
    points: dict[str, list[Point]] = {}
    places: dict[tuple[str, Checkpoint], ScoreSet] = {}
    strangers: dict[str, None] = {}
    for each in score_sets(config.runs, config.by or AUTO, config.macro_average, exams=config.exam):
        row = _trained(each, file)
        if row is None or row.at is None:
            strangers[f"{one_line(each.model)} of {each.source}"] = None
            continue
        if earlier := places.get((each.exam, row)):
            both = f"{one_line(each.model)} of both {earlier.source} and {each.source}"
            if file is None:
                raise DataError(f"here is {both}: name one of them")
            raise DataError(
                f"{file.path}, line {row.line} is {both}: name one of them, or tell them apart in a column `run`"
            )
        places[each.exam, row] = each
        point = Point(checkpoint=row.revision or each.model, at=row.at, cells=each.measured())
        points.setdefault(each.exam, []).append(point)
    if not points:
        unknown = some(list(strangers), 5)
        if file:
            raise DataError(f"{file.path} has no row for what the runs hold: {unknown}")
        raise DataError(
            f"nothing says how far these were trained: {unknown}; viva training and viva run take a file "
            f"(`model,tokens`), {flag('checkpoints', 'FILE')}; viva run also takes {flag('revision', 'NAME=TOKENS')}"
        )
    trainings = tuple(training(exam, axis, here) for exam, here in points.items())
    return findings(trainings, _notes(file, points, places, strangers), partial(training_chart, trainings))


def _trained(each: ScoreSet, file: Checkpoints | None) -> Checkpoint | None:
    """Return a model's training so far, from a file, or else from its run; None if neither has it. Raises DataError
    where the file has the model twice, or without its training.
    """
    record = each.opened if each.opened and each.opened.shown == each.model else None  # else of an older version's run
    if file is None:
        if record is None or record.trained is None:
            return None
        return Checkpoint(line=0, model=record.name, base_url=record.base_url or "", at=record.trained)
    row = file.find(each.source, each.model, record.name if record and record.name.startswith(HF) else "")
    if row and row.at is None:
        raise DataError(f"{file.path}, line {row.line}: how far was {one_line(each.model)} trained?")
    return row


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
            names = some([one_line(row.revision or row.model or row.run) for row in missing], 3)
            notes.append(f"{exam}: no scores of {names} ({len(missing)} of {len(rows)}).")
        sizes = {max(cell.n for cell in point.cells.values()) for point in here}
        if len(sizes) > 1:
            notes.append(
                f"{exam}: the checkpoints did not get the same number of answers ({min(sizes):,} to {max(sizes):,})."
            )
    return notes
