"""Published tables by benchmark, name and model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.errors import DataError, VivaError
from viva.published import Table, catalogue, plain, similar, table, tables


class PublishedConfig(Struct, kw_only=True):
    """What is to be shown, and how."""

    model: tuple[str, ...] = ()
    all: bool = False
    bibtex: bool = False
    format: str = "terminal"
    out: Path | None = None


def tables_of(benchmark: str | None, name: str | None) -> tuple[Table, ...]:
    """The published tables of a benchmark, or of all; `name`: this one. Raises VivaError for unknown ones."""
    if benchmark is None:
        return tuple(found for one in catalogue() for found in tables(one))
    if name is not None:
        return (table(benchmark, name),)
    if benchmark not in catalogue():
        raise VivaError(f"no published tables of {benchmark!r}; there are those of {', '.join(catalogue())}")
    return tables(benchmark)


def narrowed(found: Sequence[Table], names: Sequence[str]) -> list[Table]:
    """The tables with only the rows of these names, and of them those that have such a row."""
    if not names:
        return list(found)
    entries = [entry for one in found for entry in one.entries if entry.kind != "count"]
    for name in names:
        if not plain(name) or not any(plain(name) in plain(entry.name) for entry in entries):
            near = dict.fromkeys(entry.name for entry in similar(entries, name[:3], limit=200))
            hint = f"; near: {', '.join(list(near)[:8])}" if near else ""
            raise DataError(f"--model {name[:60]!r}: no row is called so{hint}")
    kept: list[Table] = []
    for one in found:
        rows = tuple(
            entry
            for entry in one.entries
            if entry.kind != "count" and any(plain(name) in plain(entry.name) for name in names)
        )
        if rows:
            kept.append(msgspec.structs.replace(one, entries=rows))
    return kept
