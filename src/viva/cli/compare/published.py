"""`viva published`: the papers' own tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click
import msgspec

from viva.cli.options import tables_options
from viva.cli.output import check_writable, emit, screen
from viva.errors import VivaError
from viva.published import Table, bibtex, catalogue
from viva.runs.config import pick
from viva.studies.published.study import PublishedConfig, narrowed, tables_of


@click.command(name="published", short_help="The papers' own tables, with sources and contradictions.")
@click.argument("benchmark", required=False)
@click.argument("name", required=False, metavar="[TABLE]")
@click.option(
    "--model",
    multiple=True,
    metavar="NAME",
    help="Only rows with this in their name, however it is written (gpt-4, llama3 8b); repeatable.",
)
@click.option("--all", is_flag=True, help="Every table of BENCHMARK.")
@click.option("--bibtex", is_flag=True, help="Instead: the BibTeX entry of the paper.")
@tables_options
def published_command(benchmark: str | None, name: str | None, **given: Any) -> int:
    """The papers' own tables, as printed, with where they stand and what contradicts itself in them.

    Without TABLE: which tables BENCHMARK has, with the notes on them. Without BENCHMARK: all there are.

    \b
    viva published csbench
    viva published csbench en_domains --model gpt-4 --model llama3
    viva published infibench leaderboard --format csv --out leaderboard.csv
    """
    config = pick(PublishedConfig, given)
    check_writable(config.out)
    if config.bibtex:
        if config.model or config.all or name:
            raise VivaError("--bibtex prints a paper's entry: it goes with a benchmark, or none for all, and alone")
        emit("\n".join(map(bibtex, [benchmark] if benchmark else catalogue())), config.out)
        return 0
    found = tables_of(benchmark, name)
    if name or config.all or config.model:
        emit(_printed(narrowed(found, config.model), config), config.out)
    else:
        emit(_listed(found, config, notes=benchmark is not None), config.out)
    return 0


def _listed(found: Sequence[Table], config: PublishedConfig, *, notes: bool) -> str:
    from viva.reports import published as report

    if config.format == "json":
        return report.tables_json([msgspec.structs.replace(one, entries=()) for one in found])
    if config.format == "csv":
        raise VivaError("--format csv holds one table's rows: name it, as in `viva published csbench en_domains`")
    closing = [f"{one.name}: {note}" for one in found for note in one.notes] if notes else [
        "`viva published BENCHMARK` also shows the notes on its tables, `viva published BENCHMARK TABLE` a table."
    ]  # fmt: skip
    return _rendered([report.listed(found)], closing, config)


def _printed(found: Sequence[Table], config: PublishedConfig) -> str:
    from viva.reports import published as report

    if config.format == "json":
        return report.tables_json(found)
    if config.format == "csv":
        if len(found) > 1:
            names = ", ".join(f"{one.benchmark} {one.name}" for one in found[:8])
            raise VivaError(f"--format csv holds one table, and here are {len(found)}: name one of {names}")
        return report.table_csv(found[0])
    most = report.SHOWN if config.format == "terminal" else None
    closing = [line for one in found for line in report.closing(one, most=most)]
    return _rendered([report.table_grid(one, most=most) for one in found], closing, config)


def _rendered(grids: Sequence[Any], closing: Sequence[str], config: PublishedConfig) -> str:
    from viva.reports.grids import GRID_FORMATS, WORDS, grids_terminal
    from viva.reports.published import WIDTH

    if config.format != "terminal":
        return GRID_FORMATS[config.format](grids, closing)
    width, colour = screen(config.out)
    words = WORDS | {
        "table",
        "about",
        "where",
        "kind",
        "access",
        "family",
        "type",
        "domain",
        "base",
        "expert_in",
        "area",
    }
    return grids_terminal(grids, closing, width=width or WIDTH, colour=colour, words=words)
