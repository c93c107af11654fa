"""`viva build translate check`: what is wrong with a set, by itself or beside what it was translated from."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cli.clrtelling import SHOWN, all_option, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.visible import one_line, visible

if TYPE_CHECKING:
    from viva.benchmarks.csbench.build.checking import Finding
    from viva.benchmarks.csbench.build.files import Raw, RawSet
    from viva.reports.result import Grid
    from viva.types import Language

_PATH = click.Path(path_type=Path)
_LANGUAGES = click.Choice(["en", "zh", "de", "fr"])
_SAME_IDS = 0.9
"""Share of ids in common from which on two sets are paired by their ids."""


@click.command(name="check", short_help="What is wrong with a set of CS-Bench's format.")
@click.argument("target", metavar="SET", type=_PATH)
@click.option("--language", type=_LANGUAGES, help="Of SET, where its files do not say, or are in several.")
@click.option("--beside", type=_PATH, metavar="SOURCE", help="What it was translated from: questions are paired.")
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
    another script or language, a translator who speaks in place of translating, lost places to fill in. With --beside
    also figures, formulas, code, numerals, units, blanks and golds against the source.

    Questions are paired by their ids, or, where these differ, by what a translation keeps; only pairs that are sure
    are compared. Exit code 3 where errors were found.
    """
    from viva.benchmarks.csbench.build.checking import affected, check_set
    from viva.benchmarks.csbench.build.files import read_set

    found = read_set(target, language)
    findings = check_set(found.records, found.language)
    notes: list[str] = []
    if beside is not None:
        source = read_set(beside, beside_language)
        if source.language == found.language and source.where == found.where:
            raise VivaError(f"--beside {beside} is SET itself: name what it was translated from (--beside-language en)")
        for here, there in ((found.test, source.test), (found.valid or [], source.valid or [])):
            if here and there:
                findings += _compared(there, here, source.language, found.language, notes)
    if sheet is not None:
        _write_sheet(sheet, findings, found)
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
    click.echo(grids_terminal(grids, [visible(note) for note in notes]), nl=False)
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


def _compared(
    there: Sequence[Raw], here: Sequence[Raw], source: Language, target: Language, notes: list[str]
) -> list[Finding]:
    """The findings of pairs; `notes` gets how they were made."""
    from viva.benchmarks.csbench.build.comparing import Beside, check_pair
    from viva.benchmarks.csbench.build.files import named
    from viva.benchmarks.csbench.build.pairing import agreement, pair_up
    from viva.benchmarks.csbench.languages import english_number

    ours = dict(zip(named(there), there, strict=True))
    numbers = {english_number(name, source): record for name, record in ours.items()}
    names = named(here)
    same = [(name, numbers.get(english_number(name, target))) for name in names]
    pairs = [
        (name, one, other)
        for (name, one), other in zip(same, here, strict=True)
        if one is not None and _fits(one, other)
    ]
    if len(pairs) < _SAME_IDS * len(here):
        made = pair_up(there, here)
        sure = [pair for pair in made if pair.sure]
        agreed, judged = agreement(sure, there, here)
        pairs = [(names[pair.translation], there[pair.source], here[pair.translation]) for pair in sure]
        share = f"{100 * agreed / judged:.1f} % of {judged:,}" if judged else "none"
        notes.append(
            f"The ids of the two sets differ: {len(sure):,} of {len(here):,} questions were paired surely by what a "
            f"translation keeps; golds had no part in it, and agree in {share} choices."
        )
    else:
        notes.append(f"{len(pairs):,} of {len(here):,} questions were paired by their ids.")
    explained = any("Explanation" in record for record in here)
    return [
        finding
        for name, one, other in pairs
        for finding in check_pair(Beside(name, one, other), source, target, explained=explained)
    ]


def _fits(one: Raw, other: Raw) -> bool:
    return all(one.get(key) == other.get(key) for key in ("Domain", "SubDomain", "Format", "Tag"))


def _write_sheet(path: Path, findings: Sequence[Finding], found: RawSet) -> None:
    """A row a finding, with the text it is about, and columns for what people think of it."""
    from viva.benchmarks.clrbench.build.cells import written_table
    from viva.benchmarks.csbench.build.files import named, text
    from viva.cli.clrproject import replace_file

    if path.exists():
        raise VivaError(f"{path} is there already; name another file")
    records = dict(zip(named(found.records), found.records, strict=True))
    titles = ("question", "format", "severity", "field", "kind", "message", "text", "right text", "checked by")
    rows = (
        (
            *(one.question, text(records[one.question]["Format"]), one.severity, one.field, one.kind, one.message),
            *(text(records[one.question].get(one.field)), "", ""),
        )
        for one in findings
    )
    replace_file(path, written_table(titles, rows, encoding="utf-8-sig"))
