"""The wordings of wordings.toml, cut at their blanks once."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from viva.benchmarks.syneval.items import KnowledgePoint

_FIELD = re.compile(r"\{(slot|answer|role)\}")


class Wording(NamedTuple):
    """One wording, as a template of the % operator: the quickest that Python has."""

    template: str
    name: str

    def fill(self, slot: str, answer: str, role: str) -> str:
        """The wording with its fields filled in; what stands in a field is never read as one."""
        return self.template % {"slot": slot, "answer": answer, "role": role}


class Wordings:
    """All wordings, by knowledge point (CO: and kind of phrase) and by what they do."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.none_of_the_above: str = data["none_of_the_above"]
        self.fillers: dict[str, list[str]] = data["fillers"]
        self.roles: dict[str, str] = data["roles"]
        self._lists: dict[tuple[str, str], list[Wording]] = {}
        for point, table in data.items():
            if not isinstance(table, dict) or point in ("fillers", "roles"):
                continue
            for name, group in table.items():
                if isinstance(group, dict):
                    for use, texts in group.items():
                        self._lists[f"{point}.{name}", use] = _cut(f"{point}.{name}.{use}", texts)
                else:
                    self._lists[point, name] = _cut(f"{point}.{name}", group)

    def of(self, point: KnowledgePoint, slot_kind: str, use: str) -> list[Wording]:
        """The wordings for one use: is, is_not, exists, exists_not, choice, blank."""
        return self._lists[f"{point}.{slot_kind}" if point == "CO" else point, use]


def _cut(name: str, texts: list[str]) -> list[Wording]:
    return [
        Wording(_FIELD.sub(r"%(\1)s", text.replace("%", "%%")), f"{name}.{number}") for number, text in enumerate(texts)
    ]


@cache
def wordings() -> Wordings:
    """The bundled wordings."""
    return Wordings(tomllib.loads((Path(__file__).parent / "wordings.toml").read_text(encoding="utf-8")))
