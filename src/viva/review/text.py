"""Text from models, questions and reviewers is hostile: what cannot be seen is spelled out, what could run is quoted.

Escaping for HTML is Jinja2's: every expression of a template goes through `shown`, then through autoescape.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 100_000
"""Characters of one text on a page."""
_KEPT = {"\n", "\t"}
_BLANK = re.compile(
    # What is a letter or a mark to Unicode, and nothing to the eye; two variation selectors belong to emoji.
    "[\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2028\u2029\u2800\u3164\ufe00-\ufe0d\uffa0\U000e0100-\U000e01ef]"
)


def visible(text: str) -> str:
    """Text with every control, bidi and other invisible character spelled out as <U+202E>."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        f"<U+{ord(character):04X}>"
        if character not in _KEPT and (unicodedata.category(character)[0] == "C" or _BLANK.match(character))
        else character
        for character in text.replace("\r\n", "\n")
    )


def shown(text: str) -> str:
    """The same, cut where it is longer than a page should be."""
    if len(text) <= LONGEST:
        return visible(text)
    return f"{visible(text[:LONGEST])}\n… ({len(text) - LONGEST:,} more characters)"


def one_line(text: str, limit: int) -> str:
    """The beginning of a text, for lists."""
    flat = " ".join(text[: limit * 4].split())
    return visible(flat if len(flat) <= limit else flat[: limit - 1] + "…")


def harmless(text: str) -> str:
    """Text for a CSV field: a spreadsheet runs what begins with =, +, - or @."""
    flat = " ".join(visible(text).split())
    return f"'{flat}" if flat[:1] in ("=", "+", "-", "@") else flat


def name_problem(name: str) -> str:
    """What is wrong with a reviewer's name, as a sentence; empty when nothing is."""
    if not name:
        return "Please give your name: it stands beside every mark of yours."
    if len(name) > 60:
        return "Please give a shorter name: at most 60 characters."
    if visible(name) != name or "\n" in name or "\t" in name:
        return "Please give a name without control or invisible characters."
    return ""
