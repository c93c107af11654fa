"""`viva build translate check`: what is wrong with a set, by itself or beside what it was translated from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.authoring.translation.check_sheet import compared, write_sheet
from viva.cli.build.arguments import SHOWN, all_option, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.authoring.translation.checks import Finding
    from viva.reports.result import Grid
    from viva.types import Language

_PATH = click.Path(path_type=Path)
_LANGUAGES = click.Choice(["en", "zh", "de", "fr"])


@click.command(name="check", short_help="What is wrong with a set of CS-Bench's format.")
@click.argument("target", metavar="SET", type=_PATH)
@click.option("--language", type=_LANGUAGES, help="Of SET, where its files do not say, or are in several.")
@click.option(
    "--reference", "beside", type=_PATH, metavar="SOURCE", help="What it was translated from: questions are paired."
)
@click.option("--beside-language", type=_LANGUAGES, help="Of SOURCE.")
@click.option("--sheet", type=_PATH, metavar="FILE.csv", help="Write every finding to a check sheet for people.")
@all_option
def check_command(
    target: Path,
    *,
    language: Language | None,
    beside: Path | None,
    beside_language: Language | None,
    sheet: Path | None,
    everything: bool,
) -> int:
    """Check every question of SET by rule: golds that are no letter or truth value, empty and equal options, text in
    another script or language, a translator who speaks in place of translating, lost places to fill in. With
    --reference also figures, formulas, code, numerals, units, blanks and golds against the source.

    Questions are paired by their ids, or, where these differ, by what a translation keeps; only pairs that are sure
    are compared. Exit code 3 where errors were found.
    """
    from viva.authoring.translation.checks import affected, check_set
    from viva.benchmarks.csbench.files import read_set

    found = read_set(target, language)
    findings = check_set(found.records, found.language)
    notes: list[str] = []
    if beside is not None:
        source = read_set(beside, beside_language)
        if source.language == found.language and source.where == found.where:
            raise VivaError(
                f"--reference {beside} is SET itself: name what it was translated from (--beside-language en)"
            )
        for here, there in ((found.test, source.test), (found.valid or [], source.valid or [])):
            if here and there:
                findings += compared(there, here, source.language, found.language, notes)
    if sheet is not None:
        write_sheet(sheet, findings, found)
    ordered = sorted(findings, key=lambda one: one.severity != "error")
    for finding in ordered if everything else ordered[:SHOWN]:
        where = f"{finding.question} {finding.field}"
        click.echo(f"{finding.severity}: {one_line(f'{where}: {finding.kind}: {finding.message}', 300)}")
    tell_more(len(ordered), everything=everything)
    errors, warned = affected(findings, "error"), affected(findings, "warning")
    total = len(found.records)
    notes.append(
        f"{total:,} questions ({found.language}): errors in {len(errors):,} ({100 * len(errors) / total:.1f} %), only "
        f"warnings in {len(warned - errors):,}."
    )
    from viva.reports.grids import grids_terminal

    grids = [_counts(findings)] if findings else []
    click.echo(grids_terminal(grids, [escape_invisible(note) for note in notes]), nl=False)
    return EXIT_INCOMPLETE if errors else EXIT_OK


def _counts(findings: Sequence[Finding]) -> Grid:
    from viva.reports.result import Grid

    rows = []
    for severity in ("error", "warning"):
        kinds = dict.fromkeys(one.kind for one in findings if one.severity == severity)
        for kind in kinds:
            of_kind = [one for one in findings if (one.kind, one.severity) == (kind, severity)]
            rows.append((kind, severity, f"{len({one.question for one in of_kind}):,}", f"{len(of_kind):,}"))
    return Grid("What the checks found", ("", "severity", "questions", "fields"), tuple(rows))
