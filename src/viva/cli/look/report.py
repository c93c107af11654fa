"""`viva report`: a run as one HTML file that opens without a network, or as tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import check_writable, derive, print_report, published_rows_option
from viva.errors import VivaError
from viva.fields import pick
from viva.pages.report.study import PageOptions, names_of, runs_at, together, write_report
from viva.runs.config import OutputOptions, form_of
from viva.runs.progress import say

FORMATS = ("html", "terminal", "json", "csv", "markdown", "latex")


@click.command
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@click.option("--html", is_flag=True, help="Write the page; what is done if no --format says otherwise.")
@click.option(
    "--format",
    type=click.Choice(FORMATS),
    help="A page, or the tables alone.  [default: html; in a file, as its name says]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="Where to; the name says how: .csv, .json, .md, .tex, else .html.  [default: report.html in the run, of "
    "several runs in this folder; tables are printed]",
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
    form, out = given["format"], given["out"]
    if html and form not in (None, "html"):
        raise VivaError(f"--html and {form} exclude each other: give one of them")
    form = "html" if html else form_of(form, out, "html")
    folders = list(dict.fromkeys(run_folder for run in runs for run_folder in runs_at(run)))
    if out is None and form == "html":
        out = (folders[0] if len(folders) == 1 else Path()) / "report.html"
    check_writable(out)
    from viva.runs.answers import read_run

    read = [read_run(folder, given["published_rows"]) for folder in folders]
    if form == "html":
        size, shown, warnings = write_report(read, pick(PageOptions, given), out)
        say(f"viva: wrote {out} ({size / 1e6:.1f} MB, {shown:,} answers to look at)")
        for warning in warnings:
            say(f"viva: {warning}")
    else:
        print_report(
            together(read, names_of(read, whole=True)), pick(OutputOptions, {"format": form, "out": out, "all": True})
        )
    return 0
