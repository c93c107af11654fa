"""A reply split into rationale and answer (CLR-Bench asks for `{Rationale: {}, Answer: {}}`).

Read leniently, in this order: a JSON object with both keys; the same after the usual repairs (LaTeX's backslashes, a
comma too many); keys or headings in whatever quotes, braces, tags and markup ("**Rationale:** …", "## Answer"), cut off
or not; a reply without any of that is its own rationale and its own answer. The form is kept, so that it can be
counted. Nothing is evaluated, and everything is linear in the reply.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Final, Literal, cast

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.lexicon import after_thinking, is_blank, pattern, rewritten

Form = Literal["json", "near", "none"]
"""As asked (JSON, or the object as the paper prints it); with parts in another form; without parts."""
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
    return shipped_table(__file__, "rationale.toml", dict[str, frozenset[str]])


@cache
def _key() -> re.Pattern[str]:
    """Return a key or heading at the start of a line, or after the brace or comma of an object; or a tag."""

    first = "".join({name[0] for names in _names().values() for name in names})  # a fast test that most places fail
    named = rf"(?=[{first}])(?:(?P<rationale><rationale>)|(?P<answer><answer>)|(?P<ending><ending>))"
    return pattern(
        "rationale.toml",
        r"(?:^[ \t]{0,40}|(?:[{,;]|\\n)[ \t\r\n]{0,40})(?:[-*•>][ \t]|\d{1,2}[.)][ \t])?#{0,6}[ \t]?[*_\"'`“]{0,4}"
        rf"{named}[\"'`”]{{0,2}}(?:[ \t]\([^()\n]{{1,40}}\)|[ \t](?:is|are|ist|est)(?=[:：]))?"
        r"(?:[*_]{0,3}[ \t]?[:：=][*_]{0,3}|[*_]{0,3}[ \t][-–—][ \t]|[*_]{0,3}[ \t]*(?=\r?\n|$))"
        r"|[<【](?:(?P<why><rationale>)|(?P<what><answer>))[>】]",
        re.IGNORECASE | re.MULTILINE,
    )


_PARTS = {"why": "rationale", "what": "answer", "rationale": "rationale", "answer": "answer", "ending": "ending"}
_OBJECT = re.compile(r"\{\s{0,200}\"[^\"\n]{1,40}\"\s{0,20}:")
# "\theta" is valid JSON for a tab and "heta"; no model means that.
_EATEN = re.compile(
    r"[\b\f]|\t(?=heta|imes|ext|au\b|o\b|op\b)|\r(?=ightarrow|ho\b|ceil|floor|angle)|\n(?=eq\b|abla|otin)"
)
_ESCAPES = {"\b": "\\b", "\f": "\\f", "\t": "\\t", "\r": "\\r", "\n": "\\n"}
_OPENING = re.compile(r"\s*(?:```[a-z]{0,10}|(?:here is|sure|certainly|of course)[^\n]{0,80}[:!.])\s*", re.IGNORECASE)
_QUOTED_LIST = re.compile(r"\[\s*[\"'“]")
_BETWEEN = re.compile(r"[\"'”]\s{0,20},\s{0,20}[\"'“]")
_FENCE = re.compile(r"^```[a-z]{0,10}|```$", re.IGNORECASE | re.MULTILINE)
_AS_PRINTED = re.compile(r"\{\s{0,20}rationale\s{0,4}[:：]", re.IGNORECASE)
_FINISHED = re.compile(r"[.!?。！？…)\]}\"'”*$`]\Z")


def take_apart(reply: str) -> Taken:
    """Split a reply into rationale and answer; never raises."""
    start, unfinished = after_thinking(reply)
    text = "" if unfinished else reply[start:].strip()
    if is_blank(text):
        return Taken("", "", "none")
    taken = _from_json(text) or _from_json(rewritten("json", text), "near") or _from_keys(text)
    bare = _FENCE.sub("", text).strip()  # nothing around one object as the paper prints it: {Rationale: …, Answer: …}
    printed = _AS_PRINTED.match(bare) and bare.endswith("}") and bare.count("{") == bare.count("}")
    if taken and taken.rationale and taken.answer and printed:
        taken = Taken(taken.rationale, taken.answer, "json")
    return taken or Taken(text if _says_why(text) else "", text, "none")


def _says_why(text: str) -> bool:
    """Return whether a reply without parts has at least `LEAST_WORDS` words, or as much in a script without spaces."""
    dense = sum(1 for char in text[:400] if ord(char) > 0x2E7F)
    words = sum(1 for word in text[:4000].split() if sum(map(str.isalpha, word[:40])) > 1)
    return words + dense // 2 >= LEAST_WORDS


def _from_json(text: str, best: Form = "json") -> Taken | None:
    """Return the last object with both keys; its form is `best` if only a code fence surrounds it, else "near"."""
    starts = [match.start() for match in _OBJECT.finditer(text)]
    decoder = json.JSONDecoder(strict=False)
    taken: Taken | None = None
    end = 0
    for start in sorted({*starts[:_CANDIDATES], *starts[-_CANDIDATES:]}):
        if start < end:
            continue  # within the object that was just read
        try:
            held, stop = decoder.raw_decode(text, start)
            parts = _parts(cast("dict[str, object]", held))
        except (ValueError, RecursionError):
            continue
        if parts:
            around = re.sub(r"```[a-z]{0,10}|`", "", text[:start] + text[stop:], flags=re.IGNORECASE)
            taken, end = Taken(*parts, best if is_blank(around) else "near"), stop
    return taken


def _parts(fields: dict[str, object]) -> tuple[str, str] | None:
    """Return rationale and answer of an object that has both, skipping other keys; else None."""
    named = {key.strip().casefold(): fields[key] for key in reversed(fields)}
    values: dict[str, str] = {}
    for part in ("ending", "answer", "rationale"):  # "Solution" is the answer where there is no "Answer"
        for key in (key for key in named if key in _names()[part]):
            values["answer" if part == "ending" else part] = _text(named[key])
    others = [value for key, value in named.items() if key not in _names()["rationale"]]
    if "answer" not in values and len(others) == 1 and len(fields) == 2:
        values["answer"] = _text(others[0])  # {"Rationale": …, "Choice": "B"}
    return (values["rationale"], values["answer"]) if len(values) == 2 else None


def _text(value: object) -> str:
    """Return a JSON value as a text: a list with commas, a truth value as a word."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _EATEN.sub(lambda match: _ESCAPES[match.group()], value).strip()
    if isinstance(value, list):
        return ", ".join(_text(item) for item in cast("list[object]", value)[:1000])
    if isinstance(value, dict):
        known = cast("dict[str, object]", value)
        return _text(next(iter(known.values()))) if len(known) == 1 else json.dumps(known, ensure_ascii=False)
    return json.dumps(value)


def _from_keys(text: str) -> Taken | None:
    """Return the parts under keys and headings: the last answer, and the rationale before it, or else after it."""
    keys = [(_PARTS[str(match.lastgroup)], *match.span()) for match in _key().finditer(text)]
    if any(part == "answer" for part, _, _ in keys):
        keys = [key for key in keys if key[0] != "ending"]  # "Conclusion: …" within an answer that is called one
    answers = [index for index, (part, _, _) in enumerate(keys) if part != "rationale"]
    reasons = [index for index, (part, _, _) in enumerate(keys) if part == "rationale"]
    if not keys:
        return None
    if not answers:
        return _unanswered(text, *keys[reasons[0]][1:])
    last = answers[-1]
    answer = _trimmed(text[keys[last][2] : keys[last + 1][1] if last + 1 < len(keys) else len(text)])
    if not reasons:
        before = text[: keys[last][1]].strip()
        why = before if _says_why(before) else answer  # "Answer: B, because …"
        return Taken(why if _says_why(why) else "", answer, "near")
    after = _trimmed(text[keys[last + 1][2] :]) if last + 1 < len(keys) else ""
    if after and keys[0][0] != "rationale":
        return Taken(after, answer, "near")
    begun = [reason for reason in reasons if reason < last and (not reason or keys[reason - 1][0] != "rationale")]
    why = _trimmed(text[keys[begun[-1]][2] : keys[last][1]]) if begun else ""
    return Taken("\n\n".join(filter(None, (why, after))), answer, "near")


def _unanswered(text: str, start: int, end: int) -> Taken:
    """Return a rationale whose answer has no key: it comes before it, or is in it, or the reply was cut off."""
    before, rationale = text[:start], text[end:]
    if not is_blank(before.strip("{[`\n")) and not _OPENING.fullmatch(before):
        return Taken(_trimmed(rationale), _trimmed(before), "near")
    rationale = _trimmed(rationale)
    quoted = text[start:end].strip()[:1] in "{\"'“"
    return Taken(rationale, "" if quoted or not _FINISHED.search(rationale) else rationale, "near")


def _trimmed(value: str) -> str:
    """Return a value without the quotes, commas, braces and tags around it."""
    value = rewritten("value", value).strip(_TRIM + ",")
    if value.count("}") > value.count("{"):
        value = value.rstrip("} \t\r\n`")
    value = value.strip(_TRIM + ",*")
    if value[:1] == "{" and (value[-1:] == "}" or "}" not in value):
        value = value[1:].removesuffix("}").strip(_TRIM)
    elif value[:1] == "[" and value[-1:] == "]" and _QUOTED_LIST.match(value):
        value = _BETWEEN.sub(", ", value[1:-1].strip(_TRIM + ","))
    return value
