"""What installed packages register with Viva, by the entry points of their `dist-info`.

`viva.commands`: a tiny module with `COMMANDS`, name → (module:function, one line). Without a function a name has only
commands below it (`build` of `build syneval`); a module there has their help. It may have `MOVED`: command → an option
that it had → what is typed now, and the option's name there, if any. `viva.benchmarks`: NAME = module of a `BENCHMARK`.
The files are read as they lie on `sys.path`: `importlib.metadata` takes as long as the rest of `--help`.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
from collections import UserDict
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple


class EntryPoint(NamedTuple):
    """A name that a package registers."""

    name: str
    value: str
    """A module, or module:attribute."""
    distribution: str


class Registered(NamedTuple):
    """A command of a package."""

    place: str
    """module:function; without a function a name has only commands below it."""
    summary: str
    package: str
    """The name of the entry point: the heading of the command in `--help`; "" for no line there."""


STUDIES = "studies", "pages"
"""Where the core's studies are."""


@cache
def studies() -> dict[str, Registered]:
    """Return the core's studies by their commands: packages with a `HEADING`, one of those of `viva --help` ("" where
    another command has it), a docstring, its line there, and a `COMMAND` where that is not the package's name, which is
    the name of the function in Python.
    """
    packages = [
        importlib.import_module(f"viva.{floor}.{name}")
        for floor in STUDIES
        for name in sorted(os.listdir(Path(__file__).parent / floor))
        if name.isidentifier() and not name.startswith("_")
    ]
    return {
        getattr(package, "COMMAND", package.__name__.rpartition(".")[2].replace("_", "-")): Registered(
            f"{package.__name__}.study:study", package.__doc__ or "", package.HEADING
        )
        for package in packages
        if hasattr(package, "HEADING")
    }


@cache
def registered() -> dict[str, Registered]:
    """Return the commands of packages by name; of two of one name the first counts. What is wrong is in `problems`."""
    commands: dict[str, Registered] = {}
    for point in entry_points("viva.commands"):
        try:
            for name, (place, summary) in importlib.import_module(point.value).COMMANDS.items():
                if name in commands:
                    problems.append(
                        f"{point.distribution} registers the command {name!r}, which {commands[name].package} has"
                    )
                else:
                    commands[name] = Registered(place, summary, point.name)
        except Exception as problem:  # a package that is broken stops no other
            problems.append(f"the commands of {point.distribution} ({point.value}) cannot be read: {problem!r}")
    return commands


def moved(command: str, option: str) -> str:
    """Return the command of a package that has an option now which `command` had, as it is typed; "" of other
    options.
    """
    name = option.strip("-").replace("-", "_")
    for point in entry_points("viva.commands"):
        with suppress(Exception):  # most packages took nothing over; of a broken one `registered` tells
            place, there = importlib.import_module(point.value).MOVED[command][name]
            return f"`viva {place}{' --' * bool(there)}{there.replace('_', '-')}`"
    return ""


problems: list[str] = []
"""Sentences about packages that could not be used as they say."""


def load(known: Registered) -> Any:
    """Return the `commands.Command` that a package registers."""
    module, _, attribute = known.place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def entry_points(group: str) -> list[EntryPoint]:
    """Return all of a group: Viva's own before those of others, sorted by distribution and name. Nothing is
    imported.
    """
    return sorted(
        (
            EntryPoint(name, value, distribution)
            for within, name, value, distribution in _all(tuple(sys.path))
            if within == group
        ),
        key=lambda entry: (entry.distribution != "viva", entry.distribution, entry.name),
    )


class Names(UserDict[str, str]):
    """Built-in names and those that packages register, which are looked for only where no built-in name is meant.

    Where two packages register a name, the first has it; nobody has a built-in one.
    """

    def __init__(self, group: str, built_in: Mapping[str, str], form: str = r"[a-z0-9][a-z0-9_-]{0,60}") -> None:
        super().__init__(built_in)
        self._group, self._form = group, re.compile(form)

    __contains__, get = Mapping.__contains__, Mapping.get  # what is missing is asked for by these, too

    def __missing__(self, name: str) -> str:
        if not self._form.fullmatch(name):  # a file's name asks nobody
            raise KeyError(name)
        return self._registered()[name]

    def __iter__(self) -> Iterator[str]:
        return iter({**self.data, **self._registered()})

    def __len__(self) -> int:
        return len({**self.data, **self._registered()})

    def _registered(self) -> dict[str, str]:
        places: dict[str, str] = {}
        for point in entry_points(self._group):
            if point.name in self.data:
                problem = (
                    f"{point.distribution} registers {point.name!r} ({self._group}), which Viva has: Viva's counts"
                )
                problems.extend([problem] if problem not in problems else [])
            else:
                places.setdefault(point.name, point.value)
        return places


@cache
def _all(places: tuple[str, ...]) -> tuple[tuple[str, str, str, str], ...]:
    """Group, name, value and distribution of every entry point for Viva; the first distribution of a name wins."""
    points: list[tuple[str, str, str, str]] = []
    seen: set[str] = set()
    for place in places:
        try:
            entries = sorted(name for name in os.listdir(place or ".") if name.endswith(".dist-info"))
        except OSError:
            continue
        for entry in entries:
            distribution = entry.partition("-")[0].replace("_", "-").replace(".", "-").lower()
            if distribution in seen:
                continue
            seen.add(distribution)
            try:
                with open(f"{place or '.'}/{entry}/entry_points.txt", "rb", buffering=0) as file:
                    content = file.read()
            except OSError:
                continue
            if b"[viva." in content:
                points += _of_viva(content.decode("utf-8", "replace"), distribution)
    return tuple(points)


def _of_viva(text: str, distribution: str) -> Iterator[tuple[str, str, str, str]]:
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line.strip("[]").strip()
        elif group.startswith("viva.") and "=" in line and not line.startswith(("#", ";")):
            name, _, value = line.partition("=")
            yield group, name.strip(), value.partition("[")[0].strip(), distribution
