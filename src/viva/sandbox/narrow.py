"""Tests in statically typed languages and Ruby read as calls, if they consist of narrow forms.

A call on literals that is compared with a literal, exactly or within a tolerance, is a `Call`; where all of a test's
statements are such, Viva asks for the calls (calls.py) and no process of the program knows what they should come to.
Decided from the test's syntax tree (tree-sitter) alone. Without the extra `tests-as-calls` no test is read.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec
from msgspec import UNSET
from msgspec.structs import replace

from viva.files import shipped_table
from viva.sandbox.separable import shared_reason
from viva.types import Call

if TYPE_CHECKING:
    from tree_sitter import Node

LONGEST: Final = 50_000
"""Characters of a test that is read."""
_PATH = re.compile(r"[^\W\d]\w*(?:(?:\.|::)[^\W\d]\w*)*", re.ASCII)
_NUMBER = re.compile(r"(-?\d[\d_']*(?:\.\d+)?(?:[eE][+-]?\d+)?)[fFdDmMlLuU]*")
_FAILURE = re.compile(r"(?:!|[( ]\s*(?:-?[1-9]\d*|false|EXIT_FAILURE)\s*\)?)$")
"""The end of a call that exits with a status other than 0."""
_STREAMED = re.compile(r"(?:std\s*::\s*)?c(?:out|err)(?:\s*<<\s*(?:(?:std\s*::\s*)?endl)?)*\s*")
_ESCAPES = re.compile(r"(?:[^\\\n]|\\[nt\"'\\r])*")
_ARITHMETIC = re.compile(r"\b(?:bool|char|short|int|long|float|signed|unsigned|\w+_t)$")
"""Types in C++ that convert their values: 4.7 as an int is 4."""
_SAME = {"true": True, "false": False, "null": None, "nil": None, "null_literal": None, "nullptr": None, "NULL": None}


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A row of narrow.toml, which explains the fields."""

    grammar: str
    skipped: frozenset[str]
    printing: frozenset[str]
    failing: frozenset[str]
    equal: frozenset[str] = frozenset()
    methods: frozenset[str] = frozenset()
    near: frozenset[str] = frozenset()
    asserting: frozenset[str] = frozenset()
    lists: frozenset[str] = frozenset()
    identities: bool = False
    truths: tuple[str, ...] = ()


class _Invocation(NamedTuple):
    """A call: its path, if it is made of names alone; the owner; the method; the arguments."""

    path: str = ""
    owner: Node | None = None
    method: str = ""
    args: Sequence[Node] = ()

    @property
    def name(self) -> str:
        """The path as written in the tables."""
        return self.path.replace("std::", "")


class _WideError(Exception):
    """A test, or a part of it, that has no narrow form; the message says which."""


@cache
def _rows() -> Mapping[str, _Words]:
    return shipped_table(__file__, "narrow.toml", dict[str, _Words])


@cache
def _overlay() -> Mapping[str, tuple[Call, ...]]:
    return shipped_table(__file__, "overlay.toml", dict[str, tuple[Call, ...]])


@cache
def _types() -> Mapping[str, frozenset[str]]:
    return shipped_table(__file__, "nodes.toml", dict[str, frozenset[str]])


def _is(node: Node, kind: str) -> bool:
    """Return whether it is of this kind of nodes.toml."""
    return node.type in _types()[kind]


def readable(language: str) -> bool:
    """Return whether tests of this language can be read here."""
    row = _rows().get(language)
    return row is not None and all(find_spec(name) is not None for name in ("tree_sitter", row.grammar))


def as_calls(language: str, test: str) -> tuple[tuple[Call, ...], str]:
    """Return the calls of a test, () where it has other forms, and code that the program then needs at its end."""
    return _read(language, test)[:2]


def proposed(language: str, test: str) -> tuple[list[dict[str, object]], str]:
    """Return a test's calls as a question file has them, or none and the reason."""
    if language not in _rows():
        return [], shared_reason(language, test)
    calls, closing, why = _read(language, test)
    if closing.strip():
        return [], "it converts what a call comes to, or ends what the program began"
    return [_written_out(call) for call in calls], why


def _written_out(call: Call) -> dict[str, object]:
    """Return a call as in a question file. One that only had to hold returns true there, one that must not false."""
    if call.truth and call.returns is UNSET:
        call = replace(call, returns=call.truth in ("true", "given"))
    return {key: value for key, value in msgspec.to_builtins(call).items() if key != "truth"}


@lru_cache(maxsize=256)
def _read(language: str, test: str) -> tuple[tuple[Call, ...], str, str]:
    """Return the result of `as_calls`, and the reason where there are no calls."""
    known = _overlay().get(hashlib.sha256(test.encode("utf-8", "replace")).hexdigest()[:24])
    if known is not None:
        return known, "", ""
    if len(test) > LONGEST:
        return (), "", f"it has more than {LONGEST:,} characters"
    if not readable(language):
        return (), "", "pip install 'viva[tests-as-calls]' to have it read"
    row = _rows()[language]
    for opening, closing in (("", ""), ("class V {", "\n}")) if language in ("java", "csharp") else (("", ""),):
        root = _tree(row, opening + test)
        if not root.has_error:
            try:
                calls, more = _Reader(language, row).of_file(root)
                return calls, closing + more, ""
            except _WideError as why:
                return (), "", str(why) or "it is not one main function that compares calls on literals with literals"
    return (), "", "it does not parse on its own"


def _tree(row: _Words, text: str) -> Node:
    parser = import_module("tree_sitter")
    grammar = import_module(row.grammar)
    return parser.Parser(parser.Language(grammar.language())).parse(text.encode("utf-8", "replace")).root_node  # type: ignore[no-any-return]


def _text(node: Node | None) -> str:
    return (node.text or b"").decode("utf-8", "replace") if node is not None else ""


def _parts(node: Node) -> list[Node]:
    """Return the named nodes in a node, comments aside."""
    return [child for child in node.named_children if "comment" not in child.type]


def _field(node: Node, *names: str) -> Node | None:
    """Return the node in the first of these fields that is set."""
    return next((inner for name in names if (inner := node.child_by_field_name(name)) is not None), None)


def _needed(node: Node, *names: str) -> Node:
    """Return the node in the first of these fields that is set. Raises _WideError where none is."""
    inner = _field(node, *names)
    if inner is None:
        raise _WideError
    return inner


def _operator(node: Node) -> str:
    """Return the operator of an expression."""
    operator = _field(node, "operator") or next((child for child in node.children if not child.is_named), None)
    return _text(operator)


def _collected(kind: str, items: list[object]) -> object:
    """Return items as the collection that a type or library function makes of them. Raises _WideError."""
    name = re.split(r"[<\[ ]", kind)[0]
    tag = next((tag for tag in ("$map", "$tuple", "$set") if name in _types()[tag]), "")
    if tag == "$map" and not all(isinstance(item, list) and len(item) == 2 for item in items):
        raise _WideError
    return {tag: items} if tag else items


class _Reader:
    """Reader of one test."""

    def __init__(self, language: str, row: _Words) -> None:
        self.language, self.row = language, row
        self.library = row.lists | row.near | row.equal | row.printing
        self.known: dict[str, object] = {}
        self.calls: list[Call] = []
        self.closing, self.includes = "", ""

    def of_file(self, root: Node) -> tuple[tuple[Call, ...], str]:
        """Return all calls, and code that the program needs at its end. Raises _WideError."""
        self._block(root if self.language == "ruby" else self._main(root))
        if not self.calls or any(isinstance(value, Call) for value in self.known.values()):
            raise _WideError
        return tuple(self.calls), self.closing

    def _main(self, node: Node) -> Node:
        """Return the body of the only function of a file, or of its only class."""
        inside = [part for part in _parts(node) if part.type not in self.row.skipped]
        self.includes += "".join(_text(part) for part in _parts(node) if part.type == "preproc_include")
        if len(inside) != 1:
            raise _WideError
        (only,) = inside
        body = _needed(only, "body")
        if only.type == "class_declaration":
            return self._main(body)
        if not re.match(r"[mM]ain\b", _text(_field(only, "name", "declarator"))):
            raise _WideError
        return body

    def _block(self, node: Node) -> None:
        for part in _parts(node):
            if part.type == "statement_list":
                self._block(part)
            elif part.type not in self.row.skipped:
                try:
                    self._statement(part)
                except _WideError:
                    raise _WideError(
                        f"line {part.start_point[0] + 1} ({_text(part).partition(chr(10))[0]}) is no call on literals "
                        "that is compared with a literal"
                    ) from None

    def _statement(self, node: Node) -> None:
        if _is(node, "conditional"):
            self._conditional(node)
        elif node.type == "assert_statement":
            self._holds(_parts(node)[0], True)
        elif node.type == "return_statement":
            if re.sub(r"\W", "", _text(node)) not in ("return", "return0") or node.next_named_sibling is not None:
                raise _WideError
        elif _is(node, "declaring"):
            self._declared(node)
        else:
            expression = _parts(node)[0] if node.type == "expression_statement" else node
            called = self._called(expression)
            if called.name in self.row.asserting and len(called.args) == 1:
                self._holds(called.args[0], True)
            elif not self._prints(expression):
                raise _WideError

    def _conditional(self, node: Node) -> None:
        """Read `if (f(3) != 4) throw ...`, without an else."""
        if _field(node, "alternative") is not None or not self._fails(_needed(node, "consequence", "body")):
            raise _WideError
        self._holds(_needed(node, "condition"), node.type.startswith("unless"))

    def _fails(self, node: Node) -> bool:
        """Return whether a statement ends the test, having at most printed before."""
        if _is(node, "bodies"):
            *before, last = _parts(node) or [node]
            return last is not node and self._fails(last) and all(map(self._prints, before))
        if node.type == "throw_statement":
            return True
        if node.type == "return_statement":
            failing = re.fullmatch(r"return\s*\(?\s*-?[1-9]\d*\s*\)?\s*;?", _text(node))
            return self.language in ("cpp", "csharp") and failing is not None
        if node.type == "expression_statement":
            return self._fails(_parts(node)[0])
        name = _text(node) if node.type == "identifier" else self._called(node).name
        exits = name.lower().rstrip("!").endswith("exit")
        return name in self.row.failing and not (exits and not _FAILURE.search(_text(node)))

    def _prints(self, node: Node) -> bool:
        """Return whether an expression prints literals."""
        inner = _parts(node)[0] if node.type == "expression_statement" else node
        called = self._called(inner)
        if called.path:
            return called.name in self.row.printing and all(_is(part, "strings") for part in called.args)
        return _STREAMED.fullmatch(re.sub(r'"(?:[^"\\]|\\.)*"', " ", _text(inner))) is not None

    def _declared(self, node: Node) -> None:
        """Read the declaration of a name for a literal, or for the result of one call."""
        declarator = node
        while _is(declarator, "declared"):
            if any(child.type == "," for child in declarator.children):
                raise _WideError
            declarator = _parts(declarator)[-1]
        name = self._inner(_needed(declarator, "declarator", "left", "name"))
        bare = declarator.type == "variable_declarator" and _field(declarator, "value") is None
        value = _parts(declarator)[-1] if bare else _needed(declarator, "value", "right")
        if name.type != "identifier" or _text(name) in self.known:
            raise _WideError
        kind = _text(_field(node, "type"))
        meant = self._value(value, kind)
        if isinstance(meant, Call) and self.language == "cpp" and _ARITHMETIC.search(kind):
            meant = self._converted(meant, kind, _text(value))
        self.known[_text(name)] = meant

    def _converted(self, asked: Call, kind: str, text: str) -> Call:
        """Return a call of a function, added at the program's end, that converts a result as the test does."""
        if not self.known.keys().isdisjoint(re.findall(r"\w+", text)):
            raise _WideError
        name = re.sub(r"\W+", "_", f"{asked.call}_as_{kind}_{len(self.known)}")
        self.closing += f"\n{self.includes}{kind} {name}() {{ return {text}; }}"
        return Call(call=name)

    # -- expressions

    def _called(self, node: Node) -> _Invocation:
        """Return owner, method and arguments of a call; empty ones for any other node."""
        if not _is(node, "calling") or _field(node, "block") is not None:
            return _Invocation()
        function, given = _field(node, "function"), _field(node, "arguments")
        named = function if function is not None and _is(function, "members") else node
        owner = _field(named, "object", "receiver", "expression", "argument")
        method = _text(_field(named, "method", "name", "field"))
        path = _text(function) if function is not None else f"{_text(owner)}.{method}" if owner is not None else method
        arguments = [self._inner(part) for part in _parts(given)] if given is not None else []
        return _Invocation(path if _PATH.fullmatch(path.rstrip("?!")) else "", owner, method, arguments)

    def _inner(self, node: Node) -> Node:
        while _is(node, "inner") and len(_parts(node)) == 1:
            node = _parts(node)[0]
        return node

    def _value(self, node: Node, kind: str = "") -> object:
        """Return a literal, or a call of the program's. Raises _WideError."""
        node = self._inner(node)
        if node.type == "identifier" and _text(node) in self.known:
            value = self.known[_text(node)]
            if isinstance(value, Call):
                self.known[_text(node)] = _Spent
            if value is _Spent:
                raise _WideError
            return value
        called = self._called(node)
        if called.path and called.name not in self.library:
            args = tuple(map(self._plain, called.args))
            self._give(called.args)
            return Call(call=called.path.replace("::", "."), args=args)
        return self._literal(node, kind)

    def _give(self, given: Sequence[Node]) -> None:
        """Mark names that are given to a function: it may have changed their values."""
        for node in given:
            value = self.known.get(_text(node)) if node.type == "identifier" else None
            if isinstance(value, (list, dict)) or (isinstance(value, str) and self.language == "ruby"):
                self.known[_text(node)] = _Spent
            self._give(_parts(node))

    def _literal(self, node: Node, kind: str = "") -> object:  # noqa: PLR0911, PLR0912  a list of forms
        text = _text(node)
        for word in (node.type, text):
            if word in _SAME:
                return _SAME[word]
        if number := _NUMBER.fullmatch(text):
            digits = re.sub("[_']", "", number[1])
            bare = digits.lstrip("-")
            if bare[0] == "0" and bare.isdigit() and len(bare) > 1:
                raise _WideError
            whole = bare.isdigit() and not re.search("[fFdDmM]", text[len(number[1]) :])
            return int(digits) if whole else float(digits)
        if _is(node, "unary") and _operator(node) == "-":
            value = self._literal(self._inner(_parts(node)[-1]))
            if isinstance(value, (int, float)) and not isinstance(value, bool):
                return -value
        if _is(node, "texts"):
            return self._written(node, text)
        parts = _parts(node)
        if _is(node, "lists"):
            if not any(_is(each_part, "pairs") for each_part in parts):
                return _collected(kind.replace("std::", ""), [self._plain(part) for part in parts])
            return self._pairs(parts)
        if node.type == "hash":
            return self._pairs(parts)
        value = _field(node, "value", "body") or (parts[-1] if parts else None)
        if _is(node, "made") and value is not None and _is(value, "lists"):
            return self._literal(value, _text(_field(node, "type")))
        called = self._called(node)
        if called.name not in self.row.lists:
            raise _WideError
        items = [self._plain(part) for part in called.args]
        if called.name == "string":
            if len(items) != 1 or not isinstance(items[0], str):
                raise _WideError
            return items[0]
        if called.name == "Map.of":
            items = [list(pair) for pair in zip(items[::2], items[1::2], strict=True)]
        return _collected(called.name, items)

    def _plain(self, node: Node) -> object:
        """Return a literal, or a name for one."""
        value = self._value(node)
        if isinstance(value, Call):
            raise _WideError
        return value

    def _written(self, node: Node, text: str) -> object:
        """Return the value of a string or character literal, if its escapes mean the same in every language."""
        quote, inner = text[0], text[1:-1]
        raw = quote == "`" or (self.language == "ruby" and quote == "'")
        if text.startswith('"""') or quote not in "\"'`" or "interpolation" in {child.type for child in node.children}:
            raise _WideError
        if (raw and "\\" in inner) or (not raw and not _ESCAPES.fullmatch(inner)):
            raise _WideError
        escaped = inner if raw else inner.replace("\\'", "'")
        value = inner if raw else json.loads('"' + re.sub(r'(?<!\\)"', r"\"", escaped).replace("\t", "\\t") + '"')
        return ord(value) if node.type == "rune_literal" else value

    def _pairs(self, nodes: Sequence[Node]) -> object:
        pairs = []
        for pair in map(_parts, nodes):
            if len(pair) != 2 or pair[0].type == "hash_key_symbol":
                raise _WideError
            pairs.append([*map(self._plain, pair)])
        if all(isinstance(key, str) for key, _ in pairs):
            return {f"${key}" if str(key).startswith("$") else str(key): value for key, value in pairs}
        return {"$map": pairs}

    # -- conditions

    def _holds(self, node: Node, truth: bool) -> None:
        """Read the calls of a condition that must be `truth`. Raises _WideError."""
        node = self._inner(node)
        operator = _operator(node) if _is(node, "binary") else ""
        if _is(node, "unary") and _operator(node) in ("!", "not"):
            self._holds(_parts(node)[-1], not truth)
        elif operator in ("&&", "and") if truth else operator in ("||", "or"):
            for part in _parts(node):
                self._holds(part, truth)
        elif operator in ("==", "!="):
            if (operator == "==") != truth:
                raise _WideError
            self._same(*_parts(node), by_operator=True)
        elif operator in ("<", "<=", ">", ">="):
            if operator.startswith("<") != truth:
                raise _WideError
            self._near(*_parts(node))
        else:
            self._asked(node, truth)

    def _asked(self, node: Node, truth: bool) -> None:
        called = self._called(node)
        sides = called.args if called.name in self.row.equal else ()
        if not sides and called.owner is not None and called.method in self.row.methods:
            sides = (called.owner, *called.args)
        if len(sides) == 2:
            if not truth:
                raise _WideError
            self._same(*sides)
        else:
            asked = self._value(node)
            if not isinstance(asked, Call):
                raise _WideError
            truths = self.row.truths
            meant = {"truth": truths[not truth]} if truths else {"returns": truth}
            self.calls.append(replace(asked, **meant))

    def _sides(self, left: Node, right: Node) -> tuple[Call, object]:
        """Return the call and the value of a comparison. Raises _WideError."""
        asked, value = self._value(left), self._value(right)
        if isinstance(value, Call):
            asked, value, right = value, asked, left
        if not isinstance(asked, Call) or self._plain(right) != value:  # the call may have changed it
            raise _WideError
        return asked, value

    def _same(self, left: Node, right: Node, *, by_operator: bool = False) -> None:
        asked, value = self._sides(left, right)
        if self.language == "cpp" and value in (0, 1):  # a bool equals it as well
            self.calls.append(replace(asked, returns=value, truth="true" if value else "false"))
            return
        compared = isinstance(value, (list, dict)) or (isinstance(value, str) and self.language == "java")
        if by_operator and self.row.identities and compared:
            raise _WideError
        self.calls.append(replace(asked, returns=value))

    def _near(self, left: Node, right: Node) -> None:
        """Read `abs(f(3) - 2.5) < 1e-9`."""
        within, left = self._literal(self._inner(right)), self._inner(left)
        called = self._called(left)
        if called.name in self.row.near and len(called.args) == 1:
            difference = called.args[0]
        elif self.language == "ruby" and called.owner is not None and called.method == "abs":
            difference = self._inner(called.owner)
        else:
            raise _WideError
        if not _is(difference, "binary") or _operator(difference) != "-":
            raise _WideError
        asked, value = self._sides(*_parts(difference))
        if not isinstance(value, (int, float)) or not isinstance(within, (int, float)):
            raise _WideError
        self.calls.append(replace(asked, returns=value, within=float(within)))


class _Spent:
    """Value of a name that was used once: a second use may mean the same value, or another call."""
