"""The natural languages that Viva supports. Data sets may be in any other; a note then says what is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French"}
"""ISO 639 code → language with word lists in the scorers: words for an answer, a refusal, a truth value."""


def language_name(code: str) -> str:
    """Return the English name of a language; its code where unknown."""
    return LANGUAGES.get(code, code)


def without_words(code: str) -> str:
    """Return a note on grading in a language without word lists; "" for one with them."""
    if code in LANGUAGES:
        return ""
    known = ", ".join(LANGUAGES)
    return f"no word list for {code!r}, only for {known}: replies are read by letters, layout and the words of those"


def renumbered(question: str, before: int) -> str:
    """Return a question's number minus `before`; an id that is no number unchanged."""
    return str(int(question) - before) if before and question.isascii() and question.isdecimal() else question
