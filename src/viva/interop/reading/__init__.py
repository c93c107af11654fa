"""Readers of other tools' logs of answers: lm-evaluation-harness, Inspect, OpenCompass, Hugging Face datasets.

A reader (`FORMS`) turns files into `rows.Log`s: what was asked, as far as the file says it, and what was answered.
`matching` finds the benchmark's question for each item. Files are untrusted; their size is bounded.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast

from viva.errors import DataError
from viva.interop.reading.rows import Columns, Log

FORMS: dict[str, str] = {
    "lm-eval": "viva.interop.reading.lmeval",
    "inspect": "viva.interop.reading.inspectlog",
    "opencompass": "viva.interop.reading.opencompass",
    "dataset": "viva.interop.reading.tables",
    "plain": "viva.interop.reading.tables",
}
"""Form → module with `read(paths, columns)`; `looks_like(path, start)`: whether a file that starts so is of the form;
`inside(folder)`: the files there that are.
"""
PLAIN = "plain"


def read_logs(form: str, paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return the logs in the files, one for each model. Raises DataError for files that cannot be read as `form`."""
    for path in paths:
        if not path.exists():
            raise DataError(f"there is no answer file {path}")
    module = importlib.import_module(FORMS[form])
    read = cast("Callable[[Sequence[Path], Columns], list[Log]]", module.read)
    logs = read(paths, columns)
    if not any(log.items for log in logs):
        raise DataError(f"{', '.join(map(str, paths))} holds no answers that {form} would have written")
    return logs
