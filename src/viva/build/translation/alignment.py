"""Align a set with its translation where ids do not match, as in CS-Bench's German and French files.

Their questions are shuffled and renumbered. Questions are matched by what a translation keeps: domain, subfield, format
and tag; then numbers, formulas, code, abbreviations, and letters shared by related words, field by field (options keep
their order). Within each cell, the one-to-one pairing with the greatest total similarity is taken. Golds are not used,
so their agreement estimates how often the pairing is right (`agreement`). Pairs are then checked, and all findings are
written as a sheet for people.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from viva.benchmarks.csbench.csbench import english_number
from viva.benchmarks.csbench.recordfiles import LETTERS, Raw, RawSet, named, text
from viva.build.files import new_sheet, written_table
from viva.build.translation.checks import KEPT, Finding, check_pair, findings_of, folded
from viva.types import Language

if TYPE_CHECKING:
    from scipy.sparse import csr_array


_FIELDS = ("Question", *LETTERS)
_ANCHOR = re.compile(r"\d+(?:[.,]\d+)*|[A-Za-z]*[A-Z]{2,}[A-Za-z0-9]*|[^\s\w]?[A-Za-z]\b|\w*[_^\\=<>\[\]{}]+\w*")
_GRAM = 4
SURE = 0.01
"""Margin of similarity from which on a pair is trusted."""


class Pair(Struct, frozen=True):
    """Positions in both sets, similarity (0 to 1), and its margin over either question's best other pair."""

    source: int
    translation: int
    alike: float
    margin: float

    @property
    def sure(self) -> bool:
        """Whether the margin suffices to trust the pair."""
        return self.margin >= SURE


def pair_up(source: Sequence[Raw], translation: Sequence[Raw]) -> list[Pair]:
    """Pair questions; in the order of the translation. Cells of different size leave some unpaired."""
    cells: defaultdict[tuple[str, ...], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, records in enumerate((source, translation)):
        for index, record in enumerate(records):
            cells[tuple(text(record.get(key)) for key in KEPT)][side].append(index)
    vectors = _vectors([*source, *translation])
    ours, theirs = vectors[: len(source)], vectors[len(source) :]
    pairs = [pair for here, there in cells.values() if here and there for pair in _in_cell(ours, theirs, here, there)]
    return sorted(pairs, key=lambda pair: pair.translation)


def _in_cell(ours: csr_array, theirs: csr_array, here: list[int], there: list[int]) -> Iterator[Pair]:
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    alike = (ours[here] @ theirs[there].T).toarray()
    rows, columns = linear_sum_assignment(alike, maximize=True)
    for row, column in zip(rows.tolist(), columns.tolist(), strict=True):
        others = np.concatenate((np.delete(alike[row], column), np.delete(alike[:, column], row)))
        margin = float(alike[row, column] - others.max(initial=0.0))
        yield Pair(here[row], there[column], float(alike[row, column]), margin)


def _vectors(records: Sequence[Raw]) -> csr_array:
    """Return one row of unit length per record: its features, weighted by tf-idf."""
    import numpy as np
    from scipy.sparse import csr_array, diags_array

    names: defaultdict[str, int] = defaultdict(lambda: len(names))
    columns: list[int] = []
    starts = [0]
    for record in records:
        columns += [names[feature] for feature in _features(record)]
        starts.append(len(columns))
    shape = (len(records), max(1, len(names)))
    counts = csr_array((np.ones(len(columns)), np.array(columns, dtype=np.int64), np.array(starts)), shape=shape)
    counts.sum_duplicates()
    weights = np.log((1 + len(records)) / (1 + np.bincount(counts.indices, minlength=shape[1])))
    counts.data = (1 + np.log(counts.data)) * weights[counts.indices]
    sizes = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)).ravel())
    return csr_array(diags_array(1 / np.where(sizes > 0, sizes, 1.0)) @ counts)


def _features(record: Raw) -> Iterator[str]:
    fields = (*_FIELDS, *(("Answer",) if record["Format"] in ("Fill-in-the-blank", "Open-ended") else ()))
    for field in fields:
        content = folded(text(record.get(field)))
        for anchor in _ANCHOR.findall(content):
            # Yielded twice, since a number says more than a run of letters.
            yield f"{field[0]}={anchor}"
            yield f"={anchor}"
        plain = "".join(c for c in unicodedata.normalize("NFD", content.casefold()) if not unicodedata.combining(c))
        letters = f" {' '.join(re.findall('[a-z0-9]+', plain))} "
        head = f"{field[0]}~"
        yield from [head + letters[start : start + _GRAM] for start in range(len(letters) - _GRAM + 1)]


def agreement(pairs: Sequence[Pair], source: Sequence[Raw], translation: Sequence[Raw]) -> tuple[int, int]:
    """Count multiple-choice pairs whose golds agree, and all with a letter as gold on both sides."""
    same = total = 0
    for pair in pairs:
        golds = source[pair.source].get("Answer"), translation[pair.translation].get("Answer")
        if source[pair.source]["Format"] == "Multiple-choice" and all(gold in LETTERS for gold in golds):
            total += 1
            same += golds[0] == golds[1]
    return same, total


_SAME_IDS = 0.9
"""Share of common ids from which on sets are paired by ids."""


def compared(
    there: Sequence[Raw], here: Sequence[Raw], source: Language, target: Language, notes: list[str]
) -> list[Finding]:
    """Pair two sets and return the findings; appends to `notes` how they were paired."""
    ours = dict(zip(named(there), there, strict=True))
    numbers = {english_number(name, source): record for name, record in ours.items()}
    names = named(here)
    same = [(name, numbers.get(english_number(name, target))) for name in names]
    pairs = [
        (name, before, other)
        for (name, before), other in zip(same, here, strict=True)
        if before is not None and _fits(before, other)
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
        for name, before, other in pairs
        for finding in findings_of(name, check_pair(before, other, source, target, explained=explained))
    ]


def _fits(first: Raw, other: Raw) -> bool:
    return all(first.get(key) == other.get(key) for key in KEPT)


def write_sheet(path: Path, findings: Sequence[Finding], raw: RawSet) -> None:
    """Write a sheet with one finding per row, its text, and columns for people to fill in."""
    records = dict(zip(named(raw.records), raw.records, strict=True))
    titles = ("question", "format", "severity", "field", "kind", "message", "text", "right text", "checked by")
    rows = (
        (
            *(
                finding.question,
                text(records[finding.question]["Format"]),
                finding.severity,
                finding.field,
                finding.kind,
                finding.message,
            ),
            *(text(records[finding.question].get(finding.field)), "", ""),
        )
        for finding in findings
    )
    new_sheet(path, written_table(titles, rows, encoding="utf-8-sig"))
