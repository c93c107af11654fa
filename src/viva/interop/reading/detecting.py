"""Detection, from its content, of the tool that wrote a file."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path

from viva.errors import DataError, option
from viva.interop.reading import FORMS, PLAIN
from viva.interop.reading.rows import START
from viva.io import bounded

_TOOLS = {form: importlib.import_module(place) for form, place in FORMS.items() if form != PLAIN}


def form_of(paths: Sequence[Path]) -> str:
    """Return the form of all the files. Raises DataError for files of several forms."""
    kinds = dict.fromkeys(map(_form, paths))
    if len(kinds) > 1:
        first, second, *_ = kinds
        raise DataError(
            f"these files are of several kinds ({first} and {second}): grade them apart, or say "
            f"{option('wrote', 'NAME')}"
        )
    return next(iter(kinds))


def _form(path: Path) -> str:
    if path.is_dir():
        return _of_folder(path)
    if not path.exists():
        return PLAIN  # its reader reports the missing file
    try:
        start = bounded.unpacked_head(path, START)
    except DataError:
        start = bounded.head(path, 0)  # refuses what cannot be opened; its reader refuses what cannot be unpacked
    # From the last form on: the first one's sign is words that any file may hold.
    return next((form for form, tool in reversed(_TOOLS.items()) if tool.looks_like(path, start)), PLAIN)


def _of_folder(path: Path) -> str:
    forms = {form: files[0] for form, tool in _TOOLS.items() if (files := tool.inside(path))}
    if len(forms) > 1:
        (a, first), (b, second), *_ = forms.items()
        raise DataError(
            f"{path} holds files of several kinds ({first.name}: {a}, {second.name}: {b}): say "
            f"{option('wrote', 'NAME')}, or give one"
        )
    return next(iter(forms), PLAIN)
