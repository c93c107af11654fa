"""What a page shows of a text. Escaping is Jinja2's: every expression goes through `shown`, then through autoescape."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable

from markupsafe import Markup, escape

from viva.types import Score, ScoreRow
from viva.visible import escape_invisible, one_line

LONGEST = 100_000
"""Characters of one text on a page."""
_SPAN = re.compile(r" at (\d{1,9})-(\d{1,9})\b")


def shown(text: str, longest: int = LONGEST) -> str:
    """Visible text, with the line ends of one kind; cut where it is longer than a page should be."""
    whole = text[:longest].replace("\r\n", "\n")
    if len(text) <= longest:
        return escape_invisible(whole)
    return f"{escape_invisible(whole)}\n… ({len(text) - longest:,} more characters)"


def highlighted(text: str, marks: Iterable[tuple[int, int, str]]) -> Markup:
    """Return a text as it came, with parts marked (start, end, class); marks may overlap."""
    kept = text[:LONGEST]
    inside = [(start, min(end, len(kept)), name) for start, end, name in marks if 0 <= start < min(end, len(kept))]
    edges = sorted({0, len(kept), *(edge for start, end, _ in inside for edge in (start, end))})
    opened: dict[int, list[str]] = {}
    closed: dict[int, list[str]] = {}
    for start, end, name in inside:
        opened.setdefault(start, []).append(name)
        closed.setdefault(end, []).append(name)
    names: list[str] = []
    made: list[str] = []
    for start, end in itertools.pairwise(edges):
        for name in closed.get(start, ()):
            names.remove(name)
        names += opened.get(start, ())
        piece = escape(escape_invisible(kept[start:end].replace("\r\n", "\n")))
        made.append(f'<mark class="{" ".join(sorted(set(names)))}">{piece}</mark>' if names else str(piece))
    if len(text) > len(kept):
        made.append(f"\n… ({len(text) - len(kept):,} more characters)")
    return Markup("".join(made))  # noqa: S704 - every piece is escaped above


def reason(explanation: str, reply: str) -> str:
    """Return why a verdict is what it is, for people: in place of offsets the words that were read."""

    def words(found: re.Match[str]) -> str:
        start, end = int(found[1]), int(found[2])
        if explanation.startswith("answer:") or not start < end <= len(reply):
            return f" (characters {start + 1:,} to {end:,})"
        return f": “{one_line(reply[start:end], 60)}”"

    return _SPAN.sub(words, explanation)


def read_span(score: Score | ScoreRow, reply: str) -> tuple[int, int] | None:
    """Return where in a reply stands what was read: as its reader says, else the one place that holds what was read."""
    said = _SPAN.search(score.explanation)
    # A line "answer: ..." is about one field of a reply of several, and its offsets are of that field.
    if said and not score.explanation.startswith("answer:") and int(said[1]) < int(said[2]) <= len(reply):
        return int(said[1]), int(said[2])
    if not score.answer.strip() or len(reply) > LONGEST:
        return None
    words = re.escape(score.answer.strip())
    places = re.finditer(rf"{words}(?<!\w{words})(?!\w)", reply)  # words first: they are searched for as bytes are
    first, second = next(places, None), next(places, None)
    return first.span() if first and not second else None
