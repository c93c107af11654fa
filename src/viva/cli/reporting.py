"""From a run's journals to its scores file and its tables."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import click
import msgspec

from viva.cli.examine import Examination
from viva.cli.options import Output
from viva.engine.folder import RunFolder
from viva.engine.stages import scores
from viva.errors import StorageError
from viva.reports.result import Report, Result, signature
from viva.types import ScoreRow


def grade_run(examination: Examination, output: Output) -> tuple[Report, list[ScoreRow]]:
    """Score every answer, write scores.jsonl anew, and sum up as far as `output` shows it. Asks nobody."""
    from viva.analysis.breakdown import Breakdown, frame

    record = examination.folder.record
    rows = list(_rows(examination))
    write_scores(examination.folder, rows)
    table = frame(rows)
    results: list[Result] = []
    exams = {id(exam): remembered for exam, remembered in zip(examination.exams, record.exams, strict=True)}
    for sitting in examination.sittings:
        import polars as pl

        mine = table.filter((pl.col("exam") == sitting.label) & (pl.col("model") == sitting.model.name))
        breakdown = Breakdown(mine)
        short = output.format == "terminal" and not output.all
        layouts = [layout for layout in sitting.exam.layouts() if not (layout.detail and short)]
        results.append(
            Result(
                exam=sitting.label,
                benchmark=sitting.exam.spec.benchmark,
                language=sitting.exam.spec.language,
                model=sitting.model.name,
                overall=breakdown.cell(sitting.exam.headline()),
                tables=tuple(breakdown.table(layout, sitting.label, sitting.model.name) for layout in layouts),
                signature=signature(record, exams[id(sitting.exam)], sitting.model.name),
            )
        )
    return Report(run=str(examination.folder.path), results=tuple(results), notes=tuple(examination.notes())), rows


def _rows(examination: Examination) -> Iterator[ScoreRow]:
    folder = examination.folder
    with ExitStack() as stack:
        answers = folder.journal("responses")
        stack.callback(answers.close)
        verdicts = None
        if examination.bench:
            verdicts = folder.journal("annotations")
            stack.callback(verdicts.close)
        for sitting in examination.sittings:
            yield from scores(sitting, answers, examination.bench, verdicts)


def write_scores(folder: RunFolder, rows: list[ScoreRow]) -> None:
    """scores.jsonl, replaced as a whole: it is derived, and half of it would be a lie."""
    encode = msgspec.json.Encoder().encode
    partial = folder.path / ".scores.jsonl.partial"
    try:
        with partial.open("wb") as out:
            out.writelines(encode(row) + b"\n" for row in rows)
        partial.replace(folder.path / "scores.jsonl")
    except OSError as problem:
        partial.unlink(missing_ok=True)
        raise StorageError(
            f"cannot write {folder.path / 'scores.jsonl'}: {problem.strerror}; "
            "the answers are safe, `viva score` tries again"
        ) from None


def print_report(report: Report, output: Output) -> None:
    """Print or write the tables in the form asked for."""
    from viva.reports.formats import FORMATS, as_terminal

    if output.format == "terminal":
        terminal = output.out is None and sys.stdout.isatty()
        width = None
        if terminal:
            import shutil

            width = shutil.get_terminal_size().columns
        text = as_terminal(report, details=output.all, width=width, colour=terminal)
    else:
        text = FORMATS[output.format](report)
    emit(text, output.out)


def emit(text: str, out: Path | None) -> None:
    """To a file, or to standard output."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StorageError(f"cannot write {out}: {problem.strerror}") from None
