"""`viva run --config FILE` and `--write-config FILE`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from viva.errors import VivaError
from viva.fields import Option
from viva.files import write_whole
from viva.runs.config import CONSENT
from viva.runs.configfile import Configuration, config_text, read_config

_READ = "viva.configuration"


def configure(ctx: click.Context, _: click.Parameter, path: Path | None) -> None:
    """Make the file's values the defaults of the command's options."""
    if path is None:
        return
    read = ctx.meta[_READ] = read_config(path, _own(ctx))
    values = dict(read.values)
    ctx.default_map = {**values, **(ctx.default_map or {})}  # what --quiet and --json set comes first


def with_config(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options with the file's benchmarks and models, where the command line names none. Raises UsageError."""
    read = click.get_current_context().meta.get(_READ, Configuration())
    found = {**given, "benchmarks": given["benchmarks"] or read.benchmarks, "settings": {}}
    if not given["models"]:
        found |= {"models": read.models, "settings": read.settings}
    if not found["benchmarks"]:
        raise click.UsageError("Missing argument 'BENCHMARKS...'.")
    return found


def write_config(given: Mapping[str, Any]) -> None:
    """Write the options as a configuration file. Raises VivaError where there is one already, StorageError."""
    path: Path = given["write_config"]
    if path.exists():
        raise VivaError(f"{path} is there already; name another file, or remove it")
    ctx = click.get_current_context()
    options = {**ctx.params, **given}
    content = config_text(given["benchmarks"], given["models"], given["settings"], options, _own(ctx))
    write_whole(path, content.encode())
    agreed = [f"--{name.replace('_', '-')}" for name in CONSENT if given.get(name)]
    left_out = f" ({', '.join(agreed)} is not in it: say it each time)" if agreed else ""
    click.echo(f"{path} written{left_out}; {ctx.command_path} --config {path}", err=True)


def _own(ctx: click.Context) -> Mapping[str, Option]:
    """The options that the command has beside those of `viva run`: a way of asking."""
    return getattr(ctx.command, "own", {})
