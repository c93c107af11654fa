"""The dump as Parquet: one table of posts, in one file or several, as the usual conversions have it.

Columns are found by name, whatever their case and underscores: Id, PostTypeId, AcceptedAnswerId, ParentId,
CreationDate, Score, ViewCount, Tags, Title, Body (so `post_type_id` is one, too). Figures may be texts, dates dates or
texts, tags a list or one text. Polars reads the narrow columns of some hundred thousand rows at a time, and texts only
of what is wanted; how much memory that takes is up to the size of the files' row groups.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from viva.build.stackexchange.scan import FIGURES, Block, Row, block_of, placer, row_of
from viva.build.stackexchange.tagtree import TagTree
from viva.contracts import WorkerPool
from viva.errors import DataError
from viva.visible import one_line

SLICE = 200_000
"""Rows that are read at a time."""
NARROW = (*FIGURES, "CreationDate", "Tags")
WIDE = (*NARROW, "Title", "Body")


class ParquetFiles:
    """Files that are read one after the other."""

    unit = "row"

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths = paths
        self.size = sum(path.stat().st_size for path in paths)
        self.done = 0

    def blocks(self, workers: WorkerPool, tree: TagTree) -> Iterator[Block]:
        """Read in this process; Polars has threads of its own."""
        place = placer(tree)
        self.done = 0
        for path in self._paths:
            frame = _scan(path, NARROW)
            rows = _collected(frame.select(_pl().len()), path).item()
            for start in range(0, rows, SLICE):
                yield _block(_collected(frame.slice(start, SLICE), path), place)
                self.done += path.stat().st_size * min(SLICE, rows - start) // rows

    def texts(self, workers: WorkerPool, wanted: frozenset[int]) -> Iterator[list[Row]]:
        """Filtered by Polars."""
        pl = _pl()
        self.done = 0
        for path in self._paths:
            frame = _scan(path, WIDE)
            asked = pl.lit(pl.Series(sorted(wanted), dtype=pl.Int64))
            mine = (pl.col("PostTypeId") == 1) & pl.col("Id").is_in(asked.implode())
            mine |= (pl.col("PostTypeId") == 2) & pl.col("ParentId").is_in(asked.implode())
            yield [row_of(values) for values in _collected(frame.filter(mine), path).iter_rows(named=True)]
            self.done += path.stat().st_size


def _pl() -> Any:
    import polars

    return polars


def _collected(frame: Any, path: Path) -> Any:
    import polars

    try:
        return frame.collect(engine="streaming")
    except (polars.exceptions.PolarsError, OSError) as problem:
        raise DataError(f"cannot read {path} as Parquet: {one_line(str(problem), 200)}") from None


def _scan(path: Path, names: Sequence[str]) -> Any:
    """Return the columns under their names in Posts.xml, with their types. Raises DataError."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path)
        schema = frame.collect_schema()
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise DataError(f"cannot read {path} as Parquet: {one_line(str(problem), 200)}") from None
    there = {name.replace("_", "").lower(): name for name in schema}
    missing = [name for name in names if name.lower() not in there]
    if missing:
        raise DataError(
            f"{path} has no column {', '.join(missing)}; it has {one_line(', '.join(schema), 300)}. "
            "One table of all posts is needed, questions and answers, with Posts.xml's attributes as columns"
        )
    columns = []
    for name in names:
        column, kind = pl.col(there[name.lower()]), schema[there[name.lower()]]
        if name == "CreationDate":
            column = column.str.slice(0, 10).str.to_date(strict=False) if kind == pl.String else column.cast(pl.Date)
        elif name == "Tags":
            column = column if kind == pl.String else column.cast(pl.List(pl.String)).list.join("><")
        elif name in ("Title", "Body"):
            column = column.cast(pl.String)
        else:
            column = column.cast(pl.Int64, strict=False)
        columns.append(column.alias(name))
    return frame.select(columns)


def _block(frame: Any, place: Callable[[str], int]) -> Block:
    """Return rows as columns."""
    figures = {name: frame[name].fill_null(missing).to_numpy() for name, missing in FIGURES.items()}
    days = frame["CreationDate"].to_physical().fill_null(-1).to_numpy().astype(np.int64)
    return block_of(figures, days, frame["Tags"], place, lambda row: f"Id {figures['Id'][row]}".encode())
