"""Hugging Face datasets: a folder of Parquet, or of Arrow as `save_to_disk` leaves it; and such files alone.

Read with Polars, in slices, without the `datasets` library: no script that comes with a data set is ever run.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viva.interop.reading.rows import Columns, Log, Meter
from viva.interop.reading.tables import item_of
from viva.io import columnar

_KINDS = (".parquet", ".arrow", ".feather")


def files_in(path: Path) -> list[Path]:
    """Return the tables of a folder, of all its splits; the cache files of `datasets` are none."""
    if not path.is_dir():
        return [path]
    found = (one for kind in _KINDS for one in path.rglob(f"*{kind}"))
    return sorted(one for one in found if one.is_file() and not one.name.startswith(("cache-", ".")))


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return one log of all the tables."""
    log = Log(form="dataset", model="", items=[])
    for path in paths:
        meter = Meter(path)
        for file in files_in(path):
            for number, row in columnar.rows(file):
                log.items.append(meter.add(item_of(row, str(path), f"{file}, row {number}", columns)))
    return [log]
