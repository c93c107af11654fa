"""The runs of a folder: what was asked, what came of it, what is left to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.commands import command
from viva.engine.folder import RunFolder, RunRecord, writer
from viva.errors import VivaError
from viva.fields import note
from viva.render.findings import Findings
from viva.render.result import Result
from viva.runs.answers import read_run
from viva.runs.scorefile import fault, runs_in
from viva.studies.run_list.tables import ListedRun, findings
from viva.types import NOT_ASKED, outcome_name

SHOWN = 20
"""The newest runs; more with --all."""


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
        return ListedRun(path=str(path), state=f"damaged: {problem}")
    known = ListedRun(
        path=str(path),
        created=record.created,
        exams=record.labels,
        models=tuple(model.called for model in record.models),
        spent=record.spent.cost,
    )
    if writer(path):
        recorded = all(model.name.startswith("replay/") for model in record.models)
        return known.ended("being graded" if recorded else "running")
    try:
        wrong = fault(path)
        if wrong is not None and wrong.kind != "unrecorded":
            graded = wrong.kind != "missing"
            return known.ended(
                f"grade again: viva score {path} ({wrong.why})" if graded else f"not graded: viva resume {path}"
            )
        found = read_run(path, "none")
    except VivaError as problem:
        return known.ended(f"cannot be read: {problem}")
    return known.ended(
        _state(record, found.report.results),
        found.report.results,
        {judge: took.cost for judge, took in found.judging.items() if took.cost is not None},
    )


def _state(record: RunRecord, results: Sequence[Result]) -> str:
    """Return what is left to do in a graded run: answers that never came, and answers that a judge or a sandbox
    left.
    """
    left = Counter[str]()
    for result in results:
        model = record.model(result.model)
        from_file = (model.name if model else result.model).startswith("replay/")
        outcomes = Counter(result.overall.outcomes)
        left["not in the answer file" if from_file else "unanswered"] += outcomes["error"]  # a file is asked in vain
        left["unanswered"] += outcomes[NOT_ASKED]
        left[outcome_name("ungraded")] += outcomes["ungraded"]
    said = [f"{number:,} {what}" for what, number in left.items() if number]
    # Without a judge a run is as whole as it can be.
    ended = not left["unanswered"] and not (left[outcome_name("ungraded")] and record.judges)
    whole = ["estimated"] if record.adaptive else ["done"] if ended else []
    return ", ".join([*whole, *said])
