"""The rows of a JSON document, whichever way it holds them: a list, one list in an object, columns, or rows by key."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from viva.errors import DataError

Record = dict[str, Any]
KEY, VALUE = "$key", "$value"
"""Columns of a document that is an object with a row, or a text, behind every key."""
_FEWEST_PAIRS = 10
"""An object with fewer texts is one row, and no table of keys and values."""


def listed(found: object, name: str) -> list[Record]:
    """Return the rows of a JSON document. Raises DataError where it holds none, or several lists of them."""
    if isinstance(found, dict):
        found = _of_object(found, name)
    if not isinstance(found, list) or not _is_records(found):
        empty = found in ([], {})
        raise DataError(f"{name}: there is no row in it" if empty else f"{name} is no list of JSON objects")
    return [row["row"] if set(row) >= {"row_idx", "row"} and isinstance(row["row"], dict) else row for row in found]


def _of_object(found: dict[str, Any], name: str) -> object:
    lists = {key: value for key, value in found.items() if _is_records(value)}
    if len(lists) == 1:
        return next(iter(lists.values()))
    if len(lists) > 1:
        raise DataError(f"{name} holds several lists ({', '.join(map(repr, list(lists)[:5]))}): save one as a file")
    if (columns := _columns(found)) is not None:
        return columns
    if found and all(isinstance(value, dict) for value in found.values()):
        return [{KEY: key, **value} for key, value in found.items()]
    if len(found) >= _FEWEST_PAIRS and all(isinstance(value, str) for value in found.values()):
        return [{KEY: key, VALUE: value} for key, value in found.items()]
    return [found] if found else []


def _columns(found: dict[str, Any]) -> list[Record] | None:
    """The rows of a document that holds columns: {column: [cell, …]}, {column: {number: cell}}, or {columns, data}."""
    names, cells, values = found.get("columns"), found.get("data"), list(found.values())
    if isinstance(names, list) and isinstance(cells, list):
        fits = all(isinstance(name, str) for name in names)
        fits = fits and all(isinstance(row, list) and len(row) == len(names) for row in cells)
        return [dict(zip(names, row, strict=True)) for row in cells] if fits else None
    if len(found) > 1 and all(isinstance(value, list) and len(value) == len(values[0]) > 0 for value in values):
        return [dict(zip(found, row, strict=True)) for row in zip(*values, strict=True)]
    numbered = (isinstance(value, dict) and value and all(map(str.isdecimal, value)) for value in values)
    if len(found) > 1 and all(numbered) and all(value.keys() == values[0].keys() for value in values):
        return [{column: found[column][key] for column in found} for key in values[0]]
    return None


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)


def unnested(row: Record) -> Iterator[Record]:
    """The questions of a row that holds several: SQuAD's articles with their `paragraphs`, and the `qas` of those.

    What stands beside such a list (title, context) is in every one of its questions.
    """
    for inner in ("paragraphs", "qas"):
        parts = row.get(inner)
        if _is_records(parts) and (inner == "qas" or any("qas" in part for part in parts or ())):
            beside: Mapping[str, Any] = {key: value for key, value in row.items() if key != inner}
            for part in parts or ():
                yield from unnested({**beside, **part})
            return
    yield row
