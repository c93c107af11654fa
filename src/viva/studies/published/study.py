"""Published tables by benchmark, name and model."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Struct

from viva.commands import command
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.published import Table, catalogue, plain, similar, table, tables

if TYPE_CHECKING:
    from viva.reports.published import PublishedTables


class PublishedConfig(Struct, kw_only=True):
    """The papers' own tables, as printed, with their sources and notes on what contradicts itself.

    Without TABLE: which tables BENCHMARK has, with the notes on them. Without BENCHMARK: all there are.

    \b
    viva published csbench
    viva published csbench en_domains --model gpt-4 --model llama3
    viva published infibench leaderboard --format csv --out leaderboard.csv
    """

    benchmark: Annotated[str, note("Of which benchmark; all without it.", argument=True)] = ""
    name: Annotated[str, note("Which table; without it, which there are.", argument=True, metavar="TABLE")] = ""
    model: Annotated[
        tuple[str, ...],
        note(
            "Only rows with this in their name, however it is written (gpt-4, llama3 8b); repeatable.", metavar="NAME"
        ),
    ] = ()
    all: Annotated[bool, note("Every table of BENCHMARK.")] = False


@command(PublishedConfig)
def study(config: PublishedConfig) -> PublishedTables:
    """The papers' own tables, as printed, with their sources and notes on what contradicts itself.

    Raises VivaError for unknown benchmarks, tables and models.
    """
    from viva.reports.published import PublishedTables

    found = _tables_of(config.benchmark, config.name)
    if config.name or config.all or config.model:
        return PublishedTables(tuple(_narrowed(found, config.model)))
    return PublishedTables(found, listing=True, notes=bool(config.benchmark))


def _tables_of(benchmark: str, name: str) -> tuple[Table, ...]:
    if not benchmark:
        return tuple(found for one in catalogue() for found in tables(one))
    if name:
        return (table(benchmark, name),)
    if benchmark not in catalogue():
        raise VivaError(f"no published tables of {benchmark!r}; there are those of {', '.join(catalogue())}")
    return tables(benchmark)


def _narrowed(found: Sequence[Table], names: Sequence[str]) -> list[Table]:
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
