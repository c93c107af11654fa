"""The file of anchors that `viva item-analysis --anchors N --out FILE.csv` writes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from viva.errors import DataError, flag
from viva.lab.items.anchor_tables import COLUMNS, Anchor, AnchorSet
from viva.lab.items.curves import GRID
from viva.runs.exams import unguarded
from viva.runs.score_table import Row, rows_of

_ROUNDING = 1e-6
_SHARED = COLUMNS[COLUMNS.index("exam") :]


def read_anchors(path: Path) -> AnchorSet:
    """The anchors with all that a prediction takes. Raises DataError with the line for what is missing or no number."""
    rows = list(rows_of(path))
    if not rows:
        raise DataError(
            f"{path} lists no anchors; `viva item-analysis RUN... {flag('anchors', 'N')} {flag('out')} "
            f"{path.name}` writes such a file"
        )
    line, first = rows[0]
    missing = [name for name in COLUMNS if name not in first]
    if missing:
        raise DataError(
            f"{path}, line {line}: no column {missing[0]!r}; a file of anchors is what `viva item-analysis RUN... "
            f"{flag('anchors', 'N')} {flag('out', 'FILE')}.csv` writes (a bare list of questions does for `viva run "
            f"{flag('questions')}` only)"
        )
    for number, row in rows:
        for name in _SHARED:
            if row[name] != first[name]:
                raise DataError(
                    f"{path}, line {number}: {name} {str(row[name])[:60]!r}, and {str(first[name])[:60]!r} above: "
                    "anchors of one set only"
                )
    anchors = tuple(_anchor(path, number, row) for number, row in rows)
    twice = len(anchors) - len({one.question for one in anchors})
    if twice:
        raise DataError(f"{path}: {twice} anchors are there twice")
    if not 0 < math.fsum(one.share for one in anchors) <= 1 + _ROUNDING:
        raise DataError(f"{path}: the shares of the anchors add up to no share of a full score")
    where = f"{path}, line {line}"
    rest = _curve(first, "rest", where)
    figures: dict[str, Any] = {name: _number(first, name, where) for name in ("lowest", "highest", "error")}
    figures |= {name: _number(first, name, where, least=0.0) for name in ("scatter", "inflation")}
    figures |= {name: int(_number(first, name, where)) for name in ("families", "models", "of_questions")}
    return AnchorSet(exam=unguarded(str(first["exam"])), anchors=anchors, rest=rest, **figures)


def _anchor(path: Path, line: int, row: Row) -> Anchor:
    where = f"{path}, line {line}"
    question = unguarded(str(row["question"] or ""))
    share = _number(row, "share", where)
    if not question or share < 0:
        raise DataError(f"{where}: an anchor needs the id of a question and a share of the full score from 0 on")
    curve = _curve(row, "curve", where)
    if not all(0 < value < 1 for value in curve):
        raise DataError(f"{where}: a curve has probabilities between 0 and 1")
    known = row["discrimination"] not in ("", None)
    return Anchor(
        question=question,
        share=share,
        facility=_number(row, "facility", where),
        discrimination=_number(row, "discrimination", where) if known else None,
        curve=curve,
    )


def _curve(row: Row, name: str, where: str) -> tuple[float, ...]:
    parts = str(row[name]).split()
    if len(parts) != len(GRID):
        raise DataError(f"{where}: {name} has {len(parts)} values, and {len(GRID)} belong there: write the file anew")
    return tuple(_number({name: part}, name, where) for part in parts)


def _number(row: Row, name: str, where: str, least: float = -math.inf) -> float:
    try:
        value = float(str(row[name]))
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value >= least):
        raise DataError(f"{where}: {name} {str(row[name])[:60]!r} is no number")
    return value
