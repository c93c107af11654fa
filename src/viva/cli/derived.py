"""Click commands of functions that are registered with the struct of their options (`viva.commands`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import click

from viva.cli.consent import confirm_endpoints
from viva.cli.grouped import GroupedCommand
from viva.cli.options import chart_option, derive, stack, tables_options
from viva.cli.output import show_study
from viva.commands import Command
from viva.fields import options, pick


class _Derived(GroupedCommand):
    """A command whose help names the commands below it."""

    def __init__(self, *given: Any, below: Mapping[str, str], **named: Any) -> None:
        super().__init__(*given, **named)
        self.below = below

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_options(ctx, formatter)
        if self.below:
            with formatter.section("Commands"):
                formatter.write_dl([(f"viva {name}", line) for name, line in self.below.items()])


def derived(
    name: str,
    known: Command[Any, Any],
    summary: str,
    below: Mapping[str, str],
    built_in: Callable[[str], click.Command],
) -> click.Command:
    """The command of that name. `below`: the commands whose names begin with it; `built_in` finds one of the core."""
    shown = {"help": inspect.cleandoc(known.config.__doc__ or ""), "short_help": summary, "below": below}
    # `--all` of a study is an option of how it is printed, whoever else looks at it.
    own = [derive(known.config, without=("all",) if known.kind == "study" else ())]
    short = name.rpartition(" ")[2]
    if known.kind == "way":
        base = built_in(short)
        made = click.command(name=short, cls=_Derived, **shown)(stack(*own)(_in_a_way(base, known)))
        made.params += base.params
        return made
    callback = _action(known)
    if known.kind == "study":
        callback = _study(known)
        own += [chart_option(known.chart)] if known.chart else []
        own.append(tables_options)
    return click.command(name=short, cls=_Derived, **shown)(stack(*own)(callback))


def _study(known: Command[Any, Any]) -> Callable[..., int]:
    def study(**given: Any) -> int:
        return show_study(_confirmed(known), known.config, given).exit_code

    return study


def _action(known: Command[Any, Any]) -> Callable[..., int]:
    def action(**given: Any) -> int:
        return int(_confirmed(known)(pick(known.config, given)) or 0)

    return action


def _confirmed(known: Command[Any, Any]) -> Callable[[Any], Any]:
    """The function, which may ask on the terminal whether a stranger's folder may send requests."""
    if "confirm" in inspect.signature(known.function).parameters:
        return partial(known.function, confirm=confirm_endpoints)
    return known.function


def _in_a_way(base: click.Command, known: Command[Any, Any]) -> Callable[..., Any]:
    """A command of the core, with the way of asking that the options of its own say."""

    def callback(**given: Any) -> Any:
        own = {each: given.pop(each) for each in options(known.config)}
        assert base.callback is not None
        return base.callback(**given, way=known.function(pick(known.config, own)))

    return callback
