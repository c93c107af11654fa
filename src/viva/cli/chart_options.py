"""--chart, which the commands about scores share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def _checked_chart(context: click.Context, option: click.Parameter, path: Path | None) -> Path | None:
    if path is not None:
        from viva.render.charts import check_chart

        check_chart(path)  # before anything is computed for it
    return path


def chart_option(what: str = "Draw it") -> Callable[[F], F]:
    """--chart FILE. `what`: what is drawn, where that is not plain."""
    return click.option(
        "--chart",
        type=click.Path(path_type=Path),
        metavar="FILE",
        callback=_checked_chart,
        help=f"{what}: .svg, .png, .html or .json.",
    )
