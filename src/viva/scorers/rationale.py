"""A reply taken apart: why, and what (CLR-Bench asks for `{Rationale: {}, Answer: {}}`).

Read leniently, in this order: a JSON object with both keys; keys or headings in whatever quotes, braces and markup
("**Rationale:** …", "## Answer"), cut off or not; a reply without any of that is its own rationale and its own answer.
The form is kept, so that it can be counted. Nothing is evaluated, and everything is linear in the reply.
"""

from __future__ import annotations

import json
import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Final, Literal, cast

from msgspec import Struct

from viva.scorers.fold import after_thinking, is_blank

Form = Literal["json", "near", "none"]
"""As asked; its parts can be told apart; no parts."""
LEAST_WORDS: Final = 5
"""A reply without parts that has fewer words than this (letters are none) gives no reason at all."""
_CANDIDATES = 16
_TRIM = " \t\r\n\"'`“”"


class Taken(Struct, frozen=True):
    """The parts of a reply."""

    rationale: str
    answer: str
    form: Form


@cache
def _names() -> dict[str, frozenset[str]]:
    content = tomllib.loads((Path(__file__).parent / "rationale.toml").read_text(encoding="utf-8"))
    return {part: frozenset(names) for part, names in content.items()}


@cache
def _key() -> re.Pattern[str]:
    """A key or heading at the start of a line, or after the brace or comma of an object."""

    def either(part: str) -> str:
        return "|".join(re.escape(name) for name in sorted(_names()[part], key=len, reverse=True))

    return re.compile(
        r"(?:^|[{,;]|\\n)[ \t\r\n]{0,40}(?:[-•>][ \t])?#{0,6}[ \t]?[*_\"'`“]{0,4}"
        rf"(?:(?P<rationale>{either('rationale')})|(?P<answer>{either('answer')}))"
        r"[\"'`”]{0,2}(?:[*_]{0,3}[ \t]?[:：=][*_]{0,3}|[*_]{0,3}[ \t]*(?=\r?\n|$))",
        re.IGNORECASE | re.MULTILINE,
    )


@cache
def _object() -> re.Pattern[str]:
    return re.compile(r"\{\s{0,200}\"[^\"\n]{1,40}\"\s{0,20}:")


def take_apart(reply: str) -> Taken:
    """The rationale and the answer of a reply; total on any text."""
    start, unfinished = after_thinking(reply)
    text = "" if unfinished else reply[start:].strip()
    if is_blank(text):
        return Taken("", "", "none")
    return _from_json(text) or _from_keys(text) or Taken(text if _says_why(text) else "", text, "none")


def _says_why(text: str) -> bool:
    """Whether a reply without parts holds more than an answer: some words, or as much in a script without spaces."""
    dense = sum(1 for char in text[:400] if ord(char) > 0x2E7F)
    words = sum(1 for word in text[:4000].split() if sum(map(str.isalpha, word[:40])) > 1)
    return words + dense // 2 >= LEAST_WORDS


def _from_json(text: str) -> Taken | None:
    """The last object with both keys. It is in form when nothing but a code fence stands around it."""
    starts = [match.start() for match in _object().finditer(text)]
    decoder = json.JSONDecoder(strict=False)
    for start in [*reversed(starts[-_CANDIDATES:]), *starts[:_CANDIDATES]]:
        try:
            found, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        parts = _parts(cast("dict[str, object]", found))
        if parts:
            around = re.sub(r"```[a-z]{0,10}|`", "", text[:start] + text[end:], flags=re.IGNORECASE)
            return Taken(*parts, "json" if is_blank(around) else "near")
    return None


def _parts(found: dict[str, object]) -> tuple[str, str] | None:
    values = dict.fromkeys(("rationale", "answer"), "")
    seen: set[str] = set()
    for key, value in found.items():
        for part, names in _names().items():
            if key.strip().casefold() in names and part not in seen:
                seen.add(part)
                values[part] = _text(value)
    return (values["rationale"], values["answer"]) if len(seen) == 2 else None


def _text(value: object) -> str:
    """A JSON value as an answer is written: a list with commas, a truth value as a word."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, list):
        return ", ".join(_text(one) for one in cast("list[object]", value)[:1000])
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        return _text(next(iter(known.values()))) if len(known) == 1 else json.dumps(known, ensure_ascii=False)
    return json.dumps(value)


def _from_keys(text: str) -> Taken | None:
    """Keys and headings: the last answer, and the rationale before it (or after it, where it comes second)."""
    keys = [(match.lastgroup or "", match.start(), match.end()) for match in _key().finditer(text)]
    answers = [index for index, (part, _, _) in enumerate(keys) if part == "answer"]
    reasons = [index for index, (part, _, _) in enumerate(keys) if part == "rationale"]
    if not answers:
        if not reasons:
            return None
        start = keys[reasons[0]][2]
        return Taken(_trimmed(text[start:]), "", "near")  # cut off before it came to an answer
    last = answers[-1]
    answer = _trimmed(text[keys[last][2] : keys[last + 1][1] if last + 1 < len(keys) else len(text)])
    if not reasons:
        before = text[: keys[last][1]].strip()
        return Taken(before if _says_why(before) else "", answer, "near")
    first = reasons[0]
    if first < last:
        return Taken(_trimmed(text[keys[first][2] : keys[last][1]]), answer, "near")
    return Taken(_trimmed(text[keys[reasons[-1]][2] :]), answer, "near")


def _trimmed(value: str) -> str:
    """A value without the quotes, commas and braces of the object that it stood in."""
    value = value.strip(_TRIM + ",")
    closed = value.rstrip("} \t\r\n`")
    if value.count("}") > value.count("{"):
        value = closed
    value = value.strip(_TRIM + ",*")
    if value[:1] in "{[" and value[-1:] in "}]" and value[:1] + value[-1:] in ("{}", "[]"):
        inner = value[1:-1].strip(_TRIM)
        if value[0] == "{" or '"' in value:
            value = inner.replace('", "', ", ").replace('","', ", ")
    elif value[:1] == "{" and "}" not in value:
        value = value[1:].strip(_TRIM)
    return value.replace("\\n", "\n").replace('\\"', '"') if "\\" in value[:4000] and "\n" not in value else value
