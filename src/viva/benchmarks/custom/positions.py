"""YAML as a tree of plain nodes with their lines, bounded in size by what a question file can need.

Question files come from strangers. PyYAML's loaders build objects, recurse and expand aliases without a bound; here
only its event stream is used. Whether a value is a number, a truth value or a text is decided by its
field, so that `no`, `1.0` and `12:30` are texts where a text is wanted.

JSON is read by the same parser, once Python's has found nothing wrong with it: the few texts that YAML 1.1 takes for
something else (pairs of surrogates, `\\/`, keys of over a thousand characters) are written as YAML has them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from viva.benchmarks.custom.questionmodel import Problem, tables
from viva.io.bounded import json_problem

MAX_DEPTH = 64
"""Lists and mappings inside one another. Rules may nest 20 deep, and take two levels each."""
MAX_SIZE = 600_000
"""Nodes with every alias spelled out; a long text counts one more for every 100 characters."""


MAX_SLOW = 1_000_000
"""Characters that PyYAML may read where it was built without libyaml (some seconds)."""


class Scalar(Struct, frozen=True):
    """A text, or another value without parts. `quoted` texts are never numbers, `null` is neither text nor number."""

    value: str
    line: int
    column: int
    quoted: bool = False
    null: bool = False
    block: bool = False
    """Written as a YAML block (| or >)."""
    size: int = 1


class Listing(Struct, frozen=True):
    """A list."""

    items: tuple[Node, ...]
    line: int
    column: int
    size: int = 1


class Mapping(Struct, frozen=True):
    """Keys and values, in file order, repeated keys included."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    column: int
    size: int = 1


Node = Scalar | Listing | Mapping
_TOO_DEEP = f"nested more than {MAX_DEPTH} deep"
_HALF = "half a character: a \\uD800 to \\uDFFF without its other half"


class Unreadable(Exception):  # noqa: N818 - it carries a problem and is not an error of its own
    """The text is not valid YAML or JSON; nothing after this place was read."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, column, "", text)


def _is_whole(text: str) -> bool:
    """Return whether a text has no surrogates: escapes can produce them, but they cannot be encoded."""
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


def read_yaml(text: str) -> Node:
    """Return the tree of one YAML document. Raises Unreadable with the place and advice."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", None)
    if loader is None and len(text) > MAX_SLOW:
        raise Unreadable(
            1, 1, f"over {MAX_SLOW:,} characters take too long without libyaml: reinstall PyYAML, or use JSON"
        )
    loader = loader or yaml.SafeLoader
    try:
        return _Events(yaml.parse(text, Loader=loader)).document()
    except yaml.MarkedYAMLError as problem:
        mark = problem.problem_mark or problem.context_mark
        if "quoted scalar" in f"{problem.context}":  # where the quote opens, not where the file ends
            mark = problem.context_mark or mark
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        raise Unreadable(line, column, _plain_words(problem, text, line)) from None
    except yaml.reader.ReaderError as problem:
        before = text[: problem.position] if isinstance(problem.position, int) else ""
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        raise Unreadable(line, column, "a control character that YAML does not allow") from None
    except yaml.YAMLError as problem:
        raise Unreadable(1, 1, f"not YAML: {problem}") from None


_TEXT = re.compile(r'("(?:[^"\\]|\\.)*+")(\s*:)?')
_UNSAFE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
"""Characters that YAML takes for line ends, or forbids."""
_LONGEST_KEY = 1_000
"""Characters up to the colon of a key that libyaml recognises without `?`."""


def quoted(value: Any) -> str:
    """Return a value as JSON that is YAML as well."""
    return _UNSAFE.sub(lambda char: f"\\u{ord(char[0]):04x}", json.dumps(value, ensure_ascii=False))


def read_json(text: str) -> Node:
    """Return the tree of one JSON text. Raises Unreadable with the place and what is wrong there."""

    def constant(name: str) -> None:
        outside = _TEXT.sub(lambda match: " " * len(match[0]), text)
        raise json.JSONDecodeError("Expecting value", text, outside.index(name))

    def place(offset: int) -> tuple[int, int]:
        return text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset)

    def as_yaml(match: re.Match[str]) -> str:
        literal, colon = match[1], match[2] or ""
        if "\\" in literal or _UNSAFE.search(literal):
            value = json.loads(literal)
            if not _is_whole(value):
                raise Unreadable(*place(match.start()), _HALF)
            literal = quoted(value).ljust(len(literal))  # keeps the columns of what follows
        announced = "? " if colon and (len(literal + colon) > _LONGEST_KEY or not colon.isprintable()) else ""
        return f"{announced}{literal}{colon}"

    try:
        json.loads(text, parse_int=str, parse_float=str, parse_constant=constant)
    except json.JSONDecodeError as problem:
        offset, wrong = json_problem(problem)
        raise Unreadable(*place(offset), f"not JSON: {wrong}") from None
    except RecursionError:
        raise Unreadable(1, 1, _TOO_DEEP) from None
    return read_yaml(_TEXT.sub(as_yaml, text).replace("\t", " "))


class _Events:
    """Reader of nodes from the parser's events, with a limit on their number."""

    def __init__(self, events: Iterator[Any]) -> None:
        self._events, self._size = events, 0
        self._anchors: dict[str | None, Node] = {}

    def document(self) -> Node:
        """Return the only document."""
        import yaml

        root: Node | None = None
        for event in self._events:
            if isinstance(event, yaml.DocumentStartEvent) and root is not None:
                raise Unreadable(*_place(event), "a second document (---): a question file holds one")
            if isinstance(event, yaml.NodeEvent):
                root = self._node(event, 0)
        if root is None:
            raise Unreadable(1, 1, "nothing but comments")
        return root

    def _node(self, event: Any, depth: int, *, is_key: bool = False) -> Node:
        """Return the node that begins with an event."""
        import yaml

        place = _place(event)
        node: Node | None
        if isinstance(event, yaml.AliasEvent):
            node = self._anchors.get(event.anchor)
            if node is None:
                raise Unreadable(*place, _advice("undefined alias"))
            if is_key and not isinstance(node, Scalar):
                raise Unreadable(*place, "a list or mapping cannot be a key")
            return self._counted(node, node.size)
        if event.tag is not None:
            raise Unreadable(*place, f"the tag {event.tag[:40]!r}: a text that begins with ! needs quotes")
        if isinstance(event, yaml.ScalarEvent):
            node = _scalar(event, place)
            self._counted(node, node.size)
        elif is_key:
            raise Unreadable(*place, "a list or mapping cannot be a key; a text in brackets needs quotes")
        else:
            node = self._counted(self._parts(event, depth), 1)
        if event.anchor:
            self._anchors[event.anchor] = node
        return node

    def _parts(self, event: Any, depth: int) -> Node:
        """Return the list or mapping that begins with an event."""
        import yaml

        place, is_mapping = _place(event), isinstance(event, yaml.MappingStartEvent)
        if depth >= MAX_DEPTH:
            raise Unreadable(*place, _TOO_DEEP)
        parts: list[Node] = []
        while not isinstance(inner := next(self._events), yaml.CollectionEndEvent):
            parts.append(self._node(inner, depth + 1, is_key=is_mapping and len(parts) % 2 == 0))
        size = 1 + sum(part.size for part in parts)
        if not is_mapping:
            return Listing(tuple(parts), *place, size)
        pairs = zip(parts[::2], parts[1::2], strict=True)
        return Mapping(tuple((key, value) for key, value in pairs if isinstance(key, Scalar)), *place, size)

    def _counted(self, node: Node, grown: int) -> Node:
        """Count a new or repeated (aliased) node, and return it. Raises Unreadable beyond `MAX_SIZE`."""
        self._size += grown
        if self._size > MAX_SIZE:
            raise Unreadable(node.line, node.column, f"more than {MAX_SIZE:,} values, aliases spelled out: split it")
        return node


def _scalar(event: Any, place: tuple[int, int]) -> Scalar:
    text, style = event.value, event.style
    if not _is_whole(text):
        raise Unreadable(*place, _HALF)
    null = not style and text in {"", "~", "null", "Null", "NULL"}
    return Scalar(text, *place, bool(style), null, style in ("|", ">"), 1 + len(text) // 100)


def _place(event: Any) -> tuple[int, int]:
    return event.start_mark.line + 1, event.start_mark.column + 1


def _advice(message: str) -> str:
    return next(str(row["advice"]) for row in tables()["syntax"] if re.search(row["said"], message))


def _plain_words(problem: Any, text: str, line: int) -> str:
    """Return a parser's message in plain words (keys.toml has the advice)."""
    message = f"{problem.context or ''} {problem.problem or ''}".strip()
    indentation = re.match(r"\s*", text.split("\n")[line - 1] if line <= text.count("\n") + 1 else "")
    if "any token" in message and indentation and "\t" in indentation.group():
        return _advice("tab")
    for row in tables()["syntax"]:
        if re.search(row["said"], message):
            return str(row["advice"])
    return f"not YAML: {message}" if message.isprintable() else "not YAML"
