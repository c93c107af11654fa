"""Tables of one's own, CSV or JSONL, whose columns are named with --question-column and --text-column."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import cast

from viva.errors import DataError
from viva.interop.reading import bounded
from viva.interop.reading.rows import Columns, Log, Meter
from viva.interop.reading.tables import item_of


def read(paths: Sequence[Path], columns: Columns) -> list[Log]:
    """One log of all the files."""
    log = Log(form="plain", model="", items=[])
    for path in paths:
        meter = Meter(path)
        table = path.name.removesuffix(".gz").endswith(".csv")
        for line, row in _csv_rows(path) if table else bounded.rows(path):
            log.items.append(meter.add(item_of(row, str(path), f"{path}, line {line}", columns)))
    return [log]


def _csv_rows(path: Path) -> Iterator[tuple[int, dict[str, object]]]:
    content = bounded.content(path)
    usual = csv.field_size_limit(bounded.LONGEST_LINE)  # a reply may be longer than 128 KiB
    try:
        reader = csv.DictReader(io.StringIO(content.decode("utf-8-sig"), newline=""), strict=True)
        for row in reader:
            if None in row or None in row.values():
                raise DataError(f"{path}, line {reader.line_num}: another number of columns than the header names")
            yield reader.line_num, cast("dict[str, object]", dict(row))
    except (csv.Error, UnicodeDecodeError) as problem:
        raise DataError(f"{path} is no CSV in UTF-8: {problem}") from None
    finally:
        csv.field_size_limit(usual)
