"""Have people verify a random share of a set, in a spreadsheet: the error rate of its golds or explanations with an
interval, or how a tag (knowledge or reasoning, say) would be given by others; and how far the people agree.
"""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.build.files import new_sheet
from viva.build.halves.splitting import share_of
from viva.build.verification import sheets
from viva.build.verification.sheets import Verification, aspect_of, drawn, findings, rated, read_sheets
from viva.commands import command
from viva.contracts import Exam
from viva.errors import VivaError, option
from viva.fields import note
from viva.render.findings import Findings
from viva.runs.config import TaskOptions
from viva.runs.exams import open_exams
from viva.visible import plural


class SetOptions(Struct, kw_only=True):
    """Which set is verified."""

    source: Annotated[str, note("A benchmark or question file.", metavar="SET", argument=True)]
    data: Annotated[Path | None, note("The set's files.", metavar="DIR")] = None
    language: Annotated[str | None, note("Of a set in several.")] = None


class SheetConfig(SetOptions, kw_only=True):
    """Write a sheet with a random share of SET, a benchmark or question file. People fill in its column `verdict`:
    right, wrong or unsure; of a tag one of its values, which the sheet does not show. Each fills in a copy, and names
    the file as they are called.

    \b
    viva build verify sheet cmmlu --data DIR --out sheet.csv
    viva build verify sheet csbench --data DIR --language en --ask tag --out labels.csv
    viva build verify sheet csbench --data DIR --language zh --ask explanation --share 10% --out sheet.csv
    """

    ask: Annotated[str, note("What is verified.", metavar="gold|explanation|TAG")] = "gold"
    share: Annotated[str, note("Of the questions: 5%, 0.05, 1/20 or all.")] = "5%"
    seed: Annotated[int, note("Draws them.")] = 0
    out: Annotated[Path, note("The sheet.", metavar="FILE.csv")]


@command(SheetConfig, "action")
def sheet(config: SheetConfig) -> int:
    """Write a sheet to be filled in."""
    exam = _exam(config)
    aspect, questions = aspect_of(exam, config.ask)
    share = Fraction(1) if config.share == "all" else share_of(config.share)
    chosen = drawn(questions, share, config.seed)
    new_sheet(config.out, sheets.sheet(aspect, chosen))
    labels = ", ".join((*aspect.labels, "unsure"))
    print(
        f"{plural(len(chosen), 'question')} of {len(questions):,} written to {config.out}; "
        f"fill in the column {aspect.column!r}: {labels}"
    )
    return 0


class RateConfig(SetOptions, kw_only=True):
    """Print what the SHEETs say of SET: how many of the verified questions are wrong, with a 95 % interval for the
    whole set, and of several people how far they agree. A sheet's file is named as who filled it in.

    \b
    viva build verify rate cmmlu anna.csv ben.csv --data DIR
    """

    sheets: Annotated[tuple[Path, ...], note("Sheets that were filled in.", metavar="SHEET.csv...", argument=True)]


@command(RateConfig, "study")
def rate(config: RateConfig) -> Findings[Verification]:
    """Error rate and agreement, from sheets that were filled in."""
    exam = _exam(config)
    return findings(rated(read_sheets(config.sheets, exam, exam.spec.label)))


def _exam(config: SetOptions) -> Exam:
    language = (config.language,) if config.language else ()
    found = open_exams((config.source,), TaskOptions(data=config.data, language=language))
    if len(found) > 1:
        raise VivaError(f"{config.source} is in several languages: choose one with {option('language')}")
    return found[0][0]
