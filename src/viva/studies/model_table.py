"""A table of figures: a row a model, a column a measure, as papers print them. CSV in UTF-8, also gzipped.

    model,tf,mc
    GPT4,81.88,88.19

The first column (or one called `model`) names the rows; a column is of figures where every field is a finite number or
empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.sizes.families import FEWEST, are_groups
from viva.errors import DataError, VivaError, flag
from viva.fields import note
from viva.io.tables import Row, read_csv, table_text
from viva.runs.score_table import QUESTION, SAMPLE, SCORE, refuse_other_separators, rows_of
from viva.visible import one_line, some


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
    header, rows = _read(path, table_text(path))
    lines = list(rows)
    if len(header) < fewest:
        figures = "one" if fewest == 2 else "two"
        raise DataError(
            f"{path}, line 1: needs a column of names and {figures} of figures; it has {len(header)} columns"
        )
    key = "model" if "model" in header else header[0]
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
    for column in header:
        if column == key:
            continue
        cells = [row[column].strip() for _, row in lines]
        bad = next((f"line {line}: {row[column][:60]!r}" for line, row in lines if not _is_figure(row[column])), "")
        if bad:
            words[column] = bad
            texts[column] = tuple(cells)
        else:
            columns[column] = tuple(float(cell) if cell else None for cell in cells)
    return WideTable(rows=tuple(names), columns=columns, words=words, texts=texts)


def is_wide(path: Path) -> bool:
    """Return a CSV that is no table of item scores: those have a question, a sample and a score a row."""
    if path.is_dir() or not path.name.removesuffix(".gz").endswith(".csv"):
        return False
    header, _ = _read(path, table_text(path).split("\n", 1)[0] + "\n")
    return not all(any(name in header for name in names) for names in (QUESTION, SAMPLE, SCORE))


def only_model_table(paths: Sequence[Path]) -> Path | None:
    """Return the table of a row a model, where these are such a table; None for runs and tables of item scores.

    Raises VivaError for one among others.
    """
    wide = next((path for path in paths if is_wide(path)), None)
    if wide is not None and len(paths) > 1:
        raise VivaError(f"{wide} is a table of a row a model: name it alone, or only runs and tables of item scores")
    return wide


def _is_figure(text: str) -> bool:
    if not text.strip():
        return True
    try:
        return "_" not in text and math.isfinite(float(text))
    except ValueError:
        return False


def _read(path: Path, text: str) -> tuple[list[str], Iterator[Row]]:
    return read_csv(path, text, check=partial(refuse_other_separators, path))


NONE = "none"
Families = Annotated[
    str | None,
    note(
        "Table `model,family`: models of one family are no independent ones; `none`: all are.  "
        "[default: by name, the part before the size]",
        metavar="FILE|none",
    ),
]
_SIZE = re.compile(r"\d+(?:\.\d+)?(?:\s*[x×]\s*\d+(?:\.\d+)?)?\s*b(?![a-z])", re.IGNORECASE)
_NAMED = 3
"""Families that a note names."""
_MODELS = 6
"""Models that a note or an error names."""


def family_of(model: str) -> str:
    """Return a model's family by its name: what stands before its size ("Qwen1.5-110B" → "Qwen1.5"); "" where none
    stands.
    """
    name = model.rpartition("/")[2]
    found = _SIZE.search(name)
    return name[: found.start()].rstrip(" -_") if found else ""


def read_families(path: Path, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family by a table `model,family`; its own name where the table has none, which `notes`
    gets.
    """
    found: dict[str, str] = {}
    for line, row in rows_of(path):
        if not row.get("model") or not row.get("family"):
            raise DataError(f"{path}, line {line}: a table of families has columns model and family, both filled")
        found[str(row["model"])] = str(row["family"])
    missing = sorted({model for model in models if model not in found})
    if len(missing) == len(set(models)):
        raise DataError(f"{path} names no model that is here; it has {_some(found)}, and here are {_some(missing)}")
    if missing:
        notes.append(f"{path.name} has no family of {_some(missing)}: each counts as its own.")
    return [found.get(model, model) for model in models]


def _some(names: Iterable[str]) -> str:
    return some([one_line(name, 40) for name in names], _MODELS)


def families_of(given: str | None, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family for `--families`, and what was made of it into `notes`; none where each model is its
    own, and where there are too few families to say anything of a further one (`analysis.families.FEWEST`).
    """
    if given == NONE:
        return []
    found = (
        [family_of(model) or model for model in models] if given is None else read_families(Path(given), models, notes)
    )
    how = "By their names" if given is None else f"By {Path(given).name}"
    counts = sorted(((found.count(name), name) for name in set(found)), key=lambda one: (-one[0], one[1]))
    if are_groups(found):
        largest = ", ".join(f"{one_line(name, 40)} {count:,}" for count, name in counts[:_NAMED])
        notes.append(
            f"{how}, {len(models):,} rows are of {len(counts):,} families ({largest}, ...), which are drawn together: "
            f"{'--families FILE names them better, ' if given is None else ''}{flag('families')} none takes all "
            "rows as "
            "independent."
        )
        return found
    if given is not None and len(counts) == len(found):
        notes.append(f"{how}, no two rows are of one family, so that all are taken as independent.")
    if len(counts) < len(found):
        notes.append(
            f"{how}, these rows are of {len(counts):,} families, and fewer than {FEWEST} say nothing of others: "
            "intervals and p are for further models of the same."
        )
    return []
