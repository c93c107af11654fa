"""Which tool wrote a file, told by its content."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from viva.errors import DataError, option
from viva.interop.reading import PLAIN, inspectlog, opencompass, tables
from viva.io import bounded

_HEAD = 1 << 16
_PACKED = b"PK\x03\x04"


def form_of(paths: Sequence[Path]) -> str:
    """Return the form of all the files. Raises DataError where they are of several."""
    found = {path: _form(path) for path in paths}
    kinds = dict.fromkeys(found.values())
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
        return PLAIN  # whose reader says that it is not there
    return _of_file(path)


def _of_file(path: Path) -> str:
    start = bounded.head(path, 8)
    if start.startswith(_PACKED):
        return "inspect"
    if start.startswith((b"PAR1", b"ARROW1")) or path.suffix == ".arrow":
        return "dataset"
    try:
        content = bounded.unpacked_head(path, _HEAD)
    except DataError:
        return PLAIN
    for form, tool in (("inspect", inspectlog), ("opencompass", opencompass)):
        if tool.looks_like(content):
            return form
    first = content.lstrip().partition(b"\n")[0]
    if first.startswith(b"{") and b'"doc_id"' in first and (b'"resps"' in first or len(first) >= _HEAD - 1):
        return "lm-eval"
    return PLAIN


def _of_folder(path: Path) -> str:
    found: dict[str, Path] = {}
    if one := next(iter([*path.rglob("samples_*.jsonl"), *path.rglob("samples_*.jsonl.gz")]), None):
        found["lm-eval"] = one
    if one := next(path.rglob("*.eval"), None):
        found["inspect"] = one
    if files := tables.files_in(path):
        found["dataset"] = files[0]
    for one in path.rglob("*.json"):
        if one.is_file() and not {"inspect", "opencompass"} <= found.keys():
            content = bounded.head(one, 4096)
            if inspectlog.looks_like(content):
                found.setdefault("inspect", one)
            elif opencompass.looks_like(content):
                found.setdefault("opencompass", one)
    if len(found) > 1:
        (a, first), (b, second), *_ = found.items()
        raise DataError(
            f"{path} holds files of several kinds ({first.name}: {a}, {second.name}: {b}): say "
            f"{option('wrote', 'NAME')}, or give one"
        )
    return next(iter(found), PLAIN)
