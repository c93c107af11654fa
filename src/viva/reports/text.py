"""Text as LaTeX and Markdown print it: nothing of it may break a table or run."""

from __future__ import annotations

import msgspec

from viva.visible import escape_invisible, escaped

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
    # In the fonts that LaTeX begins with these are other signs, or none.
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    # Signs of our own reports: no font or package of its own is needed for these.
    "−": r"\ensuremath{-}",
    "±": r"\ensuremath{\pm}",
    "·": r"\ensuremath{\cdot}",
    "→": r"\ensuremath{\rightarrow}",
    "↓": r"\ensuremath{\downarrow}",
    "λ": r"\ensuremath{\lambda}",
    "½": r"\ensuremath{\frac12}",
    "²": r"\ensuremath{^2}",
    "×": r"\ensuremath{\times}",
    "≤": r"\ensuremath{\leq}",
    "≥": r"\ensuremath{\geq}",
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}


def latex(text: str) -> str:
    """Text that LaTeX prints as it is, in one line: an empty one would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(escape_invisible(text).split()))


def markdown(text: str) -> str:
    """Text that a Markdown table cell shows as it is."""
    text = escape_invisible(text)
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(text.split())


def json_text(content: object) -> str:
    """JSON to read, and to print to a terminal: indented, with invisible characters as escapes."""
    return escaped(msgspec.json.format(msgspec.json.encode(content), indent=2).decode()) + "\n"
