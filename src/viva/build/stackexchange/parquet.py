"""The dump as Parquet: one table of posts, in one file or several, as the usual conversions have it.

Columns are found by name, whatever their case and underscores: Id, PostTypeId, AcceptedAnswerId, ParentId,
CreationDate, Score, ViewCount, Tags, Title, Body (so `post_type_id` is one, too). Figures may be texts, dates dates or
texts, tags a list or one text. Polars reads the narrow columns of some hundred thousand rows at a time, and texts only
of what is wanted; how much memory that takes is up to the size of the files' row groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from viva.build.stackexchange.scan import (
    ANSWER,
    LAST_DAY,
    MAX_CACHE,
    MAX_COUNT,
    MAX_ID,
    OTHER,
    QUESTION,
    TOLD,
    Block,
    Broken,
    Row,
    row_of,
    split_tags,
)
from viva.build.stackexchange.tagtree import TagTree
from viva.contracts import WorkerPool
from viva.errors import DataError
from viva.visible import one_line

SLICE = 200_000
"""Rows that are read at a time."""
NARROW = ("Id", "PostTypeId", "AcceptedAnswerId", "ParentId", "CreationDate", "Score", "ViewCount", "Tags")
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
        places: dict[str, int] = {}
        self.done = 0
        for path in self._paths:
            frame = _scan(path, NARROW)
            rows = _collected(frame.select(_pl().len()), path).item()
            for start in range(0, rows, SLICE):
                yield _block(_collected(frame.slice(start, SLICE), path), tree, places)
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


def _block(frame: Any, tree: TagTree, places: dict[str, int]) -> Block:
    """Return rows as columns; rows without what they need are broken."""

    def figures(name: str, missing: int) -> np.ndarray[Any, Any]:
        found: np.ndarray[Any, Any] = frame[name].fill_null(missing).to_numpy()
        return found

    ids, kinds, scores = figures("Id", -1), figures("PostTypeId", -1), figures("Score", MAX_COUNT + 1)
    parents, views, accepted = figures("ParentId", -1), figures("ViewCount", 0), figures("AcceptedAnswerId", 0)
    days = frame["CreationDate"].to_physical().fill_null(-1).to_numpy()
    asks, answers = kinds == 1, kinds == 2
    tests = {
        "no Id": (ids <= 0) | (ids > MAX_ID),
        "no date": (days <= 0) | (days > LAST_DAY),
        "no PostTypeId": kinds < 0,
        "no ViewCount": asks & ((views < 0) | (views > MAX_COUNT)),
        "no answer": asks & ((accepted < 0) | (accepted > MAX_COUNT)),
        "an answer without ParentId": answers & ((parents < 0) | (parents > MAX_ID)),
        "no Score": answers & (np.abs(scores) > MAX_COUNT),
    }
    well = np.ones(len(ids), np.bool_)
    told: list[Broken] = []
    broken: dict[str, int] = {}
    for kind, bad in tests.items():
        some = np.flatnonzero(bad & well)
        if len(some):
            broken[kind] = len(some)
            told += [Broken(int(place), kind, f"Id {ids[place]}".encode()) for place in some[:TOLD]]
        well &= ~bad
    asks, answers = asks & well, answers & well
    if len(places) > MAX_CACHE:  # a block fits in besides; the site has millions of combinations of tags
        places.clear()
    for tags in frame["Tags"].filter(_pl().Series(asks)).unique():
        if tags not in places:
            places[tags] = tree.place(split_tags(tags or ""))
    own = [places[tags] for tags in frame["Tags"].filter(_pl().Series(asks))]
    return Block(
        lines=len(ids),
        bytes=0,
        ids=ids[well].astype(np.uint32),
        kinds=np.where(asks, QUESTION, np.where(answers, ANSWER, OTHER))[well].astype(np.uint8),
        days=days[asks].astype(np.uint16),
        views=views[asks].astype(np.uint32),
        accepted=accepted[asks].astype(np.uint32),
        places=np.array(own, np.uint8),
        parents=parents[answers].astype(np.uint32),
        liked=scores[answers] > 0,
        newest=int(days[well].max(initial=0)),
        told=sorted(told)[:TOLD],
        broken=broken,
        closed=True,
    )
