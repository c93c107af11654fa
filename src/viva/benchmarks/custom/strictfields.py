"""Reading mappings strictly: every key is known or reported, every value is what its field wants or is reported.

A file is read to its end whatever is wrong with it, so that one look shows all its problems.
"""

from __future__ import annotations

import difflib
import math
import re
from functools import lru_cache
from typing import Literal

from viva.benchmarks.custom.positions import Listing, Mapping, Node, Scalar
from viva.benchmarks.custom.questionmodel import Problem, tables

MOST = 1_000_000.0
"""The largest weight, maximum and minimum: sums of them stay exact enough."""
MANY = 1_000
"""Errors after which a file is not read on, and warnings that are kept."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
_UNBOUNDED = {"nan", ".nan", "inf", ".inf", "infinity"}
FLAGS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False}
_LIKE_FLAGS = {"yes", "no", "on", "off", "y", "n"}


def shown(text: str) -> str:
    """Return a piece of the file for a message: short, in one line, with nothing in it that drives a terminal."""
    return repr(text if len(text) <= 60 else text[:59] + "…")


def _is_null(node: Node) -> bool:
    return isinstance(node, Scalar) and node.null


class TooManyErrors(Exception):  # noqa: N818 - it ends the reading, and is no error to anybody
    """Enough is known of this file; nothing behind the last error was read."""


class Notes:
    """The problems found so far. A file is read on until it has `MANY` errors."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.errors = self.warnings = 0
        self.patterns: list[tuple[Node, str, str]] = []
        """The regular expressions of the question at hand, with where they are."""

    def error(self, node: Node, where: str, text: str) -> None:
        """Something that leaves the question out."""
        self._add(node, where, text, "error")
        self.errors += 1
        if self.errors >= MANY:
            self._add(node, "", f"{MANY:,} errors; what comes after this was not read", "error")
            raise TooManyErrors

    def warn(self, node: Node, where: str, text: str) -> None:
        """Something that is probably not meant."""
        self.warnings += 1
        if self.warnings <= MANY:
            self._add(node, where, text, "warning")

    def in_order(self) -> tuple[Problem, ...]:
        """Return all of them by line, each once."""
        found = sorted(dict.fromkeys(self.problems), key=lambda problem: (problem.line, problem.column))
        if self.warnings > MANY:
            found.append(Problem(found[-1].line, 1, "", f"{self.warnings - MANY:,} more warnings", "warning"))
        return tuple(found)

    def _add(self, node: Node, where: str, text: str, severity: Literal["error", "warning"]) -> None:
        self.problems.append(Problem(node.line, node.column, where, text, severity))


def to_text(notes: Notes, node: Node, where: str) -> str:
    """Return a text as it is written: 1.0 and yes are texts too."""
    if isinstance(node, Scalar) and not node.null:
        return node.value
    if isinstance(node, Scalar):
        hint = "" if node.value else "; a text that begins with # needs quotes"
        notes.error(node, where, f"is empty{hint}" if not node.value else 'is null; for the word itself write "null"')
    elif isinstance(node, Listing):
        notes.error(node, where, "a list where a text belongs; a text that begins with [ or - needs quotes")
    else:
        notes.error(
            node, where, "a mapping where a text belongs; a text that begins with { or has a colon in it needs quotes"
        )
    return ""


def to_number(notes: Notes, node: Node, where: str, *, least: float = 0.0, most: float = MOST) -> float | None:
    """Return a finite number from `least` to `most`, or None (and an error)."""
    value = node.value if isinstance(node, Scalar) else ""
    if not isinstance(node, Scalar) or node.null:
        notes.error(node, where, "expected a number")
    elif value in FLAGS or value.lower() in _LIKE_FLAGS:
        notes.error(node, where, f"expected a number, and {value} is a truth value")
    elif value.lower().lstrip("+-") in _UNBOUNDED:
        notes.error(node, where, f"expected a finite number, not {value}")
    elif not _NUMBER.fullmatch(value):
        notes.error(node, where, f"expected a number, not {shown(value)}")
    elif node.quoted:
        notes.error(node, where, f"{shown(value)} is a text: a number stands without quotes")
    elif not math.isfinite(number := float(value)) or not least <= number <= most:
        notes.error(node, where, f"must be from {least:g} to {most:,.10g}, and is {shown(value)}")
    else:
        return number
    return None


class Section:
    """One mapping: its entries by name, and where it is, for messages."""

    def __init__(self, notes: Notes, node: Node, where: str, level: str) -> None:
        self.notes, self.node, self.where, self.level = notes, node, where, level
        self.known: dict[str, Node] = {}
        self.sound = True
        """False if it is no mapping or has unknown keys: then it is not said as well that others are missing."""
        if not isinstance(node, Mapping):
            self.sound = False
            self._not_a_mapping(node)
            return
        lines: dict[str, int] = {}
        for key, value in node.entries:
            if key.value in lines:
                notes.error(key, where, f"`{key.value[:60]}` stands here already, in line {lines[key.value]}")
                self.sound = False
                continue
            lines[key.value] = key.line
            if key.value in tables()["levels"][level]["keys"]:
                self.known[key.value] = value
            else:
                self.sound = False
                notes.error(key, where, unknown_key(key.value, level))

    def _not_a_mapping(self, node: Node) -> None:
        keys = tables()["levels"][self.level]["keys"]
        what = "a list" if isinstance(node, Listing) else "nothing" if _is_null(node) else "a text"
        self.notes.error(node, self.where, f"{what} where a mapping belongs, with {_listed(keys)}")

    def __contains__(self, key: str) -> bool:
        return key in self.known

    def given(self, key: str) -> bool:
        """Tell whether the entry is there and a text (of which nothing has been said yet)."""
        node = self.known.get(key)
        return isinstance(node, Scalar) and not node.null

    def at(self, key: str) -> str:
        """Return where an entry is, in words."""
        return f"{self.where}, {key}" if self.where else key

    def error(self, key: str, text: str) -> None:
        """An error at an entry (at the mapping itself if it is not there)."""
        self.notes.error(*self._place(key), text)

    def warn(self, key: str, text: str) -> None:
        """A warning there."""
        self.notes.warn(*self._place(key), text)

    def _place(self, key: str) -> tuple[Node, str]:
        return (self.known[key], self.at(key)) if key in self.known else (self.node, self.where)

    def need(self, key: str, what: str) -> bool:
        """Tell whether the entry is there; if not, that is an error."""
        if key not in self.known and self.sound:
            self.notes.error(self.node, self.where, f"`{key}` is missing: {what}")
        return key in self.known

    def text(self, key: str, default: str = "") -> str:
        """Return a text; the default if it is not there or is none."""
        return to_text(self.notes, self.known[key], self.at(key)) if key in self.known else default

    def number(self, key: str, default: float, *, least: float = 0.0, most: float = MOST) -> float:
        """Return a number; the default if it is not there or is none."""
        if key not in self.known:
            return default
        value = to_number(self.notes, self.known[key], self.at(key), least=least, most=most)
        return default if value is None else value

    def weight(self) -> float:
        """Return what it is worth: a positive number, 1 if nothing is said."""
        node = self.known.get("weight")
        if isinstance(node, Scalar) and not node.quoted and re.match(r"-[0-9.]*[1-9]", node.value):
            instead = "`negative: true` takes points away" if self.level == "item" else "only keyword items take away"
            self.error("weight", f"a weight is not negative; {instead}")
            return 1.0
        weight = self.number("weight", 1.0)
        if weight == 0:
            self.warn("weight", "a weight of 0 counts for nothing")
        return weight

    def flag(self, key: str) -> bool:
        """True or false; false if it is not there."""
        node = self.known.get(key)
        if node is None:
            return False
        if isinstance(node, Scalar) and not node.quoted and node.value in FLAGS:
            return FLAGS[node.value]
        self.error(key, "expected true or false" + (f", not {shown(node.value)}" if isinstance(node, Scalar) else ""))
        return False

    def items(self, key: str, what: str, empty: str = "") -> list[tuple[Node, str]]:
        """Return the entries of a list, each with where it is. `what` says what belongs into the list."""
        node = self.known.get(key)
        return [] if node is None else to_items(self.notes, node, self.at(key), what, empty)


def to_items(notes: Notes, node: Node, where: str, what: str, empty: str = "") -> list[tuple[Node, str]]:
    """Return the entries of a list, each with where it is; anything else is an error, and with `empty` no entry."""
    if isinstance(node, Listing):
        if empty and not node.items:
            notes.error(node, where, empty)
        return [(item, f"{where}, item {number}") for number, item in enumerate(node.items, 1)]
    given = "a mapping" if isinstance(node, Mapping) else "nothing" if _is_null(node) else "a text"
    notes.error(node, where, f"{given} where a list belongs: put a dash before {what}")
    return []


def unknown_key(key: str, level: str) -> str:
    """Return what to say of a key that has no meaning at this level: what it is called, where it belongs, or what is
    near.
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
    """Return where a key belongs: the nearest level around this one that has it, else the first two anywhere."""
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
