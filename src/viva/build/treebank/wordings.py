"""Wordings of questions from wordings.toml, which a file with the same keys can override."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from viva.benchmarks.syneval.facts import KnowledgePoint
from viva.errors import DataError, option
from viva.files import shipped_table
from viva.prompting import merged, read_templates

_KEPT = frozenset(("none_of_the_above", "fillers", "roles"))
_NEEDED = ("{slot}", "{answer}")
"""Fields that a wording must have if the bundled one has them."""
_FIELD = re.compile(r"\{(slot|answer|role)\}")


class Wording(NamedTuple):
    """One wording as a template for the % operator, the fastest in Python."""

    template: str
    name: str

    def fill(self, slot: str, answer: str, role: str) -> str:
        """Return the wording with its fields filled in; field names in the values are not replaced."""
        return self.template % {"slot": slot, "answer": answer, "role": role}


class Wordings:
    """All wordings by knowledge point (CO: and kind of phrase) and use."""

    def __init__(self, data: Mapping[str, Any]) -> None:
        self.none_of_the_above: str = data["none_of_the_above"]
        self.fillers: dict[str, list[str]] = data["fillers"]
        self.roles: dict[str, str] = data["roles"]
        self._lists: dict[tuple[str, str], list[Wording]] = {}
        for point, table in data.items():
            if not isinstance(table, dict) or point in ("fillers", "roles"):
                continue
            for name, group in table.items():
                if isinstance(group, dict):
                    for use, texts in group.items():  # CO: of a kind of phrase; MVP: of a role
                        self._lists[f"{point}.{name}", use] = _cut(f"{point}.{name}.{use}", texts)
                else:
                    self._lists[point, name] = _cut(f"{point}.{name}", group)

    def of(self, point: KnowledgePoint, slot_kind: str, use: str) -> list[Wording]:
        """Return the wordings for one use: is, is_not, exists, exists_not, choice, blank."""
        return self._lists.get((f"{point}.{slot_kind}", use)) or self._lists[point, use]


def _cut(name: str, texts: list[str]) -> list[Wording]:
    return [
        Wording(_FIELD.sub(r"%(\1)s", text.replace("%", "%%")), f"{name}.{number}") for number, text in enumerate(texts)
    ]


@cache
def wordings() -> Wordings:
    """Return the bundled wordings."""
    return Wordings(_bundled())


def other_wordings(over: Mapping[str, Any]) -> Wordings:
    """Return the bundled wordings overridden by those of a file (see `read_wordings`)."""
    return Wordings(merged(_bundled(), dict(over)) or {})


def read_wordings(name: str) -> dict[str, Any]:
    """Read a file of wordings; MVP's are for all roles or per role. Raises DataError for unusable ones."""
    try:
        over = read_templates(Path(name))
    except DataError as problem:
        raise DataError(f"{option('wordings')}: {problem}") from None
    bundled = _bundled()
    bundled["MVP"] = bundled["MVP"] | dict.fromkeys(bundled["roles"], bundled["MVP"])
    for point, table in over.items():
        if point in _KEPT or point not in bundled:
            known = ", ".join(key for key in bundled if key not in _KEPT)
            raise DataError(f"{name}: there are no wordings {point!r}; there are: {known}")
        _check(f"{name}: {point}", table, bundled[point])
    return over


def _check(where: str, given: Any, bundled: Any) -> None:
    """Raise DataError if wordings cannot replace the bundled ones."""
    if not isinstance(given, dict):
        raise DataError(f"{where} is no table")
    for use, texts in given.items():
        if use not in bundled:
            raise DataError(f"{where} has no use {use!r}; it has: {', '.join(bundled)}")
        if isinstance(bundled[use], dict):
            _check(f"{where}.{use}", texts, bundled[use])
            continue
        if not isinstance(texts, list) or not texts or not all(isinstance(text, str) for text in texts):
            raise DataError(f"{where}.{use} is no list of texts")
        needed = [part for part in _NEEDED if part in bundled[use][0]]
        for text in texts:
            missing = [part for part in needed if part not in text]
            if missing:
                raise DataError(f"{where}.{use}: {text!r} lacks {', '.join(missing)}")


def _bundled() -> dict[str, Any]:
    return shipped_table(__file__, "wordings.toml", dict[str, Any])
