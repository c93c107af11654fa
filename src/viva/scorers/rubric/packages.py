"""Packages that programs import, and the consequence of a missing one.

A program that fails because a well-known package, or one that its own test imports, is not installed says nothing about
the answer. One that imports what does not exist is wrong. Languages and packages are data: packages.toml.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache

import msgspec

from viva.files import shipped_table

MOST_CODE = 200_000
"""Most characters of a text that are searched for imports."""


class _Ecosystem(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Patterns for a language's packages; packages.toml explains the fields."""

    missing: str
    imports: str
    separators: str
    probe: str
    known: tuple[str, ...]
    undefined: dict[str, str] = {}
    probed_by: dict[str, str] = {}


@cache
def _table() -> dict[str, _Ecosystem]:
    table = shipped_table(__file__, "packages.toml", dict[str, _Ecosystem])
    return table | {"typescript": table["javascript"]}


def imported(language: str, code: str) -> tuple[str, ...]:
    """Return the names that code imports, as it writes them, in order of appearance; none for a language without a
    table.

    `language` is a canonical name (code.canonical).
    """
    if (ecosystem := _table().get(language)) is None:
        return ()
    matches = re.finditer(ecosystem.imports, code[:MOST_CODE], re.MULTILINE)
    parts = (part.split() for match in matches for group in match.groups("") for part in group.split(","))
    return tuple(dict.fromkeys(words[0] for words in parts if words))


def missing_package(language: str, output: str, needed: Collection[str], program: str = "") -> str:
    """Return the package whose absence made a program fail, if it is a known package; else "".

    `output` is the end of the program's output, `needed` what its test imports, `program` its code. The output may lie:
    run the program of `probe` before believing it.
    """
    if (ecosystem := _table().get(language)) is None:
        return ""
    names = [
        f"{match['within']}.{match['name']}" if match.groupdict().get("within") else match["name"]
        for match in re.finditer(ecosystem.missing, output)
    ]
    undefined = re.findall(r"name '(\w+)' is not defined", output) if ecosystem.undefined else ()
    own = imported(language, program) if undefined else ()
    names += [package for name in undefined if (package := ecosystem.undefined.get(name, "")) in own]
    for name in reversed(names):
        if found_there := [each for each in (*needed, *ecosystem.known) if _within(name, each, ecosystem.separators)]:
            return max(found_there, key=len)
        for package in needed:  # Python and C# report the first part alone
            if _within(package, name, ecosystem.separators):
                return package
    return ""


def _within(name: str, package: str, separators: str) -> bool:
    """Return whether a name is that of the package or of one of its modules."""
    return name == package or name.startswith(tuple(package + mark for mark in separators))


def probe(language: str, package: str) -> str:
    """Return a program that ends with status 0 if a package is installed; `package` is from `missing_package`."""
    ecosystem = _table()[language]
    return ecosystem.probe.replace("{}", ecosystem.probed_by.get(package, package))
