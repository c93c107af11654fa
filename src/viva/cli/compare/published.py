"""`viva published`: the papers' own tables."""

from __future__ import annotations

from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import check_writable, emit, show_study
from viva.errors import VivaError
from viva.published import bibtex, catalogue
from viva.studies.published.study import PublishedConfig, study


@click.command(name="published", short_help="The papers' own tables, with sources and contradictions.")
@click.argument("benchmark", default="")
@click.argument("name", default="", metavar="[TABLE]")
@derive(PublishedConfig, without=("all",), metavars={"model": "NAME"})
@click.option("--bibtex", "entries", is_flag=True, help="Instead: the BibTeX entry of the paper.")
@tables_options
def published_command(entries: bool, **given: Any) -> int:
    """The papers' own tables, as printed, with their sources and notes on what contradicts itself.

    Without TABLE: which tables BENCHMARK has, with the notes on them. Without BENCHMARK: all there are.

    \b
    viva published csbench
    viva published csbench en_domains --model gpt-4 --model llama3
    viva published infibench leaderboard --format csv --out leaderboard.csv
    """
    if not entries:
        show_study(study, PublishedConfig, given)
        return 0
    check_writable(given["out"])
    if given["model"] or given["all"] or given["name"]:
        raise VivaError("--bibtex prints a paper's entry: it goes with a benchmark, or none for all, and alone")
    emit("\n".join(map(bibtex, [given["benchmark"]] if given["benchmark"] else catalogue())), given["out"])
    return 0
