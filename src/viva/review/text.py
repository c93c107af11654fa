"""What a page shows of a text. Escaping is Jinja2's: every expression goes through `shown`, then through autoescape."""

from __future__ import annotations

from viva.visible import visible

LONGEST = 100_000
"""Characters of one text on a page."""


def shown(text: str) -> str:
    """Visible text, with the line ends of one kind; cut where it is longer than a page should be."""
    whole = text[:LONGEST].replace("\r\n", "\n")
    if len(text) <= LONGEST:
        return visible(whole)
    return f"{visible(whole)}\n… ({len(text) - LONGEST:,} more characters)"


def name_problem(name: str) -> str:
    """What is wrong with a reviewer's name, as a sentence; empty when nothing is."""
    if not name:
        return "Please give your name: it stands beside every mark of yours."
    if len(name) > 60:
        return "Please give a shorter name: at most 60 characters."
    if visible(name) != name or "\n" in name or "\t" in name:
        return "Please give a name without control or invisible characters."
    return ""
