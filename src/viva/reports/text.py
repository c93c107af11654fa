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
}


def latex(text: str) -> str:
    """Text that LaTeX prints as it is, in one line: an empty one would end a caption."""
    return "".join(_LATEX.get(character, character) for character in " ".join(visible(text).split()))


def markdown(text: str) -> str:
    """Text that a Markdown table cell shows as it is."""
    for character in "\\`*_{}[]<>|#":
        text = text.replace(character, "\\" + character)
    return " ".join(visible(text).split())
