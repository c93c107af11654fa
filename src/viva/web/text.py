"""What a page shows of a text. Escaping is Jinja2's: every expression goes through `shown`, then through autoescape."""

from __future__ import annotations

from viva.visible import escape_invisible

LONGEST = 100_000
"""Characters of one text on a page."""


def shown(text: str, longest: int = LONGEST) -> str:
    """Visible text, with the line ends of one kind; cut where it is longer than a page should be."""
    whole = text[:longest].replace("\r\n", "\n")
    if len(text) <= longest:
        return escape_invisible(whole)
    return f"{escape_invisible(whole)}\n… ({len(text) - longest:,} more characters)"
