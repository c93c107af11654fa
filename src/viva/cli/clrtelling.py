"""What the commands of `viva build clrbench` share: arguments, counts in words, files that are given."""

from __future__ import annotations

from pathlib import Path

import click

from viva.errors import DataError

SHOWN = 40
"""Problems, topics and questions that are told on the terminal; --all tells the rest."""

project_argument = click.argument("project", type=click.Path(path_type=Path))
all_option = click.option("--all", "everything", is_flag=True, help=f"List everything, not only the first {SHOWN}.")


def content_of(path: Path) -> bytes:
    """A file that the user named. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None


def counted(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def tell_more(total: int, *, everything: bool) -> None:
    """How many were not listed."""
    if total > SHOWN and not everything:
        click.echo(f"... and {total - SHOWN:,} more, which --all lists", err=True)
