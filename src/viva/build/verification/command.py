"""`viva build verify`: sheets for people who verify a share of a set, and what they found."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import click

from viva.build.files import new_sheet
from viva.build.halves.splitting import share_of
from viva.build.verification.sheets import aspect_of, drawn, rated, read_sheets, sheet
from viva.cli.options import tables_options
from viva.cli.output import check_writable, print_study
from viva.contracts import Exam
from viva.errors import VivaError
from viva.runs.config import TaskOptions
from viva.runs.exams import label, open_exams
from viva.visible import plural


@click.group(name="verify", short_help="Sheets to verify golds, explanations or tags by hand.")
def verify_command() -> None:
    """Have people verify a random share of a set, in a spreadsheet: the error rate of its golds or explanations with an
    interval, or how a tag (knowledge or reasoning, say) would be given by others; and how far the people agree.
    """


def _of_a_set(command: Any) -> Any:
    command = click.option("--language", help="Of a set in several.")(command)
    data = click.option("--data", type=click.Path(path_type=Path), metavar="DIR", help="The set's files.")
    return click.argument("source", metavar="SET")(data(command))


@verify_command.command(name="sheet", short_help="Write a sheet to be filled in.")
@_of_a_set
@click.option("--ask", default="gold", show_default=True, metavar="gold|explanation|TAG", help="What is verified.")
@click.option("--share", default="5%", show_default=True, help="Of the questions: 5%, 0.05, 1/20 or all.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws them.")
@click.option("--out", required=True, type=click.Path(path_type=Path), metavar="FILE.csv", help="The sheet.")
def sheet_command(source: str, **given: Any) -> int:
    """Write a sheet with a random share of SET, a benchmark or question file. People fill in its column `verdict`:
    right, wrong or unsure; of a tag one of its values, which the sheet does not show. Each fills in a copy, and names
    the file as they are called.

    \b
    viva build verify sheet cmmlu --data DIR --out sheet.csv
    viva build verify sheet csbench --data DIR --language en --ask tag --out labels.csv
    viva build verify sheet csbench --data DIR --language zh --ask explanation --share 10% --out sheet.csv
    """
    exam = _exam(source, given)
    aspect, questions = aspect_of(exam, given["ask"])
    share = Fraction(1) if given["share"] == "all" else share_of(given["share"])
    chosen = drawn(questions, share, given["seed"])
    new_sheet(given["out"], sheet(aspect, chosen))
    labels = ", ".join((*aspect.labels, "unsure"))
    click.echo(
        f"{plural(len(chosen), 'question')} of {len(questions):,} written to {given['out']}; "
        f"fill in the column {aspect.column!r}: {labels}"
    )
    return 0


@verify_command.command(name="rate", short_help="Error rate and agreement, from sheets that were filled in.")
@_of_a_set
@click.argument("sheets", nargs=-1, required=True, metavar="SHEET.csv...", type=click.Path(path_type=Path))
@tables_options
def rate_command(source: str, sheets: tuple[Path, ...], **given: Any) -> int:
    """Print what the SHEETs say of SET: how many of the verified questions are wrong, with a 95 % interval for the
    whole set, and of several people how far they agree. A sheet's file is named as who filled it in.

    \b
    viva build verify rate cmmlu anna.csv ben.csv --data DIR
    """
    check_writable(given["out"])
    exam = _exam(source, given)
    found = rated(read_sheets(sheets, exam, label(exam)))
    print_study(found, given["format"], given["out"], everything=given["all"])
    return 0


def _exam(source: str, given: dict[str, Any]) -> Exam:
    language = (given["language"],) if given["language"] else ()
    found = open_exams((source,), TaskOptions(data=given["data"], language=language))
    if len(found) > 1:
        raise VivaError(f"{source} is in several languages: choose one with --language")
    return found[0][0]
