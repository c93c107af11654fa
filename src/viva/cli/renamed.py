"""Former names of commands and options: they work for one release, and say what to type instead."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import click

from viva.cli.habits import say, translated

COMMANDS = {"agree": "agreement", "errors": "error-types", "items": "item-analysis", "reduce": "score-table"}
OPTIONS = {
    "--attempts": ("--max-attempts", "--aggregate"),
    "--beside": ("--published-rows", "--reference"),
    "--choose": ("--answer-by",),
    "--on": ("--backend",),
    "--over": ("--macro-average",),
    "--without": ("--exclude",),
}
"""Former option → what it is called now; a command has one of these at most."""


def current_command(name: str, known: Iterable[str]) -> str:
    """The name under which a command is known now; another name as it is."""
    new = COMMANDS.get(name, name)
    if new == name or name in known or new not in known:
        return name
    say(f"`viva {name}` is now called `viva {new}`; the former name goes with the next release")
    return new


def current_options(command: click.Command, arguments: Sequence[str]) -> list[str]:
    """Arguments with the options that the command has under another name now. What follows `--` is no option."""
    known = _options(command, arguments)
    found = list(arguments)
    for at, argument in enumerate(found):
        if argument == "--":
            break
        name, equals, value = argument.partition("=")
        if name == "--summary" and name not in known and "--tables" in known:
            say("--summary is what is printed without it; --tables and --all print more")
            found[at] = ""
            continue
        new = next((one for one in OPTIONS.get(name, ()) if one in known), None)
        if new is not None and name not in known:
            say(f"{name} is now called {new}; the former name goes with the next release")
            found[at] = f"{new}{equals}{value}"
    # An empty argument is nobody's: an option that has gone left it.
    kept = [one for one, was in zip(found, arguments, strict=True) if one or not was]
    return translated(kept, known, benchmarks=any(one.name == "benchmarks" for one in command.params))


def _options(command: click.Command, arguments: Sequence[str]) -> set[str]:
    """The options of a command; of a group, those of the commands in it that the arguments name."""
    found = {name for parameter in command.params for name in parameter.opts}
    if isinstance(command, click.Group):
        inner = (command.commands[name] for name in arguments if name in command.commands)
        for one in inner:
            found |= _options(one, arguments)
    return found
