"""Hugging Face datasets: a folder of Parquet, or of Arrow as `save_to_disk` leaves it; and such files alone.

Read with Polars, in slices, without the `datasets` library: no script that comes with a data set is ever run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viva.errors import DataError
from viva.interop.reading.rows import MOST_ITEMS, Columns, Log, Meter
from viva.interop.reading.tables import item_of

if TYPE_CHECKING:
    import polars as pl

_SLICE = 10_000
_KINDS = (".parquet", ".arrow", ".feather")


def files_in(path: Path) -> list[Path]:
    """The tables of a folder, of all its splits; the cache files of `datasets` are none."""
    if not path.is_dir():
        return [path]
    found = (one for kind in _KINDS for one in path.rglob(f"*{kind}"))
    return sorted(one for one in found if one.is_file() and not one.name.startswith(("cache-", ".")))


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """One log of all the tables."""
    log = Log(form="dataset", model="", items=[])
    for path in paths:
        meter = Meter(path)
        for file in files_in(path):
            for number, row in _rows(file):
                log.items.append(meter.add(item_of(row, str(path), f"{file}, row {number}", columns)))
    return [log]


def _rows(file: Path) -> Iterator[tuple[int, dict[str, object]]]:
    """The rows, counted from 0."""
    import polars as pl

    try:
        table = pl.scan_parquet(file) if _is_parquet(file) else _arrow(file).lazy()
        height = int(table.select(pl.len()).collect().item())
        if height > MOST_ITEMS:
            raise DataError(f"{file} has {height:,} rows; {MOST_ITEMS:,} are the most: give it in parts")
        for start in range(0, height, _SLICE):
            part = table.slice(start, _SLICE).collect()
            yield from enumerate(part.iter_rows(named=True), start)
    except (pl.exceptions.PolarsError, OSError, ValueError) as problem:
        raise DataError(f"{file} is no table that can be read: {str(problem).splitlines()[0][:200]}") from None


def _is_parquet(file: Path) -> bool:
    with file.open("rb") as content:
        return content.read(4) == b"PAR1"


def _arrow(file: Path) -> pl.DataFrame:
    """Arrow as a file or, as `save_to_disk` writes it, as a stream."""
    import polars as pl

    with file.open("rb") as content:
        whole = content.read(6) == b"ARROW1"
    return pl.read_ipc(file) if whole else pl.read_ipc_stream(file)
