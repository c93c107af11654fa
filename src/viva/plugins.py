"""Commands, benchmarks and providers that installed packages register, by the entry points of their `dist-info`.

`viva.commands`: a tiny module with `COMMANDS`, name → (module:function, one line). A name without a function only
groups commands (`build` of `build syneval`); a module there has their help. It may have `MOVED`: command → a former
option → its replacement on the command line, and the option's name there, if any. `viva.benchmarks`: NAME = module of a
`BENCHMARK`. The files on `sys.path` are read directly: `importlib.metadata` takes as long as the rest of `--help`.
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
    """A name registered by a package."""

    name: str
    value: str
    """A module, or module:attribute."""
    distribution: str


class Registered(NamedTuple):
    """A command registered by a package."""

    place: str
    """module:function; without a function a name has only commands below it."""
    summary: str
    package: str
    """Name of the entry point: the command's heading in `--help`; "" to omit the command there."""


STUDIES = "studies", "pages"
"""Packages that contain the core's studies."""


@cache
def studies() -> dict[str, Registered]:
    """Return command → study of the core: packages with a `HEADING` of `viva --help` ("" for none), a docstring (the
    line there), and a `COMMAND` where it differs from the package's name, which names the Python function.
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
    """Return command → registration by a package; of equal names the first counts. `problems` lists what is wrong."""
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
        except Exception as problem:  # a broken package must not affect others
            problems.append(f"the commands of {point.distribution} ({point.value}) cannot be read: {problem!r}")
    return commands


def moved(command: str, option: str) -> str:
    """Return the command of a package that took over an option of `command`, as it is typed; "" for other options."""
    name = option.strip("-").replace("-", "_")
    for point in entry_points("viva.commands"):
        with suppress(Exception):  # most packages took nothing over; `registered` reports broken ones
            place, there = importlib.import_module(point.value).MOVED[command][name]
            return f"`viva {place}{' --' * bool(there)}{there.replace('_', '-')}`"
    return ""


problems: list[str] = []
"""Sentences about broken registrations of packages."""


def load(known: Registered) -> Any:
    """Return the `commands.Command` that a package registers."""
    module, _, attribute = known.place.partition(":")
    return getattr(importlib.import_module(module), attribute)


def entry_points(group: str) -> list[EntryPoint]:
    """Return all entry points of a group: Viva's first, then by distribution and name. Nothing is imported."""
    return sorted(
        (
            EntryPoint(name, value, distribution)
            for within, name, value, distribution in _all(tuple(sys.path))
            if within == group
        ),
        key=lambda entry: (entry.distribution != "viva", entry.distribution, entry.name),
    )


class Names(UserDict[str, str]):
    """A mapping of built-in and registered names; packages are searched only if a name is not built in.

    Of packages with equal names the first counts; built-in names cannot be replaced.
    """

    def __init__(self, group: str, built_in: Mapping[str, str], form: str = r"[a-z0-9][a-z0-9_-]{0,60}") -> None:
        super().__init__(built_in)
        self._group, self._form = group, re.compile(form)

    __contains__, get = Mapping.__contains__, Mapping.get  # so that these call `__missing__`, too

    def __missing__(self, name: str) -> str:
        if not self._form.fullmatch(name):  # a file's name needs no search
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
    """Return group, name, value and distribution of every entry point for Viva; of equal names the first counts."""
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
