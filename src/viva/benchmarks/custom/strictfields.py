"""Strict reading of mappings: unknown keys, and values that do not fit their field, are reported.

A file is read to its end in spite of errors, so that all its problems are shown at once.
"""

from __future__ import annotations

import difflib
import math
import re
from functools import lru_cache
from typing import Literal

from msgspec import Struct

from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar
from viva.benchmarks.custom.questionmodel import Problem, tables

MOST = 1_000_000.0
"""The largest weight, maximum and minimum, so that sums stay exact enough."""
MANY = 1_000
"""Errors after which reading stops, and most warnings that are kept."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_UNBOUNDED = {"nan", ".nan", "inf", ".inf", "infinity"}
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LIKE_FLAGS = {"yes", "no", "on", "off", "y", "n"}


def shown(text: str) -> str:
    """Return a piece of the file for a message: short, on one line, with control characters escaped."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


class TooManyErrors(Exception):  # noqa: N818 - it ends the reading, and is no error to anybody
    """There are `MANY` errors; nothing after the last one was read."""


class Notes:
    """The problems found so far. A file is read on until it has `MANY` errors."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.errors = self.warnings = 0
        self.patterns: list[tuple[Field, str]] = []
        """The regular expressions of the question at hand, with where they are."""

    def error(self, node: Node, where: str, text: str) -> None:
        """Add an error, which leaves the question out."""
        self._add(node, where, text, "error")
        self.errors += 1
        if self.errors >= MANY:
            self._add(node, "", f"{MANY:,} errors; what comes after this was not read", "error")
            raise TooManyErrors

    def warn(self, node: Node, where: str, text: str) -> None:
        """Add a warning about something probably unintended."""
        self.warnings += 1
        if self.warnings <= MANY:
            self._add(node, where, text, "warning")

    def in_order(self) -> tuple[Problem, ...]:
        """Return all of them by line, each once."""
        ordered = sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.line, problem.column))
        if self.warnings > MANY:
            ordered.append(Problem(ordered[-1].line, 1, "", f"{self.warnings - MANY:,} more warnings", "warning"))
        return tuple(ordered)

    def _add(self, node: Node, where: str, text: str, severity: Literal["error", "warning"]) -> None:
        self.problems.append(Problem(node.line, node.column, where, text, severity))


class Field(Struct, frozen=True):
    """A value of the file, its place in words, and the notes on the file."""

    notes: Notes
    node: Node
    where: str

    @property
    def is_text(self) -> bool:
        """Whether it is a text (or number, or truth value)."""
        return isinstance(self.node, Scalar) and not self.node.null

    def at(self, node: Node, name: str) -> Field:
        """Return a value inside this one."""
        return Field(self.notes, node, f"{self.where}, {name}" if self.where else name)

    def error(self, text: str) -> None:
        """Add an error at this value, which leaves the question out."""
        self.notes.error(self.node, self.where, text)

    def warn(self, text: str) -> None:
        """Add a warning at this value."""
        self.notes.warn(self.node, self.where, text)

    def text(self) -> str:
        """Return a text as it is written (1.0 and yes are texts too), or "" (and an error)."""
        node = self.node
        if isinstance(node, Listing):
            self.error("a list where a text belongs; a text that begins with [ or - needs quotes")
        elif isinstance(node, Mapping):
            self.error("a mapping where a text belongs; a text that begins with { or has a colon in it needs quotes")
        elif not node.null:
            return node.value
        elif node.value:
            self.error('is null; for the word itself write "null"')
        else:
            self.error("is empty; a text that begins with # needs quotes")
        return ""

    def number(self, *, least: float = 0.0, most: float = MOST) -> float | None:
        """Return a finite number from `least` to `most`, or None (and an error)."""
        node = self.node
        value = node.value if isinstance(node, Scalar) else ""
        if not isinstance(node, Scalar) or node.null:
            self.error("expected a number")
        elif value in FLAGS or value.lower() in _LIKE_FLAGS:
            self.error(f"expected a number, and {value} is a truth value")
        elif value.lower().lstrip("+-") in _UNBOUNDED:
            self.error(f"expected a finite number, not {value}")
        elif not _NUMBER.fullmatch(value):
            self.error(f"expected a number, not {shown(value)}")
        elif node.quoted:
            self.error(f"{shown(value)} is a text: a number stands without quotes")
        elif not math.isfinite(number := float(value)) or not least <= number <= most:
            self.error(f"must be from {least:g} to {most:,.10g}, and is {shown(value)}")
        else:
            return number
        return None

    def items(self, what: str, empty: str = "") -> list[Field]:
        """Return the entries of a list; anything else is an error (`empty` is that for an empty list). `what`
        names the entries.
        """
        node = self.node
        if isinstance(node, Listing):
            if empty and not node.items:
                self.error(empty)
            return [self.at(item, f"item {number}") for number, item in enumerate(node.items, 1)]
        self.error(f"{self.called} where a list belongs: put a dash before {what}")
        return []

    @property
    def called(self) -> str:
        """Name of the value's kind, for messages that expect another one."""
        if isinstance(self.node, Scalar):
            return "nothing" if self.node.null else "a text"
        return "a list" if isinstance(self.node, Listing) else "a mapping"


class Section:
    """One mapping: its entries by name."""

    def __init__(self, field: Field, level: str) -> None:
        self.field, self.level = field, level
        self.known: dict[str, Field] = {}
        self.sound = True
        """False if it is no mapping or has unknown keys: then it is not said as well that others are missing."""
        about = tables()["levels"][level]
        keys = about["keys"]
        if not isinstance(field.node, Mapping):
            self.sound = False
            field.error(f"{field.called} where a mapping belongs, with {_listed(keys)}")
            return
        lines: dict[str, int] = {}
        for key, value in field.node.entries:
            if key.value in lines:
                problem = f"`{key.value[:60]}` stands here already, in line {lines[key.value]}"
            elif key.value in keys:
                problem = ""
                self.known[key.value] = field.at(value, key.value)
            else:
                problem = unknown_key(key.value, level)
            lines.setdefault(key.value, key.line)
            if problem:
                self.sound = False
                field.notes.error(key, field.where, problem)
        for name, what in about.get("needs", {}).items():
            self.need(name, what)

    def __contains__(self, key: str) -> bool:
        return key in self.known

    def __getitem__(self, key: str) -> Field:
        """Return an entry; if it is missing, the mapping itself, to which messages about that refer."""
        return self.known.get(key, self.field)

    def need(self, key: str, what: str) -> bool:
        """Tell whether the entry exists; add an error if not."""
        if key not in self and self.sound:
            self.field.error(f"`{key}` is missing: {what}")
        return key in self

    def text(self, key: str, default: str = "") -> str:
        """Return a text; the default if it is missing or no text."""
        return self[key].text() if key in self else default

    def number(self, key: str, default: float, *, least: float = 0.0, most: float = MOST) -> float:
        """Return a number; the default if it is missing or no number."""
        value = self[key].number(least=least, most=most) if key in self else None
        return default if value is None else value

    def weight(self) -> float:
        """Return the weight: a positive number, 1 by default."""
        if "weight" not in self:
            return 1.0
        node = self["weight"].node
        if isinstance(node, Scalar) and not node.quoted and re.match(r"-[0-9.]*[1-9]", node.value):
            instead = "`negative: true` takes points away" if self.level == "item" else "only keyword items take away"
            self["weight"].error(f"a weight is not negative; {instead}")
            return 1.0
        weight = self.number("weight", 1.0)
        if weight == 0:
            self["weight"].warn("a weight of 0 counts for nothing")
        return weight

    def flag(self, key: str) -> bool:
        """Return true or false; false by default."""
        if key not in self:
            return False
        node = self[key].node
        if isinstance(node, Scalar) and not node.quoted and node.value in FLAGS:
            return FLAGS[node.value]
        self[key].error("expected true or false" + (f", not {shown(node.value)}" if isinstance(node, Scalar) else ""))
        return False

    def items(self, key: str, what: str, empty: str = "") -> list[Field]:
        """Return the entries of a list, none where it is missing. `what` names the entries."""
        return self[key].items(what, empty) if key in self else []


def unknown_key(key: str, level: str) -> str:
    """Return a message about a key that is unknown at this level: its right name, the level where it belongs, or a
    similar key.
    """
    levels, foreign = tables()["levels"], tables()["foreign"]
    here = levels[level]
    quoted = f"`{key[:60]}`" if key.isprintable() else shown(key)
    folded = key.strip().lower().replace("-", "_").replace(" ", "_")
    if instead := foreign.get(level, {}).get(folded):
        return f"{quoted} is called {instead}"
    if absent := tables()["absent"].get(folded):
        return f"{quoted} means nothing here: {absent}"
    near = difflib.get_close_matches(folded, here["keys"], n=1, cutoff=0.7)
    if near and (folded == near[0] or folded not in _known_anywhere()):
        return f"{quoted} is unknown; did you mean `{near[0]}`?"
    if homes := _homes(folded, level):
        return f"{quoted} belongs to {homes}, not to {here['name']}"
    if instead := foreign["anywhere"].get(folded):
        return f"{quoted} is called {instead}"
    hint = "; a text with a colon in it needs quotes" if level in {"item", "rule", "blank", "accepted"} else ""
    return f"{quoted} is unknown: {here['name']} has {_listed(here['keys'])}{hint}"


@lru_cache(maxsize=1)
def _known_anywhere() -> frozenset[str]:
    return frozenset(key for level in tables()["levels"].values() for key in level["keys"])


def _homes(key: str, level: str) -> str:
    """Return where a key belongs: the nearest level around this one that allows it, else the first two others."""
    levels = tables()["levels"]
    around = levels[level].get("inside")
    while around:
        if key in levels[around]["keys"]:
            return str(levels[around]["name"])
        around = levels[around].get("inside")
    return " or ".join([other["name"] for other in levels.values() if key in other["keys"]][:2])


def _listed(keys: list[str]) -> str:
    named = [f"`{key}`" for key in keys]
    return named[0] if len(named) == 1 else ", ".join(named[:-1]) + " and " + named[-1]
