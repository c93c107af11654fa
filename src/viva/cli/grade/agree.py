"""`viva agreement`: how far experts agree with each other, and a judge with them."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, tables_options
from viva.cli.output import check_writable, emit, show_study
from viva.errors import VivaError
from viva.studies.agreement.study import AgreementConfig, study
from viva.visible import one_line

MOST_CHARTS = 20


@click.command(name="agreement", help=inspect.cleandoc(AgreementConfig.__doc__ or ""))
@derive(AgreementConfig)
@tables_options
@click.option(
    "--chart", type=click.Path(path_type=Path), metavar="FILE.svg", help="Draw it; several reports as FILE-1.svg, ..."
)
def agreement_command(chart: Path | None, **given: Any) -> int:
    """`viva agreement`."""
    if chart is not None and chart.suffix.lower() != ".svg":
        raise VivaError(f"--chart {chart}: the picture is an SVG; write a name that ends in .svg")
    check_writable(chart, "--chart")
    result = show_study(study, AgreementConfig, {**given, "chart": None})
    if chart is not None:
        _draw(result.found.pictures(), chart)
    return 0


def _draw(pictures: list[tuple[str, str]], chart: Path) -> None:
    if len(pictures) > MOST_CHARTS:
        titles = ", ".join(repr(one_line(title, 60)) for title, _ in pictures[:10])
        raise VivaError(f"--chart {chart}: that would be {len(pictures)} pictures: {titles} …")
    for number, (title, svg) in enumerate(pictures, 1):
        name = chart if len(pictures) == 1 else chart.with_stem(f"{chart.stem}-{number}")
        emit(svg, name)
        if len(pictures) > 1:
            click.echo(f"{name}: {one_line(title, 100)}", err=True)
