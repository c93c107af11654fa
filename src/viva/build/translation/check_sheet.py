"""Findings about a translation: pairs compared, and the sheet of all findings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viva.benchmarks.csbench.csbench import english_number
from viva.benchmarks.csbench.recordfiles import Raw, RawSet, named, text
from viva.build.files import new_sheet
from viva.build.spreadsheet import written_table
from viva.build.translation.alignment import agreement, pair_up
from viva.build.translation.checks import Finding
from viva.build.translation.comparison import Reference, check_pair
from viva.types import Language

_SAME_IDS = 0.9
"""Share of ids in common from which on two sets are paired by their ids."""


def compared(
    there: Sequence[Raw], here: Sequence[Raw], source: Language, target: Language, notes: list[str]
) -> list[Finding]:
    """Return the findings of pairs; `notes` gets how they were made."""
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
        for finding in check_pair(Reference(name, one, other), source, target, explained=explained)
    ]


def _fits(one: Raw, other: Raw) -> bool:
    return all(one.get(key) == other.get(key) for key in ("Domain", "SubDomain", "Format", "Tag"))


def write_sheet(path: Path, findings: Sequence[Finding], found: RawSet) -> None:
    """A row a finding, with the text it is about, and columns for what people think of it."""
    records = dict(zip(named(found.records), found.records, strict=True))
    titles = ("question", "format", "severity", "field", "kind", "message", "text", "right text", "checked by")
    rows = (
        (
            *(one.question, text(records[one.question]["Format"]), one.severity, one.field, one.kind, one.message),
            *(text(records[one.question].get(one.field)), "", ""),
        )
        for one in findings
    )
    new_sheet(path, written_table(titles, rows, encoding="utf-8-sig"))
