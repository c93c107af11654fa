"""Text from models and data sets is hostile: nothing of it may drive a terminal, break a table or run in LaTeX."""

from __future__ import annotations

import unicodedata

_KEPT = {"\n", "\t"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
}


def visible(text: str, *, limit: int | None = None) -> str:
    """Text with every control, bidi and other invisible character spelled out as <U+001B>; cut to `limit`."""
    if limit is not None and len(text) > limit:
        text = f"{text[:limit]} … ({len(text) - limit:,} more characters)"
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        character
        if character in _KEPT or not unicodedata.category(character).startswith("C")
        else f"<U+{ord(character):04X}>"
        for character in text
    )


def one_line(text: str, limit: int) -> str:
    """The same in one line, for lists."""
    flat = " ".join(text.split())
    return visible(flat if len(flat) <= limit else flat[: limit - 1] + "…")


def harmless(text: str) -> str:
    """Text for a CSV field: a spreadsheet runs what begins with =, +, - or @; `cat` shows the rest to a terminal."""
    flat = " ".join(visible(text).split())
    return f"'{flat}" if flat[:1] in ("=", "+", "-", "@") else flat


def latex(text: str) -> str:
    """Text that LaTeX prints as it is, in one line: an empty one would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(visible(text).split()))


def markdown(text: str) -> str:
    """Text that a Markdown table cell shows as it is."""
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(visible(text).split())
