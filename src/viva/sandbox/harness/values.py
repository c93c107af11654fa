# mypy: ignore-errors
# ruff: noqa: PLR0911
"""Python values as the JSON of calls.py, and back; for any Python from 3.9 on."""

import base64
import collections.abc
import functools
import json
import math
import sys

MAX_LINE = 16_000_000
MAX_DEPTH = 64
VIEWS = (
    range,
    map,
    filter,
    zip,
    enumerate,
    collections.abc.KeysView,
    collections.abc.ValuesView,
    collections.abc.ItemsView,
    collections.abc.Generator,
)
"""Classes that are encoded as lists."""


COLLECTIONS = {"$tuple": tuple, "$set": set, "$map": dict}


class UnknownError(Exception):
    """A value that has no form: its message is the name of its type."""


def encode(value, depth=0):
    """Return the JSON of a value. Raises UnknownError."""
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str(value)
    if depth > MAX_DEPTH:
        raise UnknownError("value nested too deep")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    inner = functools.partial(encode, depth=depth + 1)
    if isinstance(value, tuple):
        return {"$tuple": list(map(inner, value))}
    if isinstance(value, (set, frozenset, collections.abc.KeysView)) and not isinstance(value, type({}.keys())):
        return {"$set": list(map(inner, value))}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {"$" + key if key.startswith("$") else str(key): inner(item) for key, item in value.items()}
        return {"$map": [list(map(inner, pair)) for pair in value.items()]}
    if isinstance(value, (list, collections.deque, *VIEWS)):
        return list(map(inner, value))
    numpy = sys.modules.get("numpy")
    if isinstance(value, getattr(numpy, "generic", ())) or (numpy and isinstance(value, numpy.ndarray)):
        plain = inner(value.tolist())
        return {"$array": plain} if numpy.ndim(value) else plain
    raise UnknownError(type(value).__name__)


def decode(node):
    """Return the value of a JSON."""
    if isinstance(node, list):
        return list(map(decode, node))
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((tag, inner),) = node.items()
        if tag in COLLECTIONS:
            return COLLECTIONS[tag](decode(inner))
        if tag == "$bytes":
            return base64.b64decode(inner)
        if tag == "$float":
            return float(inner)
        if tag == "$array":
            import numpy

            return numpy.array(decode(inner))
    return {key[1:] if key.startswith("$") else key: decode(item) for key, item in node.items()}


def line(message):
    """Return a message as one line. Raises UnknownError where it would be too long."""
    try:
        text = json.dumps(message, allow_nan=False).encode("ascii") + b"\n"
    except (ValueError, RecursionError):  # an integer of thousands of digits
        raise UnknownError("value that cannot be written") from None
    if len(text) > MAX_LINE:
        raise UnknownError("value of more than 16 million bytes")
    return text
