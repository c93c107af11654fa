"""`viva report`: a run as one HTML file that opens without a network, or as tables."""

from __future__ import annotations

import itertools
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from msgspec import Struct

from viva.cli.options import beside_option
from viva.cli.output import check_writable, emit, print_report
from viva.engine.folder import RunFolder
from viva.errors import VivaError
from viva.runs.config import pick
from viva.runs.graded import runs_in
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.reports.answered import Answered
    from viva.reports.page.writing import Spooled
    from viva.reports.result import Report
    from viva.runs.results import Reported

FORMATS = ("html", "terminal", "json", "csv", "markdown", "latex")
DEFAULT_ITEMS = 100_000
DEFAULT_SIZE = 100.0
"""Megabytes that a report may have."""
_FRAME = 3.0
"""Of these, for all but the items: the drawing library, tables, charts."""


class Wanted(Struct, kw_only=True):
    """What is to be written, and how large it may be."""

    format: str = "html"
    out: Path | None = None
    beside: str = "nearest"
    title: str = ""
    items: int = DEFAULT_ITEMS
    max_size: float = DEFAULT_SIZE
    seed: int = 0
    all: bool = True


@click.command(name="report", short_help="A run as one HTML file that opens offline, or as tables.")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", is_flag=True, help="Write the page; what is done if no --format says otherwise.")
@click.option(
    "--format", type=click.Choice(FORMATS), default="html", show_default=True, help="A page, or the tables alone."
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to.  [default: report.html in the run, of several runs in this folder; tables are printed]",
)
@beside_option
@click.option("--title", default="", help="What the page is called.  [default: the runs' names]")
@click.option(
    "--items",
    type=click.IntRange(0),
    default=DEFAULT_ITEMS,
    show_default=True,
    help="Show so many answers at most; of more, a sample of every exam, model and outcome. All are counted.",
)
@click.option(
    "--max-size",
    type=click.FloatRange(4),
    default=DEFAULT_SIZE,
    show_default=True,
    metavar="MB",
    help="How large the page may be; answers are sampled until it is.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Draws the sample.")
def report_command(runs: tuple[Path, ...], html: bool, **given: Any) -> int:
    """Write the report of one or several graded RUNs: tables beside published ones, charts, every answer, methods.

    The page is one file: it opens from a disk, sends nothing, and can be mailed. A folder of runs stands for all of
    them. Nothing is asked and nothing graded: numbers are those of scores.jsonl.

    \b
    viva report runs/NAME                                  writes runs/NAME/report.html
    viva report runs/a runs/b --out both.html --beside gpt-4,llama3-8b
    viva report runs/NAME --format latex --out tables.tex
    """
    wanted = pick(Wanted, given)
    if html and wanted.format != "html":
        raise VivaError(f"--html and --format {wanted.format} exclude each other: give one of them")
    folders = list(dict.fromkeys(found for run in runs for found in _runs(run)))
    if wanted.out is None and wanted.format == "html":
        wanted.out = (folders[0] if len(folders) == 1 else Path()) / "report.html"
    check_writable(wanted.out)
    from viva.runs.results import read_run

    read = [read_run(folder, wanted.beside) for folder in folders]
    names = _names(read)
    report = _together(read, names)
    if wanted.format == "html":
        return _page(read, names, report, wanted)
    if wanted.format == "terminal":
        from viva.runs.config import Output

        print_report(report, Output(format="terminal", out=wanted.out, all=True))
    else:
        from viva.reports.formats import FORMATS as RENDERERS

        emit(RENDERERS[wanted.format](report), wanted.out)
    return 0


def _runs(path: Path) -> list[Path]:
    """The folder itself where it is a run, else all runs in it."""
    if not path.is_dir():
        RunFolder.open(path)  # says what it is not
    return runs_in(path)


Names = dict[tuple[int, str, str], str]
"""(number of the run, exam, model) → what the report calls the model."""


def _names(read: Sequence[Reported]) -> Names:
    """Models by their names; with the run's where one sat an exam in several runs."""
    times = Counter((result.exam, result.model) for run in read for result in run.results)
    return {
        (number, result.exam, result.model): result.model
        if times[result.exam, result.model] == 1
        else f"{result.model} ({run.folder.path.name})"
        for number, run in enumerate(read)
        for result in run.results
    }


def _together(read: Sequence[Reported], names: Names) -> Report:
    from viva.reports.result import Report

    results = [
        msgspec.structs.replace(result, model=name, tables=tuple(_named(table, name) for table in result.tables))
        for number, run in enumerate(read)
        for result in run.results
        for name in (names[number, result.exam, result.model],)
    ]
    notes = list(dict.fromkeys(note for run in read for note in run.notes))
    return Report(
        run=", ".join(str(run.folder.path) for run in read),
        results=tuple(results),
        notes=(*_uneven(results), *notes),
        canaries=tuple(one for run in read for one in run.canaries),
    )


def _named(table: Any, name: str) -> Any:
    return table if table.model == name else msgspec.structs.replace(table, model=name)


def _uneven(results: Sequence[Any]) -> Iterator[str]:
    """Exams of one label that were asked in different ways: their rows are no comparison of models."""
    for exam in dict.fromkeys(result.exam for result in results):
        settings = {
            "|".join(part for part in result.signature.split("|") if not part.startswith(_OWN))
            for result in results
            if result.exam == exam
        }
        if len(settings) > 1:
            yield (
                f"{exam} was asked in {len(settings)} different ways in these runs (see the signatures): its rows are "
                "not all the same measurement."
            )


_OWN = ("model:", "template:", "weights:", "dtype:", "bits:", "adapter:", "seed:", "viva:")
"""Parts of a signature in which models of one comparison may differ."""


def _page(read: Sequence[Reported], names: Names, report: Report, wanted: Wanted) -> int:
    from viva.reports.page.content import page_of
    from viva.reports.page.writing import write_page

    out = wanted.out
    assert out is not None
    title = wanted.title or ", ".join(one_line(run.folder.path.resolve().name, 80) for run in read[:4]) + (
        f" and {len(read) - 4} more runs" if len(read) > 4 else ""
    )
    # Above all charts, not in a note below them: what they show beside each other is no comparison.
    warnings = [warning for run in read for warning in run.warnings] + list(_uneven(report.results))
    called = [one_line(run.folder.path.resolve().name, 200) for run in read]
    page = page_of(report, [run.folder.record for run in read], title, names=called, warnings=warnings)
    spooled, notes = _spooled(read, names, wanted, out.absolute().parent)
    try:
        size = write_page(out, page, spooled, notes)
    finally:
        if spooled:
            spooled.close()
    shown = spooled.written.items if spooled else 0
    print(f"viva: wrote {out} ({size / 1e6:.1f} MB, {shown:,} answers to look at)", file=sys.stderr)
    for warning in warnings:
        print(f"viva: {warning}", file=sys.stderr)
    return 0


def _spooled(read: Sequence[Reported], names: Names, wanted: Wanted, folder: Path) -> tuple[Spooled | None, list[str]]:
    """The items packed, as many as fit, and what the page says of those that it leaves out."""
    from viva.reports.page.sampling import stratified
    from viva.reports.page.writing import Spooled

    total, room = sum(len(run.strata) for run in read), int((wanted.max_size - _FRAME) * 1e6)
    if not wanted.items or not total:
        return None, []
    strata = [(number, stratum) for number, run in enumerate(read) for stratum in run.strata]
    count, because = min(total, wanted.items), f"--items {wanted.items:,}"
    while True:
        chosen = stratified(strata, count, wanted.seed)
        spooled = Spooled(folder, room)
        if spooled.fill(_items(read, names, chosen)) or count == 1:
            break
        # So many characters held so many items; a little less of that, since items differ.
        held = spooled.written.items * room / max(1, spooled.written.size)
        spooled.close()
        count, because = max(1, min(int(count * 0.9), int(held * 0.92))), f"--max-size {wanted.max_size:g}"
    notes = []
    if chosen is not None:
        notes.append(
            f"{count:,} of {total:,} answers are here ({because}): a sample of every exam, model and outcome in "
            f"proportion, seed {wanted.seed}. All numbers of this report come from all {total:,} scores."
        )
    if spooled.written.cut:
        from viva.reports.page.items import LONGEST

        notes.append(
            f"{spooled.written.cut:,} answers have a text of more than {LONGEST:,} characters, which is cut there; the "
            "run's responses.jsonl has it whole."
        )
    return spooled, notes


def _items(read: Sequence[Reported], names: Names, chosen: set[int] | None) -> Iterator[Answered]:
    starts = [0, *itertools.accumulate(len(run.strata) for run in read)]
    for number, run in enumerate(read):
        yield from run.items(_wanted(chosen, starts[number]), _called(names, number))


def _wanted(chosen: set[int] | None, start: int) -> Callable[[int], bool]:
    if chosen is None:
        return lambda place: True
    return lambda place: start + place in chosen


def _called(names: Names, number: int) -> Callable[[str, str], str]:
    return lambda exam, model: names[number, exam, model]
