"""`viva view`: runs in the browser, also while they are running."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cli.serving_options import token_options
from viva.errors import VivaError

if TYPE_CHECKING:
    from viva.engine.stages import Gathered, Sitting
    from viva.reports.result import Result
    from viva.runs.open import Examination
    from viva.types import ScoreRow
    from viva.viewing.opened import Opened, Tables

RUNS = Path("runs")


@click.command(name="view", short_help="Browse runs in the browser, also while they are running.")
@click.argument("path", metavar="[RUN|FOLDER]", type=click.Path(path_type=Path), default=RUNS)
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to serve; any other host needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8471, show_default=True, help="0 takes a port that is free."
)
@token_options
def view_command(path: Path, host: str, port: int, token: str) -> int:
    """Serve the runs of FOLDER (runs/ if left out), or one RUN, to look at: a page on this machine.

    Progress, tables as far as answers are in, and every answer with its prompt and verdict. Nothing is written, no lock
    is taken: what is running goes on, and can be looked at.

    \b
    viva view                                  all runs in runs/
    viva view runs/NAME                        one of them
    viva view /data/runs --host 0.0.0.0        for others, with the token that is printed
    """
    from viva.viewing.server import serve

    if not path.is_dir():
        missing = "there is no such folder" if not path.exists() else "it is a file"
        raise VivaError(f"{path}: {missing}; name a run folder or a folder of runs (`viva run` makes them in runs/)")

    def announce(address: str) -> None:
        click.echo(f"{path} at {address}  (Ctrl-C ends it)")

    serve(path, open_run, host=host, port=port, token=token, announce=announce)
    return 0


def open_run(path: Path) -> Opened:
    """A run as the pages look at it. Raises VivaError where its questions or models cannot be opened."""
    from viva.engine.folder import RunFolder
    from viva.reports.result import signature
    from viva.runs.config import Limits
    from viva.runs.open import gather, prepare
    from viva.viewing.opened import Opened

    folder = RunFolder.open(path)
    record = folder.record
    examination = prepare(folder, Limits(progress="quiet"))

    def gathered(stack: ExitStack) -> Gathered:
        return gather(examination, stack)

    exams = dict(zip(map(id, examination.exams), record.exams, strict=True))
    models = dict(zip((model.name for model in examination.examinees), record.models, strict=True))
    signatures = [
        signature(record, exams[id(sitting.exam)], sitting.model.name, models[sitting.model.name])
        for sitting in examination.sittings
    ]

    def tables(rows: Sequence[Sequence[ScoreRow]]) -> Tables:
        return tables_so_far(examination, rows, signatures)

    return Opened(sittings=examination.sittings, signatures=signatures, gather=gathered, tables=tables)


def tables_so_far(examination: Examination, rows: Sequence[Sequence[ScoreRow]], signatures: Sequence[str]) -> Tables:
    """The tables that `viva score` would print of these rows, one list of them a sitting."""
    from viva.reports.result import across_models, footnotes, grid, side_by_side, summary
    from viva.viewing.opened import Tables

    judged = bool(examination.folder.record.judges)
    results = [
        _result(sitting, own, said, judged)
        for sitting, own, said in zip(examination.sittings, rows, signatures, strict=True)
    ]
    each = [
        (result.exam, result.model, [grid(table) for table in result.tables if not table.across or len(results) == 1])
        for result in results
    ]
    first = [summary(results), *across_models(results), *side_by_side(results)]
    return Tables(first=first, each=each, notes=[*footnotes(results), *examination.notes()])


def _result(sitting: Sitting, rows: Sequence[ScoreRow], said: str, judged: bool) -> Result:
    from viva.analysis.breakdown import Breakdown, frame
    from viva.reports.result import Result

    breakdown = Breakdown(frame(rows), sitting.exam.headline().attempts)
    return Result(
        exam=sitting.label,
        benchmark=sitting.exam.spec.benchmark,
        language=sitting.exam.spec.language,
        model=sitting.model.name,
        overall=breakdown.cell(sitting.exam.headline()),
        tables=tuple(breakdown.table(layout, sitting.label, sitting.model.name) for layout in sitting.exam.layouts()),
        signature=said,
        judged=judged,
    )
