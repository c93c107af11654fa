"""A command in this process: what it prints, or the error that it raises."""

from __future__ import annotations

import contextlib
import io

import click

from cli.collected import dangerous
from viva.cli.main import cli


def told(command: click.Command, *arguments: object) -> str:
    """What the command prints. Errors come out as they are raised: viva.cli.main turns them into sentences."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        assert command.main(list(map(str, arguments)), standalone_mode=False) == 0
    assert not dangerous(out.getvalue())
    return out.getvalue()


def command_of(name: str) -> click.Command:
    """The command of that name, such as `build verify rate`."""
    found: click.Command = cli
    for word in name.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None, name
        found = inner
    return found
