"""What a reviewer may be called."""

from __future__ import annotations

from viva.visible import escape_invisible


def name_problem(name: str) -> str:
    """What is wrong with a reviewer's name, as a sentence; empty when nothing is."""
    if not name:
        return "Please give your name: it stands beside every mark of yours."
    if len(name) > 60:
        return "Please give a shorter name: at most 60 characters."
    if escape_invisible(name) != name or "\n" in name or "\t" in name:
        return "Please give a name without control or invisible characters."
    return ""
