"""A table of figures: a row a model, a column a measure, as papers print them. CSV in UTF-8, also gzipped.

    model,tf,mc
    GPT4,81.88,88.19

The first column (or one called `model`) names the rows; a column is of figures where every field is a finite number or
empty.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from viva.errors import DataError, VivaError
from viva.io.tables import read_csv, table_text
from viva.runs.score_table import QUESTION, SAMPLE, SCORE, refuse_other_separators


class WideTable(Struct, frozen=True, kw_only=True):
    """A table's rows and its columns of figures, both in their order."""

    rows: tuple[str, ...]
    columns: Mapping[str, tuple[float | None, ...]]
    words: Mapping[str, str]
    """Columns that are no figures → the field, with its line, that is none."""
    texts: Mapping[str, tuple[str, ...]] = {}
    """The same columns → their fields."""
    partial: frozenset[str] = frozenset()
    """Rows whose figures are means of runs that leave something out."""


def read_wide(path: Path, fewest: int = 3) -> WideTable:
    """Return the table. Raises DataError with the line for what is torn, unnamed or there twice, or has fewer
    columns.
    """
    header, lines = _rows(path, table_text(path))
    if len(header) < fewest:
        figures = {2: "one", 3: "two"}.get(fewest, str(fewest - 1))
        raise DataError(
            f"{path}, line 1: needs a column of names and {figures} of figures; it has {len(header)} columns"
        )
    key = header.index("model") if "model" in header else 0
    names: dict[str, int] = {}
    for line, row in lines:
        if row[key] in names:
            raise DataError(f"{path}, line {line}: {row[key][:60]!r} is there twice, first in line {names[row[key]]}")
        names[row[key]] = line
    if not names:
        raise DataError(f"{path} holds no rows below its header")
    columns: dict[str, tuple[float | None, ...]] = {}
    words: dict[str, str] = {}
    texts: dict[str, tuple[str, ...]] = {}
    for index, column in enumerate(header):
        if index == key:
            continue
        bad = next(((line, row[index]) for line, row in lines if not _is_figure(row[index])), None)
        if bad is not None:
            words[column] = f"line {bad[0]}: {bad[1][:60]!r}"
            texts[column] = tuple(row[index].strip() for _, row in lines)
        else:
            columns[column] = tuple(float(row[index]) if row[index].strip() else None for _, row in lines)
    return WideTable(rows=tuple(names), columns=columns, words=words, texts=texts)


def is_wide(path: Path) -> bool:
    """Return a CSV that is no table of item scores: those have a question, a sample and a score a row."""
    if path.is_dir() or not path.name.removesuffix(".gz").endswith(".csv"):
        return False
    header = header_of(path)
    return not all(any(name in header for name in names) for names in (QUESTION, SAMPLE, SCORE))


def only_model_table(paths: Sequence[Path]) -> Path | None:
    """Return the table of a row a model, where these are such a table; None for runs and tables of item scores.

    Raises VivaError for one among others.
    """
    wide = next((path for path in paths if is_wide(path)), None)
    if wide is not None and len(paths) > 1:
        raise VivaError(f"{wide} is a table of a row a model: name it alone, or only runs and tables of item scores")
    return wide


def header_of(path: Path) -> Sequence[str]:
    """Return the names in the first line."""
    return _rows(path, table_text(path).split("\n", 1)[0] + "\n")[0]


def _is_figure(text: str) -> bool:
    if not text.strip():
        return True
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def _rows(path: Path, text: str) -> tuple[list[str], list[tuple[int, list[str]]]]:
    header, rows = read_csv(path, text, check=partial(refuse_other_separators, path))
    return header, [(line, list(row.values())) for line, row in rows]
