"""`viva agreement`: how far experts agree with each other, and a judge with them."""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import check_writable, emit, print_study
from viva.errors import DataError, VivaError
from viva.fields import pick
from viva.studies.agreement.study import AgreementConfig, study
from viva.visible import one_line

MOST_CHARTS = 20


@click.command(name="agreement", help=inspect.cleandoc(AgreementConfig.__doc__ or ""))
@click.argument("source", type=click.Path(path_type=Path), metavar="RUN|RATINGS.csv|.jsonl")
@derive(AgreementConfig)
@tables_options
@click.option(
    "--chart", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw it; several reports as FILE-1.svg, ..."
)
def agreement_command(chart: Path | None, **given: Any) -> int:
    """`viva agreement`."""
    check_writable(given["out"])
    _check_chart(chart)
    result = study(pick(AgreementConfig, given))
    if chart is not None:
        _draw(result.pictures(), chart)
    print_study(result, given["format"], given["out"], everything=given["all"])
    return 0


def _draw(pictures: list[tuple[str, str]], chart: Path) -> None:
    if len(pictures) > MOST_CHARTS:
        titles = _listed(title for title, _ in pictures)
        raise VivaError(f"--chart {chart}: that would be {len(pictures)} pictures: {titles}")
    for number, (title, svg) in enumerate(pictures, 1):
        name = chart if len(pictures) == 1 else chart.with_stem(f"{chart.stem}-{number}")
        emit(svg, name)
        if len(pictures) > 1:
            click.echo(f"{name}: {one_line(title, 100)}", err=True)


def _check_chart(chart: Path | None) -> None:
    if chart is None:
        return
    if chart.suffix.lower() != ".svg":
        raise VivaError(f"--chart {chart}: the picture is an SVG; write a name that ends in .svg")
    if chart.is_dir() or not chart.absolute().parent.is_dir():
        raise DataError(f"--chart {chart}: write the name of a file, in a folder that exists")


def _listed(names: Iterable[object]) -> str:
    found = [repr(one_line(str(name), 60)) for name in names]
    return ", ".join(found[:10]) + (" …" if len(found) > 10 else "")
