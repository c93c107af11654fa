"""The options of pages that are served: where, and what a visitor must know."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from viva.errors import VivaError
from viva.files import read_regular


def token_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """--token and --token-file, which become `token`."""

    @functools.wraps(function)
    def merged(*arguments: Any, token: str, token_file: Path | None, **given: Any) -> Any:
        return function(*arguments, token=token_given(token, token_file), **given)

    for option in (
        click.option(
            "--token-file",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Read the token from this file: on the command line other users of the machine can see it (`ps`).",
        ),
        click.option(
            "--token",
            default="",
            help="The token that a visitor needs, 16 characters or more.  [default: made where one is needed]",
        ),
    ):
        merged = option(merged)
    return merged


def token_given(token: str, file: Path | None) -> str:
    """The token of the two options. Raises VivaError for both, and for a file without one."""
    if file is None:
        return token
    if token:
        raise VivaError("--token and --token-file exclude each other: give one of them")
    try:
        found = read_regular(file, 4096, follow=True).decode("ascii").strip()
    except OSError as problem:
        raise VivaError(f"cannot read --token-file {file}: {problem.strerror}") from None
    except UnicodeDecodeError:
        found = ""
    if not found or not found.isprintable() or " " in found:
        raise VivaError(f"--token-file {file} holds no token: it is one word of ASCII characters")
    return found
