"""Tables of one's own, CSV or JSONL, whose columns are named with --question-column and --text-column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from viva.interop.reading.rows import Columns, Log, Meter
from viva.interop.reading.tables import item_of
from viva.io import bounded
from viva.io.records import plain_stem
from viva.io.tables import read_csv, utf8


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return a log a file, named after it where there are several: `runs.answers` joins those that are parts of one."""
    logs: list[Log] = []
    for path in paths:
        log = Log(form="plain", model=plain_stem(path) if len(paths) > 1 else "", items=[])
        meter = Meter(path)
        table = path.name.removesuffix(".gz").endswith(".csv")
        for line, row in _csv_rows(path) if table else bounded.rows(path):
            log.items.append(meter.add(item_of(row, str(path), f"{path}, line {line}", columns)))
        logs.append(log)
    return logs


def _csv_rows(path: Path) -> Iterable[tuple[int, Mapping[str, object]]]:
    text = utf8(bounded.content(path), f"{path} is no CSV in UTF-8")
    return read_csv(path, text, longest=bounded.LONGEST_LINE, unnamed=True)[1]
