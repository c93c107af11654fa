"""Answers that other people's tools wrote down: lm-evaluation-harness, Inspect, OpenCompass, Hugging Face datasets.

A reader (`FORMS`, written by hand) turns files into `rows.Log`s: what was asked, as far as it can be told, and what was
answered. `matching` finds out which of our questions each was. All of it is hostile text, bounded in size.
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
"""Form → module that holds `read(paths, columns)`."""
PLAIN = "plain"


def read_logs(form: str, paths: Sequence[Path], columns: Columns) -> list[Log]:
    """Return what the files hold, a log a model. Raises DataError for files that cannot be read as `form`."""
    for path in paths:
        if not path.exists():
            raise DataError(f"there is no answer file {path}")
    module = importlib.import_module(FORMS[form])
    read = cast("Callable[[Sequence[Path], Columns], list[Log]]", module.read)
    logs = read(paths, columns)
    if not any(log.items for log in logs):
        raise DataError(f"{', '.join(map(str, paths))} holds no answers that {form} would have written")
    return logs
