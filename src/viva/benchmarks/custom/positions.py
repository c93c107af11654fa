"""YAML as a tree that remembers its lines; plain nodes only, and no more of them than a question file can need.

Question files come from strangers. PyYAML's loaders build objects, recurse and expand aliases without a bound; here
only its event stream is used. What a value means (a number, a truth value, a text) is decided by the field that it
stands in, so that `no`, `1.0` and `12:30` are texts where a text is wanted.
"""

from __future__ import annotations

import re
from typing import Any

from msgspec import Struct

from viva.benchmarks.custom.questionmodel import Problem
from viva.benchmarks.custom.tables import tables

MAX_DEPTH = 64
"""Lists and mappings inside one another. Rules may nest 20 deep, and take two levels each."""
MAX_SIZE = 600_000
"""Nodes with every alias spelled out; a long text counts one more for every 100 characters."""


MAX_SLOW = 1_000_000
"""Characters that PyYAML may read where it was built without libyaml (some seconds)."""


class Scalar(Struct, frozen=True):
    """A text, or whatever else has no parts. `quoted` texts are never numbers, `null` is neither text nor number."""

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
    """Keys and values, in file order; keys that occur twice are all here."""

    entries: tuple[tuple[Scalar, Node], ...]
    line: int
    column: int
    size: int = 1


Node = Scalar | Listing | Mapping


class Unreadable(Exception):  # noqa: N818 - it carries a problem and is not an error of its own
    """The text is not the format at all; nothing behind this place was read."""

    def __init__(self, line: int, column: int, text: str) -> None:
        super().__init__(text)
        self.problem = Problem(line, column, "", text)


class Builder:
    """Puts nodes together without recursion, and keeps the bounds. Both readers (YAML and JSON) feed it."""

    def __init__(self) -> None:
        self.root: Node | None = None
        self._open: list[_Open] = []
        self._size = 0

    @property
    def inside(self) -> str:
        """What is open: "list", "mapping" or ""."""
        return "" if not self._open else "mapping" if self._open[-1].is_mapping else "list"

    @property
    def wants_key(self) -> bool:
        """Whether the next node is a key."""
        return bool(self._open) and self._open[-1].is_mapping and self._open[-1].key is None

    def open(self, *, is_mapping: bool, line: int, column: int) -> None:
        """A list or mapping begins."""
        if self.wants_key:
            raise Unreadable(line, column, "a list or mapping cannot be a key; a text in brackets needs quotes")
        if len(self._open) >= MAX_DEPTH:
            raise Unreadable(line, column, f"nested more than {MAX_DEPTH} deep")
        self._open.append(_Open(is_mapping, line, column))

    def close(self) -> Node:
        """The innermost list or mapping ends."""
        top = self._open.pop()
        node: Node
        if top.is_mapping:
            node = Mapping(tuple(top.entries), top.line, top.column, top.size)
        else:
            node = Listing(tuple(top.items), top.line, top.column, top.size)
        return self._put(node, grown=1)

    def scalar(self, node: Scalar) -> Scalar:
        """Return a text, number, truth value or null."""
        size = 1 + len(node.value) // 100
        node = Scalar(node.value, node.line, node.column, node.quoted, node.null, node.block, size)
        if not _is_whole(node.value):
            raise Unreadable(node.line, node.column, "half a character: a \\uD800 to \\uDFFF without its other half")
        self._put(node, grown=size)
        return node

    def again(self, node: Node, line: int, column: int) -> None:
        """The same node at a second place (an alias)."""
        if self.wants_key and not isinstance(node, Scalar):
            raise Unreadable(line, column, "a list or mapping cannot be a key")
        self._put(node, grown=node.size)

    def _put(self, node: Node, *, grown: int) -> Node:
        self._size += grown
        if self._size > MAX_SIZE:
            raise Unreadable(node.line, node.column, f"more than {MAX_SIZE:,} values, aliases spelled out: split it")
        if not self._open:
            self.root = node
            return node
        top = self._open[-1]
        top.size += node.size
        if not top.is_mapping:
            top.items.append(node)
        elif top.key is None:
            top.key = node if isinstance(node, Scalar) else None
        else:
            top.entries.append((top.key, node))
            top.key = None
        return node


def _is_whole(text: str) -> bool:
    """Whether a text has no surrogates: escapes can smuggle them in, and nothing could be written down with them."""
    try:
        return text.isascii() or bool(text.encode("utf-8"))
    except UnicodeEncodeError:
        return False


class _Open:
    """A list or mapping that has not ended."""

    def __init__(self, is_mapping: bool, line: int, column: int) -> None:
        self.is_mapping, self.line, self.column = is_mapping, line, column
        self.items: list[Node] = []
        self.entries: list[tuple[Scalar, Node]] = []
        self.key: Scalar | None = None
        self.size = 1


def read_yaml(text: str) -> Node:
    """Return the tree of one YAML document. Raises Unreadable with the place and a way out."""
    import yaml

    loader: Any = getattr(yaml, "CSafeLoader", None)
    if loader is None and len(text) > MAX_SLOW:
        raise Unreadable(
            1, 1, f"over {MAX_SLOW:,} characters take too long without libyaml: reinstall PyYAML, or use JSON"
        )
    loader = loader or yaml.SafeLoader
    try:
        return _build(yaml.parse(text, Loader=loader))
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


def _build(events: Any) -> Node:
    import yaml

    builder = Builder()
    anchors: dict[str, Node] = {}
    names: list[str | None] = []  # the anchors of what is open
    documents = 0
    for event in events:
        line, column = event.start_mark.line + 1, event.start_mark.column + 1
        if getattr(event, "tag", None) is not None:
            raise Unreadable(line, column, f"the tag {event.tag[:40]!r}: a text that begins with ! needs quotes")
        if isinstance(event, yaml.ScalarEvent):
            node = builder.scalar(_scalar(event, line, column))
            if event.anchor:
                anchors[event.anchor] = node
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            builder.open(is_mapping=isinstance(event, yaml.MappingStartEvent), line=line, column=column)
            names.append(event.anchor)
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            closed = builder.close()
            if name := names.pop():
                anchors[name] = closed
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in anchors:
                raise Unreadable(line, column, _advice("undefined alias"))
            builder.again(anchors[event.anchor], line, column)
        elif isinstance(event, yaml.DocumentStartEvent):
            documents += 1
            if documents > 1:
                raise Unreadable(line, column, "a second document (---): a question file holds one")
    if builder.root is None:
        raise Unreadable(1, 1, "nothing but comments")
    return builder.root


def _scalar(event: Any, line: int, column: int) -> Scalar:
    quoted = bool(event.style)
    null = not quoted and event.value in {"", "~", "null", "Null", "NULL"}
    return Scalar(event.value, line, column, quoted, null, event.style in ("|", ">"))


def _advice(said: str) -> str:
    return next(str(row["advice"]) for row in tables()["syntax"] if re.search(row["said"], said))


def _plain_words(problem: Any, text: str, line: int) -> str:
    """Return what to do about a parser's message (keys.toml has the advice)."""
    said = f"{problem.context or ''} {problem.problem or ''}".strip()
    indentation = re.match(r"\s*", text.split("\n")[line - 1] if line <= text.count("\n") + 1 else "")
    if "any token" in said and indentation and "\t" in indentation.group():
        return _advice("tab")
    for row in tables()["syntax"]:
        if re.search(row["said"], said):
            return str(row["advice"])
    return f"not YAML: {said}" if said.isprintable() else "not YAML"
