"""What a Python program uses, by its syntax tree, as short texts that constructs.toml lists.

Run as a process of its own (constructs.py), with a language's patterns as its first line and a program, as JSON, in
every line after it: a tree can take more stack and memory than Viva would lend a program of a stranger. The program is
parsed, never run.

    import M             a module, or one inside it, that is imported by a statement or by name
    use a.b  use .b      a name of a module or of the language; an attribute of anything
    write a.b  write .b  the same assigned or deleted, also by setattr; `write a.b[]` its items
    define .b            a method of a class, or a function, of this name
    blind .b             a method that never looks at what it is given beside itself
    text T               a literal text
"""

from __future__ import annotations

import ast
import builtins
import json
import re
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import translate

_IMPORTING = frozenset({"__import__", "importlib.import_module"})
_ATTRIBUTES = {"getattr": "use", "hasattr": "use", "setattr": "write", "delattr": "write"}
_CHANGING = frozenset({"update", "setdefault", "pop", "clear", "popitem", "__setitem__", "append", "insert", "extend"})
_LONGEST_PATH = 20
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def features(program: str) -> Mapping[str, int]:
    """Every feature, and the line where it is first found.

    Raises SyntaxError, ValueError, MemoryError, RecursionError.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(program)
    names = _Names(tree)
    found: dict[str, int] = {}
    for node in ast.walk(tree):
        for feature in _of_node(node, names):
            line = getattr(node, "lineno", 1)
            found[feature] = min(line, found.get(feature, line))
    return found


class _Names:
    """What the names of a program stand for: modules and what they hold, built-in things, or things of its own."""

    def __init__(self, tree: ast.Module) -> None:
        self.imported: dict[str, str] = {}
        own: set[str] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    self.imported[one.asname or one.name.split(".")[0]] = (
                        one.name if one.asname else one.name.split(".")[0]
                    )
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                self.imported |= {one.asname or one.name: f"{node.module}.{one.name}" for one in node.names}
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
                own.add(node.id)
            elif isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
                own.add(node.name)
            elif isinstance(node, ast.arg):
                own.add(node.arg)
        self.language = set(dir(builtins)) - own - self.imported.keys()

    def dotted(self, node: ast.expr) -> str:
        """`sys._getframe` for what the program calls by whatever name; "" for things of its own."""
        parts: list[str] = []
        while len(parts) < _LONGEST_PATH:
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
                node = node.value
            elif isinstance(node, ast.Call) and node.args and self._name(node.func) == "getattr" and len(node.args) > 1:
                parts.append(text_of(node.args[1]))
                node = node.args[0]
            else:
                break
        root = self._name(node)
        if not root and isinstance(node, ast.Call) and node.args and self.dotted(node.func) in _IMPORTING:
            root = text_of(node.args[0])
        return ".".join([root, *reversed(parts)]) if root else ""

    def _name(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            return ""
        return self.imported.get(node.id, node.id if node.id in self.language else "")


def text_of(node: ast.expr) -> str:
    """The text that an expression is; "?" where it is none, or one that is put together."""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else "?"


def _of_node(node: ast.AST, names: _Names) -> Iterator[str]:  # noqa: PLR0912  a list of cases
    match node:
        case ast.Import():
            for one in node.names:
                yield from _module(one.name)
        case ast.ImportFrom() if node.module and not node.level:
            yield from _module(node.module)
            for one in node.names:
                yield f"import {node.module}.{one.name}"
                yield f"use {node.module}.{one.name}"
        case ast.Attribute():
            kind = "use" if isinstance(node.ctx, ast.Load) else "write"
            yield f"{kind} .{node.attr}"
            if dotted := names.dotted(node):
                yield f"{kind} {dotted}"
        case ast.Name() if isinstance(node.ctx, ast.Load) and (dotted := names.dotted(node)):
            yield f"use {dotted}"
        case ast.Subscript() if not isinstance(node.ctx, ast.Load):
            yield from _items(node.value, names)
        case ast.Call():
            yield from _of_call(node, names)
        case ast.ClassDef():
            yield from _of_class(node)
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            yield f"define {node.name}"
        case ast.Assign() if isinstance(node.value, ast.Lambda):
            yield from (f"define {target.id}" for target in node.targets if isinstance(target, ast.Name))
        case ast.Constant() if isinstance(node.value, str):
            yield f"text {node.value}"
        case ast.Constant() if isinstance(node.value, bytes):
            yield f"text {node.value.decode('latin-1')}"


def _module(name: str) -> Iterator[str]:
    parts = name.split(".")
    return (f"import {'.'.join(parts[: end + 1])}" for end in range(len(parts)))


def _items(node: ast.expr, names: _Names) -> Iterator[str]:
    if isinstance(node, ast.Attribute):
        yield f"write .{node.attr}[]"
    if dotted := names.dotted(node):
        yield f"write {dotted}[]"


def _of_call(node: ast.Call, names: _Names) -> Iterator[str]:
    called = names.dotted(node.func)
    if called in _IMPORTING and node.args:
        yield from _module(text_of(node.args[0]))
    elif called in _ATTRIBUTES and len(node.args) > 1:
        kind, attribute = _ATTRIBUTES[called], text_of(node.args[1])
        yield f"{kind} .{attribute}"
        if dotted := names.dotted(node.args[0]):
            yield f"{kind} {dotted}.{attribute}"
    if isinstance(node.func, ast.Attribute) and node.func.attr in _CHANGING:
        yield from _items(node.func.value, names)


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    for part in node.body:
        if isinstance(part, _FUNCTIONS):
            yield f"define .{part.name}"
            if _blind(part):
                yield f"blind .{part.name}"
        elif isinstance(part, ast.Assign):
            for target in part.targets:
                if isinstance(target, ast.Name):
                    yield f"write .{target.id}"


def _blind(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether it has a parameter beside `self` and reads none, nor raises or leaves it to the other side."""
    given = [*method.args.posonlyargs, *method.args.args][1:]
    names = {one.arg for one in (*given, method.args.vararg, *method.args.kwonlyargs, method.args.kwarg) if one}
    read = {part.id for part in ast.walk(method) if isinstance(part, ast.Name)}
    leaves = any(isinstance(part, ast.Raise) for part in ast.walk(method)) or "NotImplemented" in read
    return bool(names) and not names & read and not leaves


def main() -> None:
    """Answer every program with {pattern: line}, or with null where it cannot be parsed."""
    patterns: Sequence[str] = json.loads(sys.stdin.readline())
    exact = {one for one in patterns if "*" not in one}
    wild = [(one, re.compile(translate(one))) for one in patterns if "*" in one]
    for row in sys.stdin:
        found: dict[str, int] | None
        try:
            every = features(json.loads(row))
            found = {one: line for one, line in every.items() if one in exact}
            for one, pattern in wild:
                lines = [line for feature, line in every.items() if pattern.match(feature)]
                if lines:
                    found[one] = min(lines)
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            found = None
        print(json.dumps(found), flush=True)


if __name__ == "__main__":
    main()
