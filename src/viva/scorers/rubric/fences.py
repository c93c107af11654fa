"""The fenced blocks of a Markdown answer, as a reader sees them.

CommonMark's rules (section 4.5: three or more backticks or tildes; closed by as many of the same, indented at most
three columns deeper), and other habits of models: fences in list items and quotations, a block on one line, a fence of
two backticks, LaTeX's code environment, HTML's `<pre>`, an answer that was cut off before the closing fence.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator, Set

from msgspec import Struct

_OPENING = re.compile(
    r"(?P<indent>(?:[ \t>]|[-*+][ \t]|\d{1,3}[.)][ \t]){0,40})"
    r"(?:(?P<fence>`{3,}|~{3,})[ \t]*(?P<info>[^`]*)|(?P<latex>\\begin\{code\}).*)"
)
_AFTER_WORDS = re.compile(
    r"(?P<words>(?:[^`]|`[^`]+`){1,400}?)(?:(?<=[ \t:])(?P<fence>`{3,})(?P<info>[\w+#-]{0,20})"
    r"|(?P<glued>`{3,})(?P<named>[a-zA-Z][\w+#-]{0,20}))[ \t]*"
)
"""A fence behind words of its line; if glued to them, it must name a language."""
_PRE = re.compile(r"<pre\b[^>]{0,200}>\s{0,9}(?:<code\b([^>]{0,200})>)?", re.IGNORECASE)
_HTML = re.compile(r"</?(?:code|span|br|p|div)\b[^>]{0,200}>", re.IGNORECASE)
_NAMED = re.compile(r"lang(?:uage)?-([\w+#-]{1,20})")
_FENCE_LINE = re.compile(r"[ \t>]*(?:`{3,}|~{3,})[\w+#]{0,20}[ \t]*")
_THIN = re.compile(r"(?P<indent>[ \t]{0,40})(?P<fence>`{1,2})(?P<info>[\w+#]{0,20})[ \t]*")
_ONE_LINE = re.compile(r"(?<!`)(`{3,})(?!`)([^`]{1,10000})\1(?!`)")
_QUOTED = re.compile(r"\A[ \t]{0,3}> ?")
_TAG = re.compile(r"\{?[.=]?(?P<tag>[^\s,:{}]*)")


class Block(Struct, frozen=True):
    """A block: its tag (the first word after the backticks, in lower case), and its text.

    `lead` is the text between the previous block and this one.
    """

    tag: str
    text: str
    closed: bool = True
    lead: str = ""


def read_blocks(text: str, *, tags: Set[str] = frozenset(), wrappers: Set[str] = frozenset()) -> list[Block]:
    """Return the non-empty blocks in order. Linear in the length of the text.

    `tags` are words that count as names of a language where they could also be code. `wrappers` are tags of blocks
    that are no code themselves: their content is read as if it stood outside.
    """
    if not any(mark in text for mark in ("`", "~~~", "\\begin{code}", "<pre")):
        return []
    lines = text.split("\n")
    for reading in (
        _scan(lines, wrappers, tags),
        _scan(lines, frozenset(), tags),
        _in_lines(lines, tags),
        _preformatted(text),
        _thin(lines),
    ):
        if blocks := [block for block in reading if block.text.strip()]:
            return blocks
    return []


def without_fence_lines(text: str) -> str:
    """Return a text in which no block was found, without lines that consist of a fence."""
    return "\n".join(line for line in text.split("\n") if not _FENCE_LINE.fullmatch(line))


def _scan(lines: list[str], wrappers: Set[str], tags: Set[str]) -> Iterator[Block]:
    place = last = 0
    while place < len(lines):
        opening = _OPENING.fullmatch(lines[place]) or _behind_words(lines[place], tags)
        place += 1
        if opening is None:
            continue
        groups = opening.groupdict("")
        tag = _tag_of(groups["info"] or groups.get("named", ""))
        if tag in wrappers:
            continue
        indent = groups.get("indent", "")
        lead = "\n".join([*lines[max(last, place - 9) : place - 1], groups.get("words", "")])
        fence = groups["fence"] or groups.get("glued", "")
        end, rest, closed = _closing(lines, place, fence, len(indent) + 3)
        content = [*lines[place:end], *rest]
        yield Block(tag, "\n".join(_outdented(content, indent)), closed, lead)
        place = last = end + 1 if closed else len(lines)


def _behind_words(line: str, tags: Set[str]) -> re.Match[str] | None:
    if "```" not in line:
        return None
    match = _AFTER_WORDS.fullmatch(line)
    return None if match and match["glued"] and match["named"].lower() not in tags else match


def _closing(lines: list[str], start: int, fence: str, deepest: int) -> tuple[int, list[str], bool]:
    """Return the number of the block's last line, the code on it, and whether it closes the block."""
    for number in range(start, len(lines)):
        line = lines[number].rstrip()
        if not fence:
            if "\\end{code}" in line:
                return number, [], True
        elif line.endswith(fence):
            before = line.rstrip(fence[0])
            if before.strip(" \t>"):
                if fence[0] == "`" and "`" not in before:  # the fence is at the end of the last line of code
                    return number, [before], True
            elif len(before) <= deepest:
                return number, [], True
    half = bool(fence) and start < len(lines) and lines[-1].strip() in {fence[0], fence[0] * 2}  # cut off in the fence
    return len(lines) - half, [], False


def _outdented(lines: list[str], indent: str) -> list[str]:
    """Return the lines of a block without the indentation of its opening fence."""
    if ">" in indent:
        lines = [_QUOTED.sub("", line) for line in lines]
        indent = indent.rpartition(">")[2].removeprefix(" ")
    if not indent:
        return lines
    return [line[min(len(indent), len(line) - len(line.lstrip(" \t"))) :] for line in lines]


def _in_lines(lines: list[str], tags: Set[str]) -> Iterator[Block]:
    """Yield blocks that open and close on one line."""
    for line in lines:
        for match in _ONE_LINE.finditer(line):
            first, _, rest = match[2].strip().partition(" ")
            if rest and first in tags:
                yield Block(first, rest.strip())
            else:
                yield Block("", match[2].strip())


def _preformatted(text: str) -> Iterator[Block]:
    """Yield the `<pre>` blocks of HTML."""
    place = 0
    while opening := _PRE.search(text, place):
        end = text.find("</pre>", opening.end())
        closed = end >= 0
        place = end if closed else len(text)
        named = _NAMED.search(opening[1] or "")
        content = html.unescape(_HTML.sub("", text[opening.end() : place]))
        yield Block(named[1].lower() if named else "", content, closed)


def _thin(lines: list[str]) -> Iterator[Block]:
    """Yield blocks between lines of one or two backticks: no Markdown, but meant as blocks."""
    opening: re.Match[str] | None = None
    start = 0
    for number, line in enumerate(lines):
        fence = _THIN.fullmatch(line)
        if fence is None:
            continue
        if opening is None:
            opening, start = fence, number + 1
        elif fence["fence"] == opening["fence"] and not fence["info"]:
            yield Block(opening["info"].lower(), "\n".join(_outdented(lines[start:number], opening["indent"])))
            opening = None


def _tag_of(info: str) -> str:
    """Return the language that a fence names: "python", "{r, echo=FALSE}" and "js:main.js" name python, r and js."""
    match = _TAG.match(info.strip())
    return match["tag"].lower() if match else ""
