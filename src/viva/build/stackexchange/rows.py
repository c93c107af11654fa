"""A row of Posts.xml, read from its line by expat: alone, so that a DTD, an entity or another row can do nothing to it.

The dumps have a row a line, attributes in double quotes, line breaks in texts as `&#xA;`. Lines that hold one `<` each,
where their rows begin, can hide nothing from one another: such are read together, which takes half of the time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pyexpat import ExpatError, ParserCreate
from typing import Any, NamedTuple

MAX_ROW = 1 << 20
"""Bytes of a row. The site allows 30,000 characters a text; escaped, that is 200 kB at worst."""
_ROW = re.compile(rb"[ \t]*<row[ \t/>]")


class BrokenRowError(Exception):
    """A row that cannot be read; `kind` names what is wrong with it in a few words."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Row(NamedTuple):
    """A question, or an answer, with its texts decoded."""

    id: int
    parent: int
    """0 for a question."""
    accepted: int
    score: int
    views: int
    created: str
    title: str
    body: str
    tags: str


def row_of(values: Mapping[str, Any]) -> Row:
    """Return a row of its attributes, by their names in Posts.xml. Raises KeyError, ValueError for none."""
    return Row(
        id=int(values["Id"]),
        parent=int(values.get("ParentId") or 0) if int(values["PostTypeId"]) == 2 else 0,
        accepted=int(values.get("AcceptedAnswerId") or 0),
        score=int(values.get("Score") or 0),
        views=int(values.get("ViewCount") or 0),
        created=str(values["CreationDate"])[:10],
        title=values.get("Title") or "",
        body=values.get("Body") or "",
        tags=values.get("Tags") or "",
    )


def is_row(line: bytes) -> bool:
    """Return whether a line begins a row."""
    return _ROW.match(line) is not None


def attributes(line: bytes) -> dict[str, str]:
    """Return all attributes of a row, decoded. Raises BrokenRowError."""
    found: list[dict[str, str]] = []

    def element(name: str, values: dict[str, str]) -> None:
        if name != "row" or found:
            raise BrokenRowError("more than a row in a line")
        found.append(values)

    parser = ParserCreate("utf-8")
    parser.StartElementHandler = element
    try:
        parser.Parse(line, True)
    except ExpatError:
        raise BrokenRowError("not well-formed XML") from None
    return found[0]


def attributes_of_all(lines: Sequence[bytes]) -> list[dict[str, str]] | None:
    """Return `attributes` of many lines at once; None where they are to be read one by one: not all of them are plain
    rows.
    """
    text = b"".join(lines)
    if text.count(b"<") != len(lines) or not all(map(is_row, lines)):
        return None
    rows: list[dict[str, str]] = []

    def element(_: str, values: dict[str, str]) -> None:
        rows.append(values)

    parser = ParserCreate("utf-8")
    parser.StartElementHandler = element
    try:
        parser.Parse(b"<posts>" + text + b"</posts>", True)
    except ExpatError:
        return None
    return rows[1:]
