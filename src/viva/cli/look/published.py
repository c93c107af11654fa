"""`viva published`: the papers' own tables."""

from __future__ import annotations

import inspect
from typing import Any

import click

from viva.cli.options import chart_option, derive, tables_options
from viva.cli.output import check_writable, emit, show_study
from viva.errors import VivaError
from viva.published import bibtex, catalogue
from viva.studies.published.study import PublishedConfig, study


@click.command(name="published", help=inspect.cleandoc(PublishedConfig.__doc__ or ""))
@derive(PublishedConfig, without=("all",))
@click.option("--bibtex", "entries", is_flag=True, help="Instead: the BibTeX entry of the paper.")
@chart_option("Draw the table or figure")
@tables_options
def published_command(entries: bool, **given: Any) -> int:
    """`viva published`."""
    if not entries:
        show_study(study, PublishedConfig, given)
        return 0
    check_writable(given["out"])
    if any(given[other] for other in ("model", "all", "name", "run", "figure", "chart")):
        raise VivaError("--bibtex prints a paper's entry: it goes with a benchmark, or none for all, and alone")
    emit("\n".join(map(bibtex, [given["benchmark"]] if given["benchmark"] else catalogue())), given["out"])
    return 0
