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
from typing import Any, TypeAlias

from viva.types import VALUE_TAGS

MAX_BRACKETS = 1_000_000
"""Most lists and maps in one line; without it, a line of 16 MB could take 450 MB of memory and seconds."""
MAX_DEPTH = 64
"""Lists and maps inside one another."""
SHOWN = 200
"""Characters of a value in a message."""
_SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_LISTS = frozenset(("list", "$tuple", "$array"))
_LETTERS = {"$tuple": "p", "$set": "u", "$array": "a", "$map": "m"}


class Malformed(ValueError):  # noqa: N818  what it says is all about the value
    """A value that is not of the form above."""


def read_json(line: bytes) -> object:
    """Read JSON of at most MAX_DEPTH and MAX_BRACKETS, without NaN and infinities. Raises Malformed."""
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
            for container in level
            if isinstance(container, (list, dict))
            for inner in (container.values() if isinstance(container, dict) else container)
        ]
        if not level:
            return value
    raise Malformed(f"nested more than {MAX_DEPTH} deep")


def _no_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def words(value: object) -> str:
    """Return a value as words."""
    match value:
        case None | bool():
            return "n" if value is None else "ft"[value]
        case int() | float():
            return f"i{value}" if isinstance(value, int) else f"r{value!r}"
        case str():
            return f"s{value.encode('utf-8', 'surrogatepass').hex()}"
    tag, inner = tagged(value) if isinstance(value, dict) else ("", value)
    if isinstance(inner, str):
        return f"r{inner}" if tag == "$float" else f"b{form(value)[1].hex()}"
    if isinstance(value, dict) and not tag:
        inner = [part for key, item in value.items() for part in (key[1:] if key.startswith("$") else key, item)]
    assert isinstance(inner, (list, tuple))
    parts = [part for pair in inner for part in pair] if tag == "$map" else inner
    letter = _LETTERS.get(tag, "o" if isinstance(value, dict) else "l")
    return " ".join([f"{letter}{len(parts)}", *map(words, parts)])


def read_words(line: bytes) -> object:
    """Read a value from words, of at most MAX_DEPTH and MAX_BRACKETS; invalid text becomes bytes. Raises Malformed."""
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
        return {"$float": str(number)} if isinstance(number, float) and not math.isfinite(number) else number
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
        named = {f"${key}" if key.startswith("$") else key: item for key, item in pairs if isinstance(key, str)}
        if len(named) == len(pairs):
            return named
        inner = [list(pair) for pair in pairs]
    tag = next((tag for tag, sign in _LETTERS.items() if sign == letter), "")
    return {tag: inner} if tag else inner


def tagged(value: dict[str, object]) -> tuple[str, object]:
    """Return the tag of an object and its content; ("", None) for a map. Raises Malformed for an unknown tag."""
    names = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if not names:
        return "", None
    if len(value) > 1 or names[0] not in VALUE_TAGS:
        raise Malformed(f"{names[0][:SHOWN]!r} is no tag of a value: {', '.join(VALUE_TAGS)}")
    return names[0], value[names[0]]


Form: TypeAlias = tuple[str, Any]
"""The kind of a value, and the value without its tag: lists of forms, sets of keys, maps of keys to forms."""


def form(value: object) -> Form:  # noqa: PLR0911  a list of kinds
    """Return the form of a value. Raises Malformed for a tag that is unknown or has the wrong content.

    It is no deeper than MAX_DEPTH.
    """
    if value is None or isinstance(value, (bool, str)):
        return type(value).__name__, value
    if isinstance(value, (int, float)):
        return "number", value
    tag, inner = tagged(value) if isinstance(value, dict) else ("list", value)
    if not tag:
        assert isinstance(value, dict)
        return "map", {("str", key[1:] if key.startswith("$") else key): form(item) for key, item in value.items()}
    if tag == "$bytes":
        with suppress(ValueError, TypeError):
            return tag, base64.b64decode(str(inner) if isinstance(inner, str) else b"?", validate=True)
        raise Malformed("$bytes are written in base64")
    if tag == "$float":
        if not isinstance(inner, str) or inner not in _SPECIAL:
            raise Malformed(f"a $float is one of {', '.join(_SPECIAL)}, not {shown(inner)}")
        return "number", _SPECIAL[inner]
    if not isinstance(inner, (list, tuple)):
        raise Malformed(f"a {tag} has a list")
    items = [form(item) for item in inner]
    if tag == "$map":
        if not all(kind == "list" and len(pair) == 2 for kind, pair in items):
            raise Malformed("a $map has a list of pairs")
        return "map", {_key(key): item for _, (key, item) in items}
    return (tag, set(map(_key, items))) if tag == "$set" else (tag, items)


def _key(value: Form) -> Form:
    """Return a hashable form: equal forms have equal keys."""
    kind, inner = value
    if kind in _LISTS:
        return "list", tuple(map(_key, inner))
    if kind == "number":  # as text: hashes of chosen numbers can be made to collide
        return kind, str(int(inner)) if isinstance(inner, int) or inner.is_integer() else str(inner)
    if kind == "map":
        return kind, frozenset((key, _key(item)) for key, item in inner.items())
    return (kind, frozenset(inner)) if kind == "$set" else value


def matches(expected: Form, given: Form, within: float = 0.0) -> bool:
    """Return whether two values are the same: by value, numbers within `within` of one another.

    A truth value is no number. A list equals a tuple or an array of the same items unless a tuple is expected; in sets
    and in keys they are the same, and numbers equal exactly.
    """
    (kind, inner), (other, value) = expected, given
    if kind == "$tuple" != other or (kind != other and not {kind, other} <= _LISTS):
        return False
    if kind == "number":
        return _near(inner, value, within)
    if kind in _LISTS:
        pairs = list(zip(inner, value, strict=False))
    elif kind == "map":
        pairs = [(item, value[key]) for key, item in inner.items() if key in value]
    else:
        return bool(inner == value)
    return len(pairs) == len(inner) == len(value) and all(matches(*pair, within) for pair in pairs)


def _near(expected: float, given: float, within: float) -> bool:
    if expected == given or (expected != expected and given != given):  # noqa: PLR0124  not a number
        return True
    with suppress(OverflowError):
        return within > 0 and abs(expected - given) <= within
    return False


def shown(value: object) -> str:
    """Return a value on one line of a message."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except ValueError:  # an integer with more digits than Python converts to text
        text = "a number of many digits"
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
