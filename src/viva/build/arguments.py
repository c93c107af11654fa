"""What the commands of `viva build clrbench` share: arguments, counts in words, files that are given."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from viva.visible import escape_invisible

SHOWN = 40
"""Problems, topics and questions that are told on the terminal; --all tells the rest."""

project_argument = click.argument("project", type=click.Path(path_type=Path))
all_option = click.option("--all", "everything", is_flag=True, help=f"List everything, not only the first {SHOWN}.")


def tell_more(total: int, *, everything: bool) -> None:
    """How many were not listed."""
    if total > SHOWN and not everything:
        click.echo(f"... and {total - SHOWN:,} more, which --all lists", err=True)


def tell_held(lines: Sequence[str], *, everything: bool) -> None:
    """What does not enter a set, and why: the first lines, or all of them."""
    for line in lines if everything else lines[:SHOWN]:
        click.echo(escape_invisible(f"held back: {line}", limit=400), err=True)
    tell_more(len(lines), everything=everything)
