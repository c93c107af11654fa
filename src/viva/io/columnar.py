"""Reading Parquet and Arrow with Polars, in slices and within bounds; no script of a data set is ever run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from viva.errors import DataError
from viva.files import RATIO
from viva.io.bounded import head

if TYPE_CHECKING:
    import polars as pl

MOST_ROWS = 5_000_000
"""Most rows of one file; the largest published set has 14,700."""
_SLICE = 10_000
_CELL = 256
"""Bytes counted for a value, to cover its cost as a Python object."""
_SMALL = 256 << 20
"""Unpacked bytes that are harmless at any ratio: prompts with equal exemplars pack well."""


def rows(file: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """Yield (number from 0, row). Raises DataError for a file that is no such table, or unpacks to far more than its
    size.
    """
    import polars as pl

    try:
        table = pl.scan_parquet(file) if head(file, 4) == b"PAR1" else _arrow(file).lazy()
        height = int(table.select(pl.len()).collect().item())
        if height > MOST_ROWS:
            raise DataError(f"{file} has {height:,} rows; {MOST_ROWS:,} are the most: give it in parts")
        _refuse_bomb(file, table, height)
        for start in range(0, height, _SLICE):
            part = table.slice(start, _SLICE).collect()
            yield from enumerate(part.iter_rows(named=True), start)
    except (pl.exceptions.PolarsError, OSError, ValueError) as problem:
        raise DataError(f"{file} is no table that can be read: {str(problem).splitlines()[0][:200]}") from None


def _refuse_bomb(file: Path, table: pl.LazyFrame, height: int) -> None:
    """Refuse a table far larger than its file, in which a value repeated millions of times takes a few bytes.

    Texts are measured by Polars, block by block, before any becomes a Python object; other cells count as `_CELL`
    bytes, and lists and structs as their size in Arrow. Raises DataError.
    """
    import polars as pl

    limit = max(_SMALL, RATIO * file.stat().st_size)
    schema = table.collect_schema()
    texts = [name for name, kind in schema.items() if kind in (pl.String, pl.Binary, pl.Categorical)]
    nested = [name for name, kind in schema.items() if kind.is_nested()]
    size = height * len(schema) * _CELL
    start, rows = 0, 64 if nested else _SLICE  # few rows may hold a whole bomb
    while start < height and size <= limit and (texts or nested):
        part = table.slice(start, rows).select(*texts, *nested).collect()
        start, rows = start + rows, min(2 * rows, _SLICE)
        size += sum(int(part[name].cast(pl.Binary).bin.size().sum() or 0) for name in texts)
        size += sum(_leaves(part[name]) * _CELL + int(part[name].estimated_size()) for name in nested)
    if size > limit:
        raise DataError(
            f"{file} holds far more than its {file.stat().st_size:,} bytes ({height:,} rows of {len(schema)} columns, "
            f"over {limit >> 20} MiB unpacked); it was not read: give it without repetition, or in parts"
        )


def _leaves(column: pl.Series) -> int:
    """Return the number of values in a column of lists and structs, at any depth."""
    import polars as pl

    if isinstance(column.dtype, pl.List):
        return _leaves(column.explode())
    if isinstance(column.dtype, pl.Array):
        return _leaves(column.arr.explode())
    if isinstance(column.dtype, pl.Struct):
        return sum(_leaves(column.struct.field(field.name)) for field in column.dtype.fields)
    return len(column)


def _arrow(file: Path) -> pl.DataFrame:
    """Read Arrow as a file or, as `save_to_disk` writes it, as a stream."""
    import polars as pl

    return pl.read_ipc(file) if head(file, 6) == b"ARROW1" else pl.read_ipc_stream(file)
