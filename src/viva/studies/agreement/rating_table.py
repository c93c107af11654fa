"""Anybody's ratings: CSV or JSONL, also gzipped, a row a rating.

    item,rater,value
    q17,anna,0.5

Columns: `item` or `question`; `rater`, `reviewer` or `judge`; `value` or `score` (a number; empty: not rated). Where
both `item` and `question` are there, items of one question are not independent. `aspect`, if there, makes the answer
and the rationale of a question two items. Every other column that has one value an item is a tag of it; in JSONL also
`tags: {…}`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from viva.analysis.raters.ratings import Ratings
from viva.errors import DataError, option
from viva.runs.score_table import rows_of
from viva.visible import brief

ITEM = ("item", "question")
RATER = ("rater", "reviewer", "judge")
VALUE = ("value", "score")
ASPECT = "aspect"
LARGEST = 1e12
"""Beyond it a mark is a mistake, and its square is no number."""
_SHOWN = 60
_DECIMAL_COMMA = re.compile(r"[-+]?[0-9]{0,20},[0-9]{1,20}")


class _Seen(Struct):
    """What the rows have said so far."""

    values: dict[tuple[str, str], dict[str, float | None]] = {}
    """(item, aspect) → rater → mark."""
    lines: dict[tuple[tuple[str, str], str], int] = {}
    tags: dict[tuple[str, str], dict[str, str]] = {}
    raters: dict[str, None] = {}
    names: dict[str, str] = {}
    """Columns that may be tags → where an item has a second value, which makes it none; empty where none has."""


def read_ratings(path: Path, tags: Sequence[str] = ()) -> Ratings:
    """Return the ratings, items and raters in the order of the file. `tags` names those that are needed.

    Raises DataError with the line and the value: not there, torn, a missing column, a mark that is none, a rating that
    is there twice, an item with two values of a needed tag.
    """
    seen = _Seen()
    for line, row in rows_of(path):
        _take(seen, row, f"{path}, line {line}", line)
    if not any(value is not None for given in seen.values.values() for value in given.values()):
        raise DataError(f"{path} holds no ratings; it needs rows of item, rater, value")
    for tag in tags:
        if seen.names.get(tag):
            raise DataError(seen.names[tag])
    if seen.names.get("question"):
        raise DataError(seen.names["question"])
    raters = tuple(seen.raters)
    several = len({aspect for _, aspect in seen.values}) > 1
    keys = list(seen.values)
    # "question" is a tag of an item that has a name of its own, and else its name.
    questions = [seen.tags[key].get("question", key[0]) for key in keys]
    names = [name for name, torn in seen.names.items() if name != "question" and not torn]
    return Ratings(
        items=tuple(f"{item} · {aspect}" if several and aspect else item for item, aspect in keys),
        raters=raters,
        values=tuple(tuple(seen.values[key].get(rater) for rater in raters) for key in keys),
        questions=tuple(questions) if len(set(questions)) < len(questions) else (),
        tags={
            **({ASPECT: tuple(aspect for _, aspect in keys)} if any(aspect for _, aspect in keys) else {}),
            **{name: tuple(seen.tags[key].get(name, "") for key in keys) for name in names},
        },
    )


def _take(seen: _Seen, row: Mapping[str, object], where: str, line: int) -> None:
    item_column, item = _name(row, ITEM, where)
    rater_column, rater = _name(row, RATER, where)
    value_column = _present(row, VALUE, where)
    value = _mark(row[value_column], value_column, where)
    aspect = _plain(row.get(ASPECT), ASPECT, where)
    key = item, aspect
    if (key, rater) in seen.lines:
        what = brief(item) + (f", {brief(aspect)}," if aspect else "")
        first = seen.lines[key, rater]
        raise DataError(f"{where}: a second rating of {what} by {brief(rater)}; the first is in line {first}")
    seen.lines[key, rater] = line
    seen.values.setdefault(key, {})[rater] = value
    seen.raters.setdefault(rater)
    mine = seen.tags.setdefault(key, {})
    for name, given in row.items():
        if name in (item_column, rater_column, value_column, ASPECT, "tags") or isinstance(given, (dict, list)):
            continue
        tag = _plain(given, name, where)
        seen.names.setdefault(name, "")
        if tag and mine.setdefault(name, tag) != tag and not seen.names[name]:
            seen.names[name] = (
                f"{where}: {name[:_SHOWN]} of {brief(item)} is {brief(tag)}, and {brief(mine[name])} above"
            )


def _present(row: Mapping[str, object], names: tuple[str, ...], where: str) -> str:
    for name in names:
        if name in row:
            return name
    has = ", ".join(brief(name) for name in list(row)[:20])
    raise DataError(f"{where}: no column {' or '.join(map(repr, names))}; it has: {has or 'none'}")


def _name(row: Mapping[str, object], names: tuple[str, ...], where: str) -> tuple[str, str]:
    column = _present(row, names, where)
    value = row[column]
    if isinstance(value, bool) or not isinstance(value, (str, int)) or not str(value).strip():
        raise DataError(f"{where}: {column} {brief(value)} is no name")
    return column, str(value).strip()


def _plain(value: object, name: str, where: str) -> str:
    if isinstance(value, (dict, list)):
        raise DataError(f"{where}: {name[:_SHOWN]} {brief(value)} is no plain value")
    return "" if value is None else str(value).strip()


def _mark(value: object, column: str, where: str) -> float | None:
    if value is None or (isinstance(value, str) and not value.strip()):
        return None
    try:
        mark = float("no number") if isinstance(value, bool) or "_" in str(value) else float(str(value))
    except ValueError:
        if _DECIMAL_COMMA.fullmatch(str(value).strip()):
            raise DataError(f"{where}: {column} {brief(value)} has a decimal comma: write decimal points") from None
        raise DataError(
            f"{where}: {column} {brief(value)} is no number; leave it empty where there is no rating, and write marks "
            f"that are names as numbers (with {option('level', 'nominal')})"
        ) from None
    if not math.isfinite(mark) or abs(mark) > LARGEST:
        raise DataError(f"{where}: {column} {brief(value)} is no mark; leave it empty where there is no rating")
    return mark + 0.0  # no minus zero
