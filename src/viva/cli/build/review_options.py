"""The options of pages on which experts decide about texts of a set that is being built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from viva.cli.serving_options import token_options
from viva.errors import VivaError
from viva.visible import escape_invisible


def deciding_options(marks: str, everything: str = "Also what is approved already.") -> Callable[[Any], Any]:
    """Who decides, about what, how often, and where the page is served; `marks` and `everything` are help texts."""
    options = (
        click.option(
            "--reviewer", default="", metavar="NAME", help="Who decides, where the page is not told another name."
        ),
        click.option("--everything", is_flag=True, help=everything),
        click.option("--marks", type=click.IntRange(1, 100), default=1, show_default=True, help=marks),
        click.option("--host", default="127.0.0.1", show_default=True, help="For another one a token is needed."),
        click.option("--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0: a free one."),
        token_options,
    )

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def decided_by(reviewer: str | None) -> str:
    """The name that the audit trail keeps for the decisions of a file. Raises VivaError where there is none."""
    if not reviewer or not reviewer.strip() or len(reviewer) > 100:
        raise VivaError("--reviewer NAME: who decided? (the audit trail keeps it)")
    return " ".join(escape_invisible(reviewer).split())
