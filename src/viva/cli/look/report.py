"""`viva report`: a run as one HTML file that opens without a network, or as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, published_rows_option
from viva.cli.output import check_writable, emit, print_report
from viva.errors import VivaError
from viva.fields import pick
from viva.runs.live_line import say
from viva.runs.report_page import PageOptions, ReportConfig, names_of, runs_at, together, write_report

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
@derive(PageOptions)
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
    if config.format == "html" and config.out is not None:
        size, shown, warnings = write_report(read, names, report, config, config.out)
        say(f"viva: wrote {config.out} ({size / 1e6:.1f} MB, {shown:,} answers to look at)")
        for warning in warnings:
            say(f"viva: {warning}")
    elif config.format == "terminal":
        from viva.runs.config import OutputOptions

        print_report(report, OutputOptions(format="terminal", out=config.out, all=True))
    else:
        from viva.reports.formats import FORMATS as RENDERERS

        emit(RENDERERS[config.format](report), config.out)
    return 0
