"""Convert a Stack Overflow post (HTML, as in the dump) to harmless text: no markup, no invisible characters.

Code is indented by four spaces, whatever fences it contains; links and pictures are spelled out.

Also measures how much of a prompt is copied from its original, since originals are in models' training data. Only prose
counts, because code may have to stay; runs of words are compared, in lower case, without punctuation.
"""

from __future__ import annotations

import re
from html import unescape
from html.parser import HTMLParser

from msgspec import Struct

from viva.build.files import unix_lines
from viva.visible import escape_invisible

LONGEST = 200_000
"""Characters of a post that are read. Stack Overflow allows 30,000 characters of Markdown."""
_BLOCKS = {"p", "div", "ul", "ol", "table", "tr", "blockquote", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "pre", "li"}
_UNSEEN = {"script", "style", "head", "template"}
_MARKUP = re.compile(r"</(?:p|pre|ul|ol|blockquote|h[1-6]|table)>|<(?:br|hr) ?/?>", re.IGNORECASE)
"""Tags of posts in HTML; a post without any is Markdown, as in some conversions of the dump."""
_NO_TAG = re.compile(r"""<(?!/?[A-Za-z][A-Za-z0-9]*(?:\s+[A-Za-z-]+(?:=(?:"[^"<>]*"|'[^'<>]*'|[^\s"'<>]*))?)*\s*/?>)""")
"""A `<` that begins no complete tag: Python's parser is very slow for many of them, and raises for some."""
_LINES = re.compile(r"\n{3,}")
_SPACES = re.compile(r"[ \t\r\n\f]+")
INDENT = "    "


class _Reader(HTMLParser):
    """Extracts the text. Unbalanced tags are no error: dumps have them."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.pieces: list[str] = []
        self._code: list[str] | None = None
        self._unseen = 0
        self._link = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag in _UNSEEN:
            self._unseen += 1
        elif tag == "pre":
            self._end_code()
            self._code = []
        elif tag == "li":
            self.pieces.append("\n- ")
        elif tag == "br":
            self._add("\n")
        elif tag == "code" and self._code is None:
            self.pieces.append("`")
        elif tag == "a":
            self._link = (given.get("href") or "").strip()
        elif tag == "img":
            self._add(f"[picture: {' '.join((given.get('alt') or 'without a description').split())}]")
        elif tag in _BLOCKS:
            self.pieces.append("\n\n")

    def handle_endtag(self, tag: str) -> None:
        if tag in _UNSEEN:
            self._unseen = max(0, self._unseen - 1)
        elif tag == "pre":
            self._end_code()
        elif tag == "code" and self._code is None:
            self.pieces.append("`")
        elif tag == "a":
            if self._link.startswith(("http://", "https://")) and self._code is None:
                self.pieces.append(f" ({self._link})")
            self._link = ""
        elif tag in _BLOCKS and tag != "li":
            self.pieces.append("\n\n")

    def handle_data(self, data: str) -> None:
        if not self._unseen:
            self._add(data)

    def _add(self, text: str) -> None:
        if self._code is not None:
            self._code.append(text)
        else:
            self.pieces.append(text if text == "\n" else _SPACES.sub(" ", text))

    def _end_code(self) -> None:
        if self._code is not None:
            text = unix_lines("".join(self._code)).strip("\n")
            lines = [f"{INDENT}{line.rstrip()}" if line.strip() else "" for line in text.split("\n")]
            self.pieces.append("\n\n" + "\n".join(lines) + "\n\n")
            self._code = None

    def close(self) -> None:
        super().close()
        self._end_code()


def _without_comments(html: str) -> str:
    kept: list[str] = []
    place = 0
    while (start := html.find("<!--", place)) >= 0 and (end := html.find("-->", start + 4)) >= 0:
        kept.append(html[place:start])
        place = end + 3
    return "".join(kept) + html[place:]


def plain(html: str) -> str:
    """Convert a post to text: paragraphs in one line each, code indented by four spaces; Markdown stays as it is.

    Invisible parts (scripts, comments) are left out, control characters are spelled out. Never raises.
    """
    more = f"\n\n[... {len(html) - LONGEST:,} more characters]" if len(html) > LONGEST else ""
    if not _MARKUP.search(html):
        text = unix_lines(html[:LONGEST]).expandtabs(4)
        return escape_invisible(text.strip("\n")) + more
    reader = _Reader()
    reader.feed(_NO_TAG.sub("&lt;", _without_comments(html[:LONGEST])))
    reader.close()
    lines = [line if line.startswith(INDENT) else line.strip() for line in "".join(reader.pieces).split("\n")]
    text = _LINES.sub("\n\n", "\n".join(lines)).strip("\n")
    return escape_invisible(text) + more


def one_title(title: str) -> str:
    """Return a title in one line. Titles are plain text, but some dumps escape them as HTML."""
    return escape_invisible(" ".join(unescape(title[:LONGEST]).split()))


def prose(markdown: str) -> str:
    """Return a text without its code: fenced blocks, indented lines and text in backticks."""
    kept: list[str] = []
    fenced = ""
    for line in markdown.split("\n"):
        mark = line.strip()[:3]
        if fenced:
            fenced = "" if mark == fenced else fenced
        elif mark in ("```", "~~~"):
            fenced = mark
        elif not line.startswith((INDENT, "\t")):
            kept.append(re.sub(r"`[^`\n]{1,200}`", " ", line))
    return "\n".join(kept)


RUN = 4
"""Words per run that is searched for in the original."""
COPIED = 0.6
"""Share of runs found in the original from which on a prompt counts as a copy."""
CLOSE = 0.3
"""Share from which on a prompt is reported as close to its original."""
_WORD = re.compile(r"[^\W_]+(?:['.+#-][^\W_]+)*")


class SharedText(Struct, frozen=True):
    """Overlap of a prompt with its original. `share`: share of the prompt's four-word runs that the original has (0 to
    1). `longest`: words of the longest common run. `words`: words of the prompt."""

    share: float
    longest: int
    words: int

    def __str__(self) -> str:
        return f"{self.share:.0%} of its runs of {RUN} words are the original's, the longest run has {self.longest}"


def words(text: str) -> list[str]:
    """Return the words of a text's prose in lower case."""
    return _WORD.findall(prose(text).casefold())


def shared_text(prompt: str, original: str) -> SharedText:
    """Measure how much of a prompt is in its original. A prompt of fewer than four words is compared as one run."""
    mine = words(prompt)
    theirs = f" {' '.join(words(original))} "

    def shared(start: int, end: int) -> bool:
        return f" {' '.join(mine[start:end])} " in theirs

    pieces = [shared(place, place + RUN) for place in range(max(1, len(mine) - RUN + 1))] if mine else []
    longest = 0
    for start in range(len(mine)):
        step = int(longest + 1 < RUN or any(pieces[start : start + 1]))  # a longer run begins with a shared run of four
        while step:  # doubled, then halved, so that long copies are not compared word by word
            end = start + longest + step
            grows = end <= len(mine) and shared(start, end)
            longest, step = (longest + step, 2 * step) if grows else (longest, step // 2)
    return SharedText(sum(pieces) / max(1, len(pieces)), longest, len(mine))
