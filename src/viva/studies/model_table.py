"""Tables of models: a row for each model, a column for each measure, from papers, runs and files.

    model,tf,mc
    GPT4,81.88,88.19

That is such a table as CSV in UTF-8, also gzipped. The first column (or one called `model`) names the rows; a column is
of figures where every field is a finite number or empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.analysis.sizes.families import FEWEST, are_groups
from viva.errors import DataError, VivaError, flag
from viva.fields import note
from viva.io.tables import Row, read_csv, table_text
from viva.published import table
from viva.runs.score_table import QUESTION, SAMPLE, SCORE, refuse_other_separators, rows_of
from viva.visible import one_line, some


class ModelTable(Struct, frozen=True, kw_only=True):
    """Models and their figures, both in their order."""

    title: str
    columns: Mapping[str, Mapping[str, Estimate]]
    """Column → model → its figure, on the table's own scale; an empty `Estimate` if missing."""
    words: Mapping[str, Mapping[str, str]] = {}
    """Column of text → model → the field."""
    strange: Mapping[str, str] = {}
    """Column of text → the field that is no figure, with its line."""
    first: tuple[str, ...] = ()
    """Columns used by default; empty for all."""
    labels: Mapping[str, str] = {}
    """Column → its label in charts, if it has one."""
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> list[str]:
        """Names of all models."""
        return list(dict.fromkeys(name for given in (*self.columns.values(), *self.words.values()) for name in given))


def read_models(path: Path, fewest: int = 3) -> ModelTable:
    """Return the table. Raises DataError with the line for a damaged file, unnamed or duplicate rows or columns, or
    fewer columns.
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
    fields = {column: {row[key]: row[column].strip() for _, row in lines} for column in header if column != key}
    strange = {
        column: next((f"line {line}: {row[column][:60]!r}" for line, row in lines if not _is_figure(row[column])), "")
        for column in fields
    }
    return ModelTable(
        title=path.name,
        columns={
            column: {model: Estimate(mean=float(cell) if cell else None) for model, cell in given.items()}
            for column, given in fields.items()
            if not strange[column]
        },
        words={column: given for column, given in fields.items() if strange[column]},
        strange={column: bad for column, bad in strange.items() if bad},
    )


def published_models(benchmark: str, name: str, *, every_row: bool = False) -> ModelTable:
    """Return a published table's figures in per cent; `every_row`: of its baselines, too."""
    known = table(benchmark, name)
    entries = known.entries if every_row else known.models
    columns = [column for column in known.columns if column.unit == "%"]
    words = dict.fromkeys(word for entry in entries for word in entry.words)
    return ModelTable(
        title=known.title,
        columns={
            column.name: {entry.name: Estimate(mean=entry.figures.get(column.name)) for entry in entries}
            for column in columns
        },
        words={word: {entry.name: entry.words.get(word, "") for entry in entries} for word in words},
        labels={column.name: column.label for column in columns},
    )


def is_wide(path: Path) -> bool:
    """Return whether a file is a CSV other than item scores, which have columns of question, sample and score."""
    if path.is_dir() or not path.name.removesuffix(".gz").endswith(".csv"):
        return False
    header, _ = _read(path, table_text(path).split("\n", 1)[0] + "\n")
    return not all(any(name in header for name in names) for names in (QUESTION, SAMPLE, SCORE))


def only_model_table(paths: Sequence[Path]) -> Path | None:
    """Return the path if the sources are a single table of models; None for runs and tables of item scores.

    Raises VivaError for such a table among other sources.
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
"""The most families named in a note."""
_MODELS = 6
"""The most models named in a note or an error."""


def family_of(model: str) -> str:
    """Return a model's family: the part of its name before the size ("Qwen1.5-110B" → "Qwen1.5"); "" without a size."""
    name = model.rpartition("/")[2]
    match = _SIZE.search(name)
    return name[: match.start()].rstrip(" -_") if match else ""


def read_families(path: Path, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family from a table `model,family`; if missing there, its own name, with a note in
    `notes`.
    """
    by_model: dict[str, str] = {}
    for line, row in rows_of(path):
        if not row.get("model") or not row.get("family"):
            raise DataError(f"{path}, line {line}: a table of families has columns model and family, both filled")
        by_model[str(row["model"])] = str(row["family"])
    missing = sorted({model for model in models if model not in by_model})
    if len(missing) == len(set(models)):
        raise DataError(f"{path} names no model that is here; it has {_some(by_model)}, and here are {_some(missing)}")
    if missing:
        notes.append(f"{path.name} has no family of {_some(missing)}: each counts as its own.")
    return [by_model.get(model, model) for model in models]


def _some(names: Iterable[str]) -> str:
    return some([one_line(name, 40) for name in names], _MODELS)


def families_of(given: str | None, models: Sequence[str], notes: list[str]) -> list[str]:
    """Return each model's family for `--families`, with remarks in `notes`; empty where each model is its own, and
    where there are too few families (`analysis.sizes.families.FEWEST`).
    """
    if given == NONE:
        return []
    names = (
        [family_of(model) or model for model in models] if given is None else read_families(Path(given), models, notes)
    )
    how = "By their names" if given is None else f"By {Path(given).name}"
    counts = sorted(((names.count(name), name) for name in set(names)), key=lambda entry: (-entry[0], entry[1]))
    if are_groups(names):
        largest = ", ".join(f"{one_line(name, 40)} {count:,}" for count, name in counts[:_NAMED])
        notes.append(
            f"{how}, {len(models):,} rows are of {len(counts):,} families ({largest}, ...), which are drawn together: "
            f"{'--families FILE names them better, ' if given is None else ''}{flag('families')} none takes all "
            "rows as "
            "independent."
        )
        return names
    if given is not None and len(counts) == len(names):
        notes.append(f"{how}, no two rows are of one family, so that all are taken as independent.")
    if len(counts) < len(names):
        notes.append(
            f"{how}, these rows are of {len(counts):,} families, and fewer than {FEWEST} say nothing of others: "
            "intervals and p are for further models of the same."
        )
    return []
