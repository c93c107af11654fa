"""Values that cross a pipe: JSON with tags, checked and compared.

JSON has null, true, texts, numbers (integers of any size), lists, and objects for maps whose keys are texts (a key that
begins with "$" has another "$" in front). For the rest there are tags: {"$tuple": [...]}, {"$set": [...]},
{"$map": [[key, value], ...]}, {"$bytes": "base64"}, {"$float": "nan" | "inf" | "-inf"}, {"$array": [[...], ...]}.

Languages without JSON get and send them as words, of a letter and a number, two digits a byte, or how many values
follow: n t f i5 r0.5 s61 (a text) b00 (bytes), l2 (a list) p2 u2 a2 (tuple, set, array), o2 m2 (keys and values by
turns).
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Iterator
from contextlib import suppress

from viva.types import VALUE_TAGS

MAX_BRACKETS = 1_000_000
"""Lists and maps in one line: of more, 16 MB would take 450 MB and seconds."""
MAX_DEPTH = 64
"""Lists and maps inside one another."""
SHOWN = 200
"""Characters of a value in a message."""
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LISTS = ("$tuple", "$array")
_LETTERS = {"$tuple": "p", "$set": "u", "$array": "a", "$map": "m"}


class Malformed(ValueError):  # noqa: N818  what it says is all about the value
    """A value that is not of the form above."""


def read_json(line: bytes) -> object:
    """JSON of at most MAX_DEPTH and MAX_BRACKETS, without the numbers that JSON has not. Raises Malformed."""
    if line.count(b"[") + line.count(b"{") > MAX_BRACKETS:
        raise Malformed(f"more than {MAX_BRACKETS:,} brackets")
    try:
        value = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise Malformed(str(error)[:SHOWN]) from None
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        level = [
            inner
            for one in level
            if isinstance(one, (list, dict))
            for inner in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return value
    raise Malformed(f"nested more than {MAX_DEPTH} deep")


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def words(value: object) -> str:
    """A value as words."""
    match value:
        case None | bool():
            return "n" if value is None else "ft"[value]
        case int() | float():
            return f"i{value}" if isinstance(value, int) else f"r{value!r}"
        case str():
            return f"s{value.encode('utf-8', 'surrogatepass').hex()}"
    tag, inner = tagged(value) if isinstance(value, dict) else ("", value)
    if isinstance(inner, str):
        return f"r{inner}" if tag == "$float" else f"b{_bytes(inner).hex()}"
    if isinstance(value, dict) and not tag:
        inner = [part for key, one in value.items() for part in (key[1:] if key.startswith("$") else key, one)]
    assert isinstance(inner, (list, tuple))
    parts = [part for pair in inner for part in pair] if tag == "$map" else inner
    letter = _LETTERS.get(tag, "o" if isinstance(value, dict) else "l")
    return " ".join([f"{letter}{len(parts)}", *map(words, parts)])


def read_words(line: bytes) -> object:
    """A value from words, of at most MAX_DEPTH and MAX_BRACKETS; a text that is none is bytes. Raises Malformed."""
    if sum(line.count(f" {letter}".encode()) for letter in ("l", *_LETTERS.values())) > MAX_BRACKETS:
        raise Malformed(f"more than {MAX_BRACKETS:,} brackets")
    given = (word[0] for word in re.finditer(r"\S+", line.decode("ascii", "replace")))
    try:
        value = _next_value(given, MAX_DEPTH)
    except (ValueError, StopIteration) as error:
        raise Malformed(str(error)[:SHOWN]) from None
    if next(given, None) is not None:
        raise Malformed("more than one value")
    return value


def _next_value(given: Iterator[str], depth: int) -> object:
    word = next(given)
    letter, rest = word[0], word[1:]
    if letter in "ntf":
        return {"n": None, "t": True, "f": False}[letter]
    if letter in "ir":
        number = int(rest) if rest.lstrip("-").isdigit() else float(rest)
        return {"$float": str(number)} if number in _SPECIAL.values() or _is_nan(number) else number
    if letter in "sb":
        content = bytes.fromhex(rest)
        with suppress(UnicodeDecodeError):
            if letter == "s":
                return content.decode()
        return {"$bytes": base64.b64encode(content).decode("ascii")}
    if depth < 0:
        raise Malformed(f"nested more than {MAX_DEPTH} deep")
    inner = [_next_value(given, depth - 1) for _ in range(int(rest))]
    if letter in "mo":
        pairs = list(zip(inner[::2], inner[1::2], strict=True))
        named = {f"${key}" if key.startswith("$") else key: one for key, one in pairs if isinstance(key, str)}
        if len(named) == len(pairs):
            return named
        inner = [list(pair) for pair in pairs]
    tag = next((tag for tag, one in _LETTERS.items() if one == letter), "")
    return {tag: inner} if tag else inner


def checked(value: object) -> object:
    """The value itself, if every tag in it is known and has what belongs under it. Raises Malformed.

    It is no deeper than MAX_DEPTH.
    """
    if isinstance(value, list):
        for one in value:
            checked(one)
    elif isinstance(value, dict):
        tag, inner = tagged(value)
        if tag == "$bytes":
            _bytes(inner)
        elif tag == "$float":
            if not isinstance(inner, str) or inner not in _SPECIAL:
                raise Malformed(f"a $float is one of {', '.join(_SPECIAL)}, not {shown(inner)}")
        elif tag == "$map":
            if not isinstance(inner, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in inner):
                raise Malformed("a $map has a list of pairs")
            checked(inner)
        elif tag:
            if not isinstance(inner, list):
                raise Malformed(f"a {tag} has a list")
            checked(inner)
        else:
            for one in value.values():
                checked(one)
    return value


def tagged(value: dict[str, object]) -> tuple[str, object]:
    """The tag of an object and what is under it; ("", None) for a map. Raises Malformed for what is no known tag."""
    names = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if not names:
        return "", None
    if len(value) > 1 or names[0] not in VALUE_TAGS:
        raise Malformed(f"{names[0][:SHOWN]!r} is no tag of a value: {', '.join(VALUE_TAGS)}")
    return names[0], value[names[0]]


def _bytes(inner: object) -> bytes:
    try:
        if isinstance(inner, str):
            return base64.b64decode(inner, validate=True)
    except ValueError:
        pass
    raise Malformed("$bytes are written in base64")


def matches(expected: object, given: object, within: float = 0.0) -> bool:
    """Whether two values, both `checked`, are the same: by value, numbers within `within` of one another.

    A truth value is no number. A list equals a tuple or an array of the same items unless a tuple is expected; in sets
    and in keys they are the same, and numbers equal exactly.
    """
    kind, inner = _form(expected)
    other, found = _form(given)
    if kind == "number" and other == "number":
        return _near(inner, found, within)
    if kind == "map" and other == "map":
        return _same_maps(inner, found, within)
    if kind in ("list", "$tuple", "$array") and (other == kind or (kind != "$tuple" and other in ("list", *_LISTS))):
        assert isinstance(inner, list)
        assert isinstance(found, list)
        return len(inner) == len(found) and all(
            matches(one, another, within) for one, another in zip(inner, found, strict=True)
        )
    return kind == other and bool(inner == found)


def _form(value: object) -> tuple[str, object]:  # noqa: PLR0911  a list of kinds
    """What kind of value it is, and the value without its tag."""
    if value is None:
        return "null", None
    if isinstance(value, bool):
        return "bool", value
    if isinstance(value, (int, float)):
        return "number", value
    if isinstance(value, str):
        return "text", value
    if isinstance(value, (list, tuple)):
        return "list", list(value)
    assert isinstance(value, dict)
    tag, inner = tagged(value)
    if tag == "$float":
        return "number", _SPECIAL[str(inner)]
    if tag == "$bytes":
        return tag, _bytes(inner)
    if not tag:
        return "map", {("text", key[1:] if key.startswith("$") else key): one for key, one in value.items()}
    assert isinstance(inner, list)
    if tag == "$set":
        return tag, {_key(one) for one in inner}
    return ("map", {_key(key): one for key, one in inner}) if tag == "$map" else (tag, inner)


def _key(value: object) -> tuple[str, object]:
    """A value that can be looked up: equal ones have equal keys."""
    kind, inner = _form(value)
    if kind in ("list", *_LISTS):
        assert isinstance(inner, list)
        return "list", tuple(map(_key, inner))
    if kind == "number":  # as text: whoever chooses numbers can make their hashes collide
        assert isinstance(inner, (int, float))
        return kind, str(int(inner)) if isinstance(inner, int) or inner.is_integer() else str(inner)
    if kind == "$set":
        assert isinstance(inner, set)
        return kind, frozenset(inner)
    if kind == "map":
        assert isinstance(inner, dict)
        return kind, frozenset((key, _key(one)) for key, one in inner.items())
    return kind, inner


def _is_nan(value: object) -> bool:
    return isinstance(value, float) and math.isnan(value)


def _near(expected: object, given: object, within: float) -> bool:
    assert isinstance(expected, (int, float))
    assert isinstance(given, (int, float))
    if expected == given or (_is_nan(expected) and _is_nan(given)):
        return True
    if not within:
        return False
    try:
        return abs(expected - given) <= within
    except OverflowError:
        return False


def _same_maps(expected: object, given: object, within: float) -> bool:
    assert isinstance(expected, dict)
    assert isinstance(given, dict)
    return len(expected) == len(given) and all(
        key in given and matches(one, given[key], within) for key, one in expected.items()
    )


def shown(value: object) -> str:
    """A value on one line of a message."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # an integer of more digits than are written
        text = "a number of many digits"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
