"""`viva report`: a run as one HTML file that opens without a network, or as tables."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.options import published_rows_option
from viva.cli.output import check_writable, emit, print_report
from viva.errors import VivaError
from viva.runs.config import pick
from viva.runs.report_page import (
    DEFAULT_ITEMS,
    DEFAULT_SIZE,
    Names,
    ReportConfig,
    names_of,
    runs_at,
    spool_items,
    together,
    uneven,
)
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.reports.result import Report
    from viva.runs.results import Reported

FORMATS = ("html", "terminal", "json", "csv", "markdown", "latex")


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
@published_rows_option
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
    viva report runs/a runs/b --out both.html --published-rows gpt-4,llama3-8b
    viva report runs/NAME --format latex --out tables.tex
    """
    config = pick(ReportConfig, given)
    if html and config.format != "html":
        raise VivaError(f"--html and --format {config.format} exclude each other: give one of them")
    folders = list(dict.fromkeys(found for run in runs for found in runs_at(run)))
    if config.out is None and config.format == "html":
        config.out = (folders[0] if len(folders) == 1 else Path()) / "report.html"
    check_writable(config.out)
    from viva.runs.results import read_run

    read = [read_run(folder, config.published_rows) for folder in folders]
    names = names_of(read)
    report = together(read, names)
    if config.format == "html":
        return _page(read, names, report, config)
    if config.format == "terminal":
        from viva.runs.config import OutputOptions

        print_report(report, OutputOptions(format="terminal", out=config.out, all=True))
    else:
        from viva.reports.formats import FORMATS as RENDERERS

        emit(RENDERERS[config.format](report), config.out)
    return 0


def _page(read: Sequence[Reported], names: Names, report: Report, config: ReportConfig) -> int:
    from viva.reports.page.content import page_of
    from viva.reports.page.writing import write_page

    out = config.out
    assert out is not None
    title = config.title or ", ".join(one_line(run.folder.path.resolve().name, 80) for run in read[:4]) + (
        f" and {len(read) - 4} more runs" if len(read) > 4 else ""
    )
    # Above all charts, not in a note below them: what they show beside each other is no comparison.
    warnings = [warning for run in read for warning in run.warnings] + list(uneven(report.results))
    called = [one_line(run.folder.path.resolve().name, 200) for run in read]
    page = page_of(report, [run.folder.record for run in read], title, names=called, warnings=warnings)
    spooled, notes = spool_items(read, names, config, out.absolute().parent)
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
