# mypy: ignore-errors
# ruff: noqa: PLR0911, PLR0912
"""Values of Python's as the JSON of calls.py, and back; our own code, for any Python from 3.9 on."""

import base64
import collections.abc
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
"""What is a list to whoever reads it."""


class UnknownError(Exception):
    """A value that has no form: its message is the name of its type."""


def encode(value, depth=0):
    """The JSON of a value. Raises UnknownError."""
    if value is None or isinstance(value, (bool, str)):
        return value if value is None or isinstance(value, bool) else str(value)
    if depth > MAX_DEPTH:
        raise UnknownError("value nested too deep")
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {"$float": str(float(value))}
    if isinstance(value, (bytes, bytearray)):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, tuple):
        return {"$tuple": [encode(one, depth + 1) for one in value]}
    if isinstance(value, (set, frozenset, collections.abc.KeysView)) and not isinstance(value, type({}.keys())):
        return {"$set": [encode(one, depth + 1) for one in value]}
    if isinstance(value, dict):
        if all(isinstance(key, str) for key in value):
            return {
                "$" + key if key.startswith("$") else str(key): encode(one, depth + 1) for key, one in value.items()
            }
        return {"$map": [[encode(key, depth + 1), encode(one, depth + 1)] for key, one in value.items()]}
    if isinstance(value, (list, collections.deque, *VIEWS)):
        return [encode(one, depth + 1) for one in value]
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        if isinstance(value, numpy.generic):
            return encode(value.item(), depth + 1)
        if isinstance(value, numpy.ndarray):
            return {"$array": encode(value.tolist(), depth + 1)} if value.ndim else encode(value.item(), depth + 1)
    raise UnknownError(type(value).__name__)


def decode(node):
    """The value of a JSON."""
    if isinstance(node, list):
        return [decode(one) for one in node]
    if not isinstance(node, dict):
        return node
    if len(node) == 1:
        ((tag, inner),) = node.items()
        if tag == "$tuple":
            return tuple([decode(one) for one in inner])
        if tag == "$set":
            return {decode(one) for one in inner}
        if tag == "$map":
            return {decode(key): decode(one) for key, one in inner}
        if tag == "$bytes":
            return base64.b64decode(inner)
        if tag == "$float":
            return float(inner)
        if tag == "$array":
            import numpy

            return numpy.array(decode(inner))
    return {key[1:] if key.startswith("$") else key: decode(one) for key, one in node.items()}


def line(message):
    """A message as one line. Raises UnknownError where it would be too long."""
    try:
        text = json.dumps(message, allow_nan=False).encode("ascii") + b"\n"
    except (ValueError, RecursionError):  # an integer of thousands of digits
        raise UnknownError("value that cannot be written") from None
    if len(text) > MAX_LINE:
        raise UnknownError("value of more than 16 million bytes")
    return text
