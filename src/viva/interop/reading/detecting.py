"""Detection, from its content, of the tool that wrote a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viva.errors import DataError, option
from viva.interop.reading import PLAIN, inspectlog, lmeval, opencompass, tables
from viva.io import bounded

_PACKED = b"PK\x03\x04"


def form_of(paths: Sequence[Path]) -> str:
    """Return the form of all the files. Raises DataError for files of several forms."""
    forms = {path: _form(path) for path in paths}
    kinds = dict.fromkeys(forms.values())
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
    return _of_file(path)


def _of_file(path: Path) -> str:
    start = bounded.head(path, 8)
    if start.startswith(_PACKED):
        return "inspect"
    if start.startswith((b"PAR1", b"ARROW1")) or path.suffix == ".arrow":
        return "dataset"
    try:
        content = bounded.unpacked_head(path, lmeval.HEAD)
    except DataError:
        return PLAIN
    if inspectlog.HEAD.match(content):
        return "inspect"
    if opencompass.HEAD.match(content):
        return "opencompass"
    return "lm-eval" if lmeval.looks_like(content) else PLAIN


def _of_folder(path: Path) -> str:
    tools = (("lm-eval", lmeval), ("inspect", inspectlog), ("dataset", tables), ("opencompass", opencompass))
    forms = {form: files[0] for form, tool in tools if (files := tool.inside(path))}
    if len(forms) > 1:
        (a, first), (b, second), *_ = forms.items()
        raise DataError(
            f"{path} holds files of several kinds ({first.name}: {a}, {second.name}: {b}): say "
            f"{option('wrote', 'NAME')}, or give one"
        )
    return next(iter(forms), PLAIN)
