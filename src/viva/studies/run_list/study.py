"""List of the runs in a folder: models, exams, results, unfinished work."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.commands import command
from viva.engine.budget import Consumed
from viva.engine.folder import RunFolder, RunRecord, writer
from viva.errors import VivaError
from viva.fields import note
from viva.render.findings import Findings
from viva.render.result import Result
from viva.runs.answers import read_run
from viva.runs.following import STAGES, Followed
from viva.runs.scorefile import fault, runs_in
from viva.runs.state import graded_parts, progress_of, waiting
from viva.studies.run_list.tables import ListedRun, findings

SHOWN = 20
"""The number of newest runs shown without --all."""


class RunsConfig(Struct, kw_only=True):
    """List the runs in FOLDER (runs/ by default), the newest first: when, which models on which exams, their scores and
    cost, and what is left to do. Nothing is asked and nothing graded: numbers are those of scores.jsonl.

    \b
    viva runs
    viva runs /data/runs --all
    viva runs --json
    """

    folder: Annotated[Path, note("Folder of runs.", argument=True)] = Path("runs")
    all: Annotated[bool, note("All of them.")] = False


@command(RunsConfig)
def study(config: RunsConfig) -> Findings[tuple[ListedRun, ...]]:
    """The newest runs of a folder. Raises VivaError where it holds none. What is wrong with one run is said of it."""
    paths = sorted(runs_in(config.folder), key=lambda path: (-(path / "run.json").lstat().st_mtime, path.name))
    shown = paths if config.all else paths[:SHOWN]
    return findings(tuple(map(_listed, shown)), len(paths) - len(shown))


def _listed(path: Path) -> ListedRun:
    try:
        record = RunFolder.open(path).record
    except VivaError as problem:
        return ListedRun(path=str(path), state=str(problem))
    try:
        state, results, judging = _read(path, record)
    except VivaError as problem:
        state, results, judging = f"cannot be read: {problem}", (), {}
    return ListedRun(
        path=str(path),
        state=state,
        created=record.created,
        exams=record.labels,
        models=tuple(model.called for model in record.models),
        results=results,
        judging={judge: took.cost for judge, took in judging.items() if took.cost is not None},
        spent=record.spent.cost,
    )


def _read(path: Path, record: RunRecord) -> tuple[str, tuple[Result, ...], dict[str, Consumed]]:
    """Return a run's state, its results, and each judge's consumption. Raises VivaError."""
    results, judging = tuple[Result, ...](), dict[str, Consumed]()
    at_work, batches = writer(path), waiting(path)
    if not at_work:
        wrong = fault(path)
        if wrong is None or wrong.kind == "unrecorded":
            graded = read_run(path, "none")
            results, judging = graded.report.results, graded.judging
        elif not batches.batches:
            again = f"grade again: viva score {path} ({wrong.why}); if it was stopped: viva resume {path}"
            return f"not graded: viva resume {path}" if wrong.kind == "missing" else again, results, judging
    stages = {stage: Followed(path / f"{stage}.jsonl") for stage in STAGES}
    answers = stages.pop("responses")  # results count them by score
    for stage in stages.values():
        stage.refresh()
    progress = progress_of(
        record, 0, answers, stages, graded_parts(results), results, writer=at_work, now=0.0, waiting=batches
    )
    return progress.brief, results, judging
