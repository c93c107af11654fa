"""What is wrong with a set, or with a translation of one: automatic checks, question by question.

A set is checked by itself (does every choice have a letter as gold, is a text in the language of the set, does the
translator speak in it?), and beside what it was translated from, if that is at hand (`comparing`). Errors are what no
exam should ask as it is; warnings are what a person should look at. No check proves a translation right: people do.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, Literal

from msgspec import Struct

from viva.benchmarks.csbench.recordfiles import LETTERS, TEXTS, Raw, named, text
from viva.files import shipped_table
from viva.types import Language
from viva.visible import one_line

Severity = Literal["error", "warning"]
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af]")
_WIDE_MARKS = re.compile(r"[\u3001\u3002\u3008-\u3011\uff01\uff08\uff09\uff0c\uff1a\uff1b\uff1f]")
_WORD = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")
_TOLD = 3
"""Words of another language from which on a text is told to be in it, and times as many as of its own."""
_LONGEST = 20_000
"""Characters of a text that are looked at."""


class Finding(Struct, frozen=True):
    """Something about one field of one question."""

    question: str
    field: str
    kind: str
    message: str
    severity: Severity = "error"

    def __str__(self) -> str:
        return f"{self.severity}: {one_line(f'{self.question} {self.field}: {self.kind}: {self.message}', 300)}"


class _Wanted(Struct, frozen=True):
    words: dict[str, frozenset[str]]
    anywhere: tuple[str, ...]
    chinese: tuple[str, ...]
    opening: tuple[str, ...]
    blank: re.Pattern[str]


@cache
def _wanted() -> _Wanted:
    content = shipped_table(__file__, "checks.toml", dict[str, Any])
    return _Wanted(
        words={language: frozenset(words.split()) for language, words in content["words"].items()},
        anywhere=tuple(content["talk"]["anywhere"]),
        chinese=tuple(content["talk"]["chinese"]),
        opening=tuple(content["talk"]["opening"]),
        blank=re.compile(content["blank"]["pattern"]),
    )


def check_set(records: Sequence[Raw], language: Language) -> list[Finding]:
    """Return everything that is wrong with the records of a set, in their order."""
    found: list[Finding] = []
    seen: dict[tuple[str, ...], str] = {}
    for name, record in zip(named(records), records, strict=True):
        found += check_record(name, record, language)
        if "#" in name and text(record.get("ID")) != name:
            found.append(
                Finding(name, "ID", "repeated id", f"{text(record.get('ID'))} stands there already", "warning")
            )
        asked = tuple(" ".join(text(record.get(key)).split()) for key in ("Question", *LETTERS))
        earlier = seen.setdefault(asked, name)
        if earlier != name:
            found.append(Finding(name, "Question", "repeated question", f"the same as {earlier}", "warning"))
    return found


def check_record(name: str, record: Raw, language: Language) -> list[Finding]:
    """Return what is wrong with one question by itself."""
    found = [*_gold(name, record), *_options(name, record)]
    for field in TEXTS:
        if field not in record or (field == "Answer" and record["Format"] in ("Multiple-choice", "Assertion")):
            continue
        found += check_text(name, field, text(record[field]), language)
    if record["Format"] == "Fill-in-the-blank" and not blanks(text(record["Question"])):
        found.append(Finding(name, "Question", "no blank", "nothing to fill in is marked", "warning"))
    return found


def blanks(content: str) -> int:
    """Return how many places to fill in a text has."""
    return len(_wanted().blank.findall(content[:_LONGEST]))


def _gold(name: str, record: Raw) -> Iterator[Finding]:
    gold = record["Answer"]
    shown = one_line(repr(text(gold)), 60)
    if record["Format"] == "Multiple-choice":
        if not (isinstance(gold, str) and gold in LETTERS):
            yield Finding(name, "Answer", "gold is no letter", f"{shown} in place of A, B, C or D")
        elif not text(record.get(gold)).strip():
            yield Finding(name, "Answer", "gold without option", f"there is no option {gold}")
    elif record["Format"] == "Assertion":
        if not isinstance(gold, bool):
            yield Finding(name, "Answer", "gold is no truth value", f"{shown} in place of true or false")
    elif not text(gold).strip():
        yield Finding(name, "Answer", "empty", "there is no answer")


def _options(name: str, record: Raw) -> Iterator[Finding]:
    if record["Format"] != "Multiple-choice":
        return
    for letter in LETTERS:
        if not text(record.get(letter)).strip():
            yield Finding(name, letter, "empty", f"option {letter} is empty or missing")
        elif not isinstance(record[letter], str):
            yield Finding(name, letter, "option is no text", f"{record[letter]!r} is a number", "warning")
    for first, second in equal_options(record):
        yield Finding(name, second, "equal options", f"{first} and {second} read alike", "warning")


def equal_options(record: Raw) -> list[tuple[str, str]]:
    """Return pairs of letters whose options read alike."""
    folded = {letter: " ".join(text(record[letter]).split()).casefold() for letter in LETTERS if letter in record}
    return [
        (first, second)
        for at, first in enumerate(LETTERS)
        for second in LETTERS[at + 1 :]
        if first in folded and folded[first] and folded[first] == folded.get(second)
    ]


def check_text(name: str, field: str, content: str, language: Language) -> Iterator[Finding]:
    """Yield what is wrong with a text in a language."""
    content = content[:_LONGEST]
    if not content.strip():
        if field == "Question":
            yield Finding(name, field, "empty", "there is no question")
        return
    flat = " ".join(content.split()).casefold()
    wanted = _wanted()
    phrases = wanted.anywhere if language == "zh" else (*wanted.anywhere, *wanted.chinese)
    spoken = next((phrase for phrase in phrases if phrase in flat), "")
    opening = next((phrase for phrase in wanted.opening if flat.startswith(phrase)), "")
    if spoken or opening:
        # An answer may begin with "Sure," of its own.
        severity: Severity = "error" if spoken or field not in ("Answer", "Explanation") else "warning"
        said = f"{spoken or opening!r} in {one_line(content, 80)!r}"
        yield Finding(name, field, "translator speaks", said, severity)
    if language != "zh":
        if foreign := HAN.findall(content):
            shown = one_line("".join(foreign[:20]), 40)
            yield Finding(name, field, "other script", f"{len(foreign):,} Chinese characters: {shown}")
        elif marks := _WIDE_MARKS.findall(content):
            yield Finding(name, field, "wide punctuation", f"{''.join(dict.fromkeys(marks))}", "warning")
    if other := other_language(content, language):
        yield Finding(name, field, "other language", f"reads as {other}: {one_line(content, 80)!r}")
    if content.count("```") % 2:
        yield Finding(name, field, "open fence", "a code fence (```) is not closed")


def other_language(content: str, language: Language) -> str:
    """Return the language that a text is in, if by its small words it is not this one; "" otherwise."""
    if language == "zh" and HAN.search(content):
        return ""
    words = Counter(word.casefold() for word in _WORD.findall(_CODE.sub(" ", content)))
    counts = {
        code: sum(count for word, count in words.items() if word in known) for code, known in _wanted().words.items()
    }
    own = counts.pop(language, 0)
    code, most = max(counts.items(), key=lambda pair: pair[1])
    return code if most >= _TOLD and most > _TOLD * own else ""


_CODE = re.compile(r"```.*?```|`[^`\n]*`|\\\(.*?\\\)|\\\[.*?\\\]|\$[^$\n]*\$", re.DOTALL)


def folded(content: str) -> str:
    """Return a text for comparing figures: one form of every character (Ⅳ and IV, ① and 1, full and half width)."""
    return unicodedata.normalize("NFKC", content[:_LONGEST])


def affected(findings: Sequence[Finding], severity: Severity) -> set[str]:
    """Return the questions with any finding of this severity."""
    return {finding.question for finding in findings if finding.severity == severity}
