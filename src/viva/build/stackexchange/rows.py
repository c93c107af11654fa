"""A row of Posts.xml, read from its line: quickly where it is written as the dumps are, by expat where it is not.

    reader = RowReader()
    row = reader.read(b'  <row Id="4" PostTypeId="1" CreationDate="2008-07-31T21:42:52.667" ... />')

The dumps have a row a line, attributes in double quotes, line breaks in texts as `&#xA;`. Such a line is cut at its
quotes: what lies between the values, its shape, is one of few, and known after the first. A line that is anything else
goes to expat, alone, so there is nothing that a DTD, an entity or another row could do to it. What the quick way
accepts, expat accepts too, with the same values; what expat refuses is a broken row.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pyexpat import ExpatError, ParserCreate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MAX_ROW = 1 << 20
"""Bytes of a row. The site allows 30,000 characters a text; escaped, that is 200 kB at worst."""
MAX_SHAPES = 4096
"""Shapes that are remembered; the dumps have some dozens."""
FIELDS = ("Id", "PostTypeId", "AcceptedAnswerId", "ParentId", "CreationDate", "Score", "ViewCount", "Tags")

_ROW = re.compile(rb"[ \t]*<row[ \t/>]")
_SHAPE = re.compile(rb"[ \t]*<row((?: [A-Za-z][A-Za-z0-9]{0,63}=){1,64}) ?/>[ \t\r]*\n?")
_LT, _GT, _AMP, _QUOT, _LF, _CR, _TAB = (
    int.from_bytes(start, "little") for start in (b"&lt;", b"&gt;", b"&amp", b"&quo", b"&#xA", b"&#xD", b"&#x9")
)
_MEANT = (
    *((b"&lt;", b"<"), (b"&gt;", b">"), (b"&quot;", b'"')),
    *((b"&#xA;", b"\n"), (b"&#xD;", b"\r"), (b"&#x9;", b"\t"), (b"&amp;", b"&")),
)
_NONCHARACTERS = (b"\xef\xbf\xbe", b"\xef\xbf\xbf")


class BrokenRowError(Exception):
    """A row that cannot be read; `kind` names what is wrong with it in a few words."""

    def __init__(self, kind: str) -> None:
        super().__init__(kind)
        self.kind = kind


class Fields(NamedTuple):
    """The attributes that decide about a row, as a dump has them; None for one that is not there."""

    id: bytes | None
    kind: bytes | None
    accepted: bytes | None
    parent: bytes | None
    created: bytes | None
    score: bytes | None
    views: bytes | None
    tags: bytes | None
    """With its references; `plain` decodes them."""


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


def is_row(line: bytes) -> bool:
    """Whether a line begins a row."""
    return _ROW.match(line) is not None


def sound(lines: Sequence[bytes]) -> bool:
    """Whether lines hold nothing but one `<` each, references that all XML has, and legal UTF-8.

    Every line must begin as a row does. Many are looked at together, which is quicker by far.
    """
    text = lines[0] if len(lines) == 1 else b"".join(lines)
    octets = np.frombuffer(text, np.uint8)
    if np.count_nonzero(octets == ord("<")) != len(lines) or not _referring(text, octets):
        return False
    low = octets[octets < ord(" ")]
    if not bool(((low == ord("\n")) | (low == ord("\r")) | (low == ord("\t"))).all()):
        return False
    return text.isascii() or all(line.isascii() or _decodes(line) for line in lines)


def _decodes(line: bytes) -> bool:
    if b"\xef" in line and any(mark in line for mark in _NONCHARACTERS):
        return False
    try:
        line.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _referring(text: bytes, octets: NDArray[np.uint8]) -> bool:
    """Whether every `&` begins &lt; &gt; &amp; &quot; &#xA; &#xD; or &#x9;: all that the dumps have."""
    places = np.flatnonzero(octets == ord("&"))
    if not len(places):
        return True
    if int(places[-1]) + 6 > len(text):
        return False
    four = np.ndarray((len(text) - 3,), "<u4", text, 0, (1,))[places]  # the four bytes from each & on
    longer = (four != _LT) & (four != _GT)
    places, four = places[longer], four[longer]
    fifth = octets[places + 4]
    done = ((four == _AMP) | (four == _LF) | (four == _CR) | (four == _TAB)) & (fifth == ord(";"))
    places, four, fifth = places[~done], four[~done], fifth[~done]
    return bool(((four == _QUOT) & (fifth == ord("t")) & (octets[places + 5] == ord(";"))).all())


class RowReader:
    """Reads rows and remembers their shapes."""

    def __init__(self) -> None:
        self._shapes: dict[bytes, tuple[int, ...] | None] = {}

    def read(self, line: bytes, *, checked: bool = False) -> Fields:
        """The deciding attributes of a row; `checked`: `sound` said so of the lines that this one is among.

        Raises BrokenRowError for what is no well-formed XML, or more than one element.
        """
        parts = line.split(b'"')
        shape = b"".join(parts[::2])
        places = self._shapes.get(shape, ())
        if places == ():
            places = self._learn(shape)
        if places is None or not (checked or sound((line,))):
            return expat_fields(line)
        parts.append(b"")  # where an attribute that is not there is found
        return Fields(*[parts[place] if place > 0 else None for place in places])

    def _learn(self, shape: bytes) -> tuple[int, ...] | None:
        """Where the deciding attributes of a shape stand among the parts, -1: nowhere; None: expat must read."""
        matched = _SHAPE.fullmatch(shape)
        places: tuple[int, ...] | None = None
        if matched:
            names = [name.strip() for name in matched[1].decode().split("=")[:-1]]
            if len(set(names)) == len(names):
                places = tuple(2 * names.index(name) + 1 if name in names else -1 for name in FIELDS)
        if len(self._shapes) < MAX_SHAPES and len(shape) < 4096:
            self._shapes[shape] = places
        return places


def expat_fields(line: bytes) -> Fields:
    """`RowReader.read`, slowly. Raises BrokenRowError."""
    found = attributes(line)
    return Fields(*[_raw(found.get(name)) for name in FIELDS])


def attributes(line: bytes) -> dict[str, str]:
    """All attributes of a row, decoded, read by expat. Raises BrokenRowError."""
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


def _raw(value: str | None) -> bytes | None:
    """As the dumps write a value that expat has decoded."""
    if value is None:
        return None
    return value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").encode("utf-8", "replace")


def plain(tags: bytes) -> str:
    """The value of Tags, decoded."""
    text = tags
    for reference, meant in _MEANT:
        text = text.replace(reference, meant)
    return text.decode("utf-8", "replace")
