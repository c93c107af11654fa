"""The natural languages that Viva has something of. Data sets may be in any other: what is missing then is said."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec import Struct


class LanguageInfo(Struct, frozen=True):
    """What Viva has of a language: its name, and whether the word lists of the scorers know it."""

    name: str
    words: bool = True
    """Words for an answer, a refusal, a truth value (scorers/*.toml)."""


LANGUAGES: Final[Mapping[str, LanguageInfo]] = {
    "en": LanguageInfo("English"),
    "zh": LanguageInfo("Chinese"),
    "de": LanguageInfo("German"),
    "fr": LanguageInfo("French"),
}
"""By ISO 639 code."""


def language_name(code: str) -> str:
    """The English name of a language; its code where Viva has none."""
    return LANGUAGES[code].name if code in LANGUAGES else code


def without_words(code: str) -> str:
    """What to say of grading in a language without word lists; empty where there are some."""
    if code in LANGUAGES and LANGUAGES[code].words:
        return ""
    known = ", ".join(each for each, language in LANGUAGES.items() if language.words)
    return f"no word list for {code!r}, only for {known}: replies are read by letters, layout and the words of those"


def renumbered(question: str, before: int) -> str:
    """A question's number less those that come before the first one; an id that is no number as it is."""
    return str(int(question) - before) if before and question.isascii() and question.isdecimal() else question
