"""The natural languages that Viva has something of. Data sets may be in any other: what is missing then is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

LANGUAGES: Final[Mapping[str, str]] = {"en": "English", "zh": "Chinese", "de": "German", "fr": "French"}
"""By ISO 639 code, those that the word lists of the scorers know: words for an answer, a refusal, a truth value."""


def language_name(code: str) -> str:
    """Return the English name of a language; its code where Viva has none."""
    return LANGUAGES.get(code, code)


def without_words(code: str) -> str:
    """Return what to say of grading in a language without word lists; empty where there are some."""
    if code in LANGUAGES:
        return ""
    known = ", ".join(LANGUAGES)
    return f"no word list for {code!r}, only for {known}: replies are read by letters, layout and the words of those"


def renumbered(question: str, before: int) -> str:
    """Return a question's number less those that come before the first one; an id that is no number as it is."""
    return str(int(question) - before) if before and question.isascii() and question.isdecimal() else question
