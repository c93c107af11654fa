"""Rows as templates of lm-evaluation-harness see them: with the columns and kinds of numbers of one Arrow table.

A template is sensitive to both: `{{n}}` of 3 is not that of 3.0, `{{x is none}}` fails where there is no x. So a key
that some objects of JSON lack is null there, a column with both kinds of numbers holds fractions, and the cells of CSV
are numbers or truth values where all of a column are. Parquet and Arrow are that already.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from viva.benchmarks.card.cells import VALUES
from viva.benchmarks.custom.strictfields import FLAGS
from viva.io.records import Record, records

_WHOLE = re.compile(r"[+-]?\d{1,18}")
_FRACTION = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")


def typed(files: Sequence[Path], columns: Sequence[str] = ()) -> Iterator[tuple[Path, int, Record]]:
    """The rows of some files with the numbers that they have in them; each file is read twice. Raises DataError."""
    kinds: dict[str, set[str]] = {}
    for path in files:
        spelled = _is_delimited(path)
        for _, row in records(path, columns):
            for name, value in row.items():
                kinds.setdefault(name, set()).add(_spelled(value) if spelled else type(value).__name__)
    for path in files:
        spelled = _is_delimited(path)
        for number, row in records(path, columns):
            yield path, number, {name: _cell(row.get(name), kinds[name], spelled=spelled) for name in kinds}


def _is_delimited(path: Path) -> bool:
    return Path(path.name.removesuffix(".gz")).suffix.lower() in (".csv", ".tsv")


def _spelled(cell: str) -> str:
    """Return what kind of value a cell of CSV spells."""
    if cell in VALUES["missing"]:
        return "NoneType"
    if _WHOLE.fullmatch(cell):
        return "int"
    if _FRACTION.fullmatch(cell):
        return "float"
    return "bool" if cell in FLAGS else "str"


def _cell(value: Any, kinds: set[str], *, spelled: bool) -> Any:
    if not spelled:
        return float(value) if kinds - {"NoneType"} == {"int", "float"} and isinstance(value, int) else value
    if value is None or value in VALUES["missing"]:
        return None
    if kinds == {"int"}:
        return int(value)
    if kinds <= {"int", "float", "NoneType"}:
        return float(value)
    return FLAGS[value] if kinds == {"bool"} else value
