"""Tables of contents as text: indentation, numbers ("1.2.3 Title"), Markdown headings and bullets, also mixed.

Every line has a rank (heading, number, indentation), and lies below the nearest line before it of a lower rank; so
levels need not be written without gaps. Any text can be read: what has no structure is a flat list.
"""

from __future__ import annotations

import re
from functools import cache

from msgspec import Struct

from viva.build.reasoning.topics import LEVELS, Graph
from viva.build.spreadsheet import decoded, tidy
from viva.files import shipped_table

_HEADING = re.compile(r"(#{1,6})[ \t]+(.*)")
_BULLET = re.compile(r"[-*+•◦▪–—‣·○●][ \t]+(.*)")
_NUMBER = re.compile(r"(?:§[ \t]*)?(\d{1,4}(?:\.\d{1,4}){0,9})([.):]?)(?:[ \t]+|(?<=[.):])(?=\D))(.*)")
_LETTER = re.compile(r"(?:[A-Z]|[a-z]|[IVXLC]{1,7}|[ivxlc]{1,7})[.)][ \t]+(.*)")
_LEADER = re.compile(
    r"(?:[ \t]*(?:\.[ \t]?){3,}|[ \t]*…[.… \t]*|[ \t]*[·_]{3,}|\t+|[ ]{2,})[ \t]*(?:\d{1,4}|[ivxlc]{1,7})?[ \t]*\Z"
)
_PAGE = re.compile(r"(?<=[^\W\d])[ \t.…]{1,200}(\d{1,4})[ \t]*\Z")
_LINK = re.compile(r"!?\[([^\[\]]{1,300})\]\([^()\s]{0,500}\)")
_RULE = re.compile(r"[-=_*~#.\s]{2,}\Z")


class Entry(Struct, frozen=True):
    """A line of a table of contents: its level (1 is the outermost), its title, its line."""

    level: int
    title: str
    line: int


class Contents(Struct, frozen=True):
    """What a table of contents says. `left_out` are headings that are no topics (Preface, Exercises, ...)."""

    entries: tuple[Entry, ...]
    left_out: tuple[str, ...] = ()


class _Line(Struct, frozen=True):
    rank: tuple[int, int, int]
    title: str
    numbered: bool = False


def read_contents(content: bytes, name: str) -> Contents:
    """Return a file. Raises DataError where it is no text."""
    text, _ = decoded(content, name)
    return parse(text)


def parse(text: str) -> Contents:
    """Return the entries of a table of contents. Total: any text has some."""
    entries: list[Entry] = []
    left_out: list[str] = []
    stack: list[_Line] = []
    heading = number = 0
    muted: _Line | None = None
    """A heading that is no topic: what lies below it is none either."""
    lines = re.split(r"\r\n|[\n\r\f\v\x85\u2028\u2029]", text)
    paged = _has_pages(lines)
    for at, raw in enumerate(lines, 1):
        line = _read(_PAGE.sub("", raw) if paged else raw, heading, number)
        if line is None:
            continue
        heading, number = line.rank[0], (line.rank[1] if line.numbered else (0 if line.rank[2] == 0 else number))
        # A plain "Preface" has only what is indented below it; what is numbered goes its own way.
        if muted is not None and line.rank > muted.rank and (muted.numbered or not line.numbered):
            continue
        muted = None
        if not _is_topic(line.title):
            left_out.append(line.title)
            muted = line
            continue
        if line.numbered and line.rank[1] > 1:
            while stack and not stack[-1].numbered and stack[-1].rank[1]:
                stack.pop()  # a bullet below 1.1 ends where 1.2 begins
        while stack and stack[-1].rank >= line.rank:
            stack.pop()
        stack.append(line)
        entries.append(Entry(len(stack), line.title, at))
    return Contents(tuple(entries), tuple(left_out))


def _has_pages(lines: list[str]) -> bool:
    """Return whether titles end in page numbers after a mere space: most lines do, and they never fall."""
    found = [int(page[1]) for line in lines if len(line) < 1_000 and (page := _PAGE.search(line))]
    written = sum(bool(line.strip()) for line in lines)
    return len(found) >= 3 and 3 * len(found) >= 2 * written and found == sorted(found) and found[0] < found[-1]


def _read(raw: str, heading: int, number: int) -> _Line | None:
    expanded = raw.replace("\ufeff", "")
    indent = _indent(expanded)
    body = expanded.strip()
    if not body or len(body) > 2_000 or _RULE.match(body):
        return None
    if found := _HEADING.match(body):
        line = _Line((len(found[1]), 0, 0), _title(found[2].rstrip("# \t"), strip_number=True), numbered=True)
        return _kept(line)
    if found := _BULLET.match(body):
        return _kept(_Line((heading, number, 1 + indent), _title(found[1], strip_number=True)))
    if found := _NUMBER.match(body):
        parts = found[1].count(".") + 1
        # "1." may be an item of a nested list, whose level is its indentation; "1.2" says its own level.
        return _kept(_Line((heading, parts, indent if parts == 1 else 0), _title(found[3]), numbered=True))
    counted, title = _counted(body)
    if counted:
        return _kept(_Line((heading, 1, 0), _title(title), numbered=True))
    if found := _LETTER.match(body):
        body = found[1]
    return _kept(_Line((heading, number if indent else 0, 1 + indent if indent else 0), _title(body)))


def _kept(line: _Line) -> _Line | None:
    """Return none for a line whose title says nothing."""
    return line if any(c.isalnum() for c in line.title) else None


def _indent(line: str) -> int:
    width = 0
    for character in line:
        if character == "\t":
            width += 4 - width % 4
        elif character in " \xa0\u3000":
            width += 1
        else:
            break
    return min(width, 10_000)


def _title(text: str, *, strip_number: bool = False) -> str:
    text = _LEADER.sub("", text) if len(text) < 1_000 else text
    text = _LINK.sub(r"\1", text)
    text = re.sub(r"\[[ xX]\][ \t]+", "", text, count=1)
    if strip_number and (found := _NUMBER.match(text.strip())):
        text = found[3]
    if strip_number:
        text = _counted(text.strip())[1]
    for mark in ("**", "__", "`"):
        text = text.replace(mark, "") if text.count(mark) % 2 == 0 else text
    return tidy(text).strip(" :;,–—-")


def _counted(text: str) -> tuple[bool, str]:
    """Return `Chapter 3: Memory` → (True, "Memory"); a bare "Chapter 3" keeps its name."""
    words = "|".join(_words()["counted"])
    found = re.match(
        rf"(?i)(?:{words})[ \t]+(?:\d{{1,4}}|[IVXLC]{{1,7}}|[A-Z])(?:[ \t]*[:.–—-][ \t]*|[ \t]+)(\S.*)", text
    )
    return (True, found[1]) if found else (False, text)


@cache
def _words() -> dict[str, list[str]]:
    return shipped_table(__file__, "headings.toml", dict[str, list[str]])


def _is_topic(title: str) -> bool:
    bare = " ".join(re.findall(r"[^\W\d_]+", title.casefold()))
    bare = re.sub(r" [ivxl]+\Z", "", bare)  # the page of a preface
    if bare in _words()["left_out"]:
        return False
    return not any(bare == begin or bare.startswith(f"{begin} ") for begin in _words()["left_out_from"])


class Outline(Struct, frozen=True):
    """The graph of a table of contents, and what of the table is not in it."""

    graph: Graph
    left_out: tuple[str, ...]
    too_deep: int
    """Entries below the third level."""


def outline(contents: Contents, under: str = "") -> Outline:
    """Return the graph of a table; `under` names the discipline that the whole table belongs to (a book's title)."""
    edges: list[tuple[str, str]] = []
    alone: list[str] = [under] if under else []
    above: list[str] = [under] if under else []
    deep = 0
    for entry in contents.entries:
        level = entry.level + (1 if under else 0)
        if level > LEVELS:
            deep += 1
            continue
        del above[level - 1 :]
        if above:
            edges.append((above[-1], entry.title))
        else:
            alone.append(entry.title)
        above.append(entry.title)
    return Outline(Graph(edges, alone), contents.left_out, deep)
