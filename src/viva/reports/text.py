"""Text as LaTeX and Markdown print it: nothing of it may break a table or run."""

from __future__ import annotations

from viva.visible import visible

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
    "†": r"\dag{}",
    "‡": r"\ddag{}",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
}


def latex(text: str) -> str:
    """Text that LaTeX prints as it is, in one line: an empty one would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(visible(text).split()))


def markdown(text: str) -> str:
    """Text that a Markdown table cell shows as it is."""
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(visible(text).split())
