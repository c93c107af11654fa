"""Tests that are calls: what a question file says of a function's arguments and what must come back."""

from __future__ import annotations

import base64
import re

from msgspec import UNSET, UnsetType

from viva.benchmarks.custom.positions import Listing, Node, Scalar
from viva.benchmarks.custom.strictfields import FLAGS, Notes, Section, shown
from viva.types import VALUE_TAGS, Call

MOST_CALLS = 1_000
"""Calls in one test."""
_NAME = re.compile(r"[^\W\d][\w$]*[?!]?(?:\.[^\W\d][\w$]*[?!]?)*")
_INTEGER = re.compile(r"-?(?:0|[1-9][0-9]{0,3999})")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?")
_SPECIAL = {".nan": "nan", ".inf": "inf", "-.inf": "-inf"}
_UNCLEAR = re.compile(r"(?i:yes|no|on|off|y|n)|[-+]?[0-9][0-9_.]*|0[xob][0-9a-fA-F]+")
"""What YAML's readers disagree about."""


def read_calls(section: Section) -> tuple[Call, ...]:
    """Return the calls of one test."""
    items = section.items("calls", "every call", "no call in it: any program that runs would pass")
    if len(items) > MOST_CALLS:
        section.error("calls", f"{len(items):,} calls; a test has at most {MOST_CALLS:,}")
    calls = tuple(_call(section.notes, node, where) for node, where in items)
    if calls and all(call.returns is UNSET and not call.raises for call in calls):
        section.error("calls", "none says what it `returns` or `raises`: any program that runs would pass")
    return calls


def _call(notes: Notes, node: Node, where: str) -> Call:
    section = Section(notes, node, where, "call")
    section.need("call", "the name of the function")
    name = section.text("call")
    if name and (len(name) > 200 or not _NAME.fullmatch(name)):
        section.error("call", f"{shown(name)}: the name of a function, or `Class.method`; arguments belong into `args`")
    if "returns" in section and "raises" in section:
        section.error("raises", "`returns` and `raises` beside each other: it does one of them")
    returns: object | UnsetType = UNSET
    if "returns" in section:
        returns = to_value(notes, section.known["returns"], section.at("returns"))
    if "within" in section and "returns" not in section:
        section.error("within", "says how far numbers may be off, and needs `returns`")
    raises: str | bool = ""
    if "raises" in section:
        written = section.known["raises"]
        if isinstance(written, Scalar) and not written.quoted and written.value in FLAGS:
            raises = section.flag("raises")
            if not raises:
                section.error("raises", "true, or the name of an exception; leave it out where there is none")
        else:
            raises = section.text("raises")
            if raises and not re.fullmatch(r"\w+", raises):
                section.error("raises", f"{shown(raises)}: the bare name of an exception's class, or true for any")
    return Call(
        call=name,
        args=tuple(to_value(notes, item, place) for item, place in section.items("args", "every argument")),
        returns=returns,
        raises=raises,
        within=section.number("within", 0.0),
    )


def to_value(notes: Notes, node: Node, where: str) -> object:
    """Return a value as it is written, with the tags of `VALUE_TAGS`."""
    if isinstance(node, Listing):
        return [to_value(notes, item, f"{where}, item {number}") for number, item in enumerate(node.items, 1)]
    if isinstance(node, Scalar):
        return _scalar(notes, node, where)
    value = {key.value: to_value(notes, inner, f"{where}, {shown(key.value)}") for key, inner in node.entries}
    if len(value) < len(node.entries):
        notes.error(node, where, "a key stands there twice")
    tags = [key for key in value if key.startswith("$") and not key.startswith("$$")]
    if tags and (problem := _wrong(tags[0], value)):
        notes.error(node, where, problem)
        return {}
    return value


def _wrong(tag: str, value: dict[str, object]) -> str:
    """Return what is wrong with a tagged value; "" if nothing is."""
    inner = value[tag]
    if len(value) > 1 or tag not in VALUE_TAGS:
        return f"{shown(tag)} is no tag ({', '.join(VALUE_TAGS)}); a key that begins with $ is written with two"
    if tag == "$float":
        return "" if inner in _SPECIAL.values() else "a $float is nan, inf or -inf"
    if tag == "$bytes":
        try:
            base64.b64decode(str(inner), validate=True)
        except ValueError:
            return "$bytes are written in base64"
        return ""
    if not isinstance(inner, list):
        return f"{tag} has a list"
    pairs = all(isinstance(pair, list) and len(pair) == 2 for pair in inner)
    return "" if tag != "$map" or pairs else "a $map has a list of pairs, each a key and a value"


def _scalar(notes: Notes, node: Scalar, where: str) -> object:  # noqa: PLR0911  a list of kinds
    text = node.value
    if node.null:
        return None
    if node.quoted or node.block:
        return text
    if text in FLAGS:
        return FLAGS[text]
    if _INTEGER.fullmatch(text):
        return int(text)
    if text in _SPECIAL:
        return {"$float": _SPECIAL[text]}
    if _NUMBER.fullmatch(text) and abs(number := float(text)) != float("inf"):
        return number
    if _UNCLEAR.fullmatch(text):
        notes.error(node, where, f"{shown(text)}: a text needs quotes, a truth value is true or false")
    return text
