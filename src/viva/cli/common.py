"""Options that every command has: how much is said on the way, and results as JSON.

They set what the command's own options (`--progress`, `--format`) are by default, so a command needs to know nothing of
them, and its own options come first.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Collection, Iterator
from typing import Any

import click
from click.core import ParameterSource

from viva.cli.grouped import HELP_ALL, MANY

OF_EVERY_COMMAND = ("--json", "--quiet", "--verbose", "--log-level")
LEVELS = ("debug", "info", "warning", "error")


def add_common_options(command: click.Command) -> click.Command:
    """The command with these options; those that it has already stay as they are."""
    for parameter in command.params:
        kind = parameter.type
        if type(kind) is click.Choice:
            parameter.type = Choice(kind.choices)
        elif type(kind) is click.IntRange:
            parameter.type = WholeNumber(kind.min, kind.max, kind.min_open, kind.max_open, kind.clamp)
        if isinstance(kind, click.types.IntParamType):
            parameter.metavar = parameter.metavar or "N"
        elif isinstance(kind, click.types.FloatParamType):
            parameter.metavar = parameter.metavar or ("0..1" if getattr(kind, "max", None) == 1 else "NUMBER")
    known = {name for parameter in command.params for name in parameter.opts}
    command.params += [option for option in _options(command) if known.isdisjoint(option.opts)]
    return command


def refuse_given(names: Collection[str], why: str) -> None:
    """Raise UsageError for an option of the current command that was given, and has no use here."""
    ctx = click.get_current_context()
    for parameter in ctx.command.params:
        name = parameter.name or ""
        if name in names and ctx.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            raise click.UsageError(f"{max(parameter.opts, key=len)} {why}")


class Choice(click.Choice[Any]):
    """One of a few words, in any case; where it is none, the nearest is named."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The word as it is written here. Raises BadParameter."""
        same = [one for one in self.choices if str(one).casefold() == str(value).casefold()]
        return super().convert(same[0] if len(same) == 1 else value, param, ctx)

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """All the words, and the nearest."""
        near = difflib.get_close_matches(str(value).casefold(), list(map(str, self.choices)), 1)
        return super().get_invalid_choice_message(value, ctx) + (f" Did you mean {near[0]!r}?" if near else "")


class WholeNumber(click.IntRange):
    """A whole number; a share, as other tools take it for --limit, is refused in words."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number. Raises BadParameter."""
        try:
            share = not float(value).is_integer()
        except (TypeError, ValueError, OverflowError):
            share = False
        if share:
            hint = ": `viva list` says how many questions there are" if param and param.name == "limit" else ""
            self.fail(f"{value!r} is a share, and this takes a count{hint}.", param, ctx)
        return super().convert(value, param, ctx)


def _options(command: click.Command) -> Iterator[click.Option]:
    form = next((parameter for parameter in command.params if "--format" in parameter.opts), None)
    if form is not None and "json" in getattr(form.type, "choices", ()):
        yield _flag("--json", "The results as JSON: --format json.", _sets(form.name or "format", "json"))
    if len(command.params) > MANY:
        yield _flag("--help-all", "Show all options and exit.", _help_all)
    yield _flag("--quiet", "No progress and no hints: results, warnings and errors alone.", _sets("progress", "quiet"))
    yield _flag("--verbose", "Also say what goes on: --log-level info.", _verbose)
    yield click.Option(
        ["--log-level"],
        type=click.Choice(LEVELS),
        expose_value=False,
        is_eager=True,
        callback=_log,
        help="Print what Viva and the libraries log, from this level on.",
    )


def _help_all(ctx: click.Context, _: click.Parameter, given: bool) -> None:
    if given:
        ctx.meta[HELP_ALL] = True
        click.echo(ctx.get_help())
        ctx.exit()


def _flag(name: str, text: str, callback: Any) -> click.Option:
    return click.Option([name], is_flag=True, expose_value=False, is_eager=True, callback=callback, help=text)


def _sets(name: str, value: str) -> Callable[[click.Context, click.Parameter, bool], None]:
    """What makes this value an option's default."""

    def callback(ctx: click.Context, _: click.Parameter, given: bool) -> None:
        if given:
            ctx.default_map = {**(ctx.default_map or {}), name: value}

    return callback


def _verbose(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        _log(ctx, parameter, "info")


def _log(_: click.Context, __: click.Parameter, level: str | None) -> None:
    if level is None:
        return
    import logging
    import sys

    from viva.runs.progress import clear
    from viva.visible import one_line

    class Lines(logging.Handler):
        """Log records on stderr, above the live line."""

        def emit(self, record: logging.LogRecord) -> None:
            clear()
            print(f"{record.levelname.lower()}: {record.name}: {one_line(record.getMessage(), 1000)}", file=sys.stderr)

    root = logging.getLogger()
    root.handlers = [Lines()]
    root.setLevel(level.upper())
