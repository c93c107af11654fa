"""Tables and texts on their way out: to the terminal or to a file."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from viva.errors import StorageError, VivaError
from viva.fields import pick
from viva.render.result import Report
from viva.runs.config import OutputOptions

if TYPE_CHECKING:
    from viva.render.findings import Findings

C = TypeVar("C", bound=Struct)


def show_study(study: Callable[[C], Findings[Any]], config: type[C], given: Mapping[str, Any]) -> Findings[Any]:
    """Call a study with a command's options; draw and print what it found as --chart, --format and --out say."""
    out, picture = given["out"], given.get("chart")
    if "chart" in given and out is not None and out.suffix.lower() == ".svg":
        raise VivaError(f"--out {out} is for tables; --chart {out} draws")
    output = pick(OutputOptions, given)
    form = output.form
    check_writable(out)
    result = study(pick(config, given))
    if picture is not None:
        from viva.render.charts import save

        chart = result.chart()
        if chart is None:
            raise VivaError(f"--chart {picture}: there is nothing to draw of this; leave it out")
        save(chart, picture)
    if not result.empty:
        _print_study(result, form, out, everything=output.all)
        if result.announced and out is not None and form == "csv":
            _print_study(result, "terminal", None, everything=output.all)
    if result.verdict:
        click.echo(f"viva: {result.verdict}", err=True)
    return result


def _print_study(result: Findings[Any], form: str, out: Path | None, *, everything: bool) -> None:
    """Print or write what a study found: one screen, or everything where it is asked for, and in files."""
    width, colour = screen(out)
    if form == "terminal" and out is None and not everything:
        text = result.to_screen(width, colour=colour)
    else:
        try:
            text = result.to_text(form, width=width, colour=colour)
        except VivaError as problem:
            raise VivaError(f"{f'--out {out}' if out else f'--format {form}'}: {problem}") from None
    emit(text, out)


def print_report(report: Report, output: OutputOptions) -> None:
    """Print or write a run's results: one screen, or the tables in the form asked for."""
    from viva.render.run_tables import findings

    result = findings(report, details=output.everything)
    _print_study(result, output.form, output.out, everything=output.tables or output.all)


def show_line(line: str, hanging: int = 0) -> None:
    """Print a line no wider than the terminal; what goes on in a next one is set in by so many columns."""
    from viva.render.terminal import folded

    width, _ = screen(None)
    text = folded(line[hanging:], max(width - hanging, 20)) if width else line[hanging:]
    click.echo(line[:hanging] + text.replace("\n", "\n" + " " * hanging))


def screen(out: Path | None) -> tuple[int | None, bool]:
    """Return how tables are set: the terminal's width and True for colours, or (None, False) for a file or a pipe."""
    if out is not None or not sys.stdout.isatty():
        return None, False
    return shutil.get_terminal_size().columns, os.environ.get("TERM") != "dumb"


def check_writable(out: Path | None, option: str = "--out") -> None:
    """Refuse a file that cannot be written before hours are spent on what it should hold."""
    if out is not None and (out.is_dir() or not out.absolute().parent.is_dir()):
        raise VivaError(f"{option} {out}: write the name of a file, in a folder that exists")


def emit(text: str, out: Path | None) -> None:
    """To a file, or to standard output."""
    if out is None:
        click.echo(text, nl=False)
        return
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise StorageError(f"cannot write {out}: {problem.strerror}") from None


def typed() -> tuple[str, ...]:
    """Return the command line, for run.json."""
    return ("viva", *sys.argv[1:])
