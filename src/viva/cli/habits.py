"""What users of other tools type: it works, or they are told what it is called here."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import Any

import click

from viva.shipped import shipped_table


@cache
def known_elsewhere() -> dict[str, Any]:
    """habits.toml: options and commands of other tools, and former names."""

    return shipped_table(__file__, "habits.toml", dict[str, Any])


def nearest(name: str, known: Iterable[str]) -> str:
    """`; did you mean csbench?`, or nothing where nothing is near."""
    near = difflib.get_close_matches(name, list(known), 1)
    return f"; did you mean {near[0]}?" if near else ""


def translated(arguments: Sequence[str], known: Collection[str], *, benchmarks: bool) -> list[str]:
    """Arguments with other tools' options under our names; each is said once. `benchmarks`: the command takes some.

    Raises UsageError for an option that has no equal here, with what to write.
    """
    found: list[str] = []
    rest = list(arguments)
    if all(name.partition("=")[0] in known for name in rest if name.startswith("-")):
        return rest
    habits = known_elsewhere()
    same = habits["same"]
    while rest:
        argument = rest.pop(0)
        if argument == "--":
            return [*found, argument, *rest]
        name, equals, value = argument.partition("=")
        if not name.startswith("-") or name in known:
            found.append(argument)
            continue
        plain = name.replace("_", "-")
        ours = next((one for one in (same.get(name), same.get(plain), plain) if one in known), None)
        if benchmarks and name in habits["named"] and (equals or rest):
            names = [one for one in (value if equals else rest.pop(0)).split(",") if one]
            say(f"{name} is no option here: benchmarks are arguments, as in `viva run {' '.join(names)}`")
            found += names
        elif benchmarks and (said := habits["told"].get(name) or habits["told"].get(plain.replace("-", "_"))):
            raise click.UsageError(f"there is no {name} here: {said}")
        elif ours is not None:
            if ours != plain:
                say(f"{name} is called {ours} here")
            found.append(f"{ours}{equals}{value}")
        else:
            found.append(argument)
    return found


def say(text: str) -> None:
    """A sentence of Viva's own on stderr."""
    from viva.runs import progress

    progress.say(f"viva: {text}")
