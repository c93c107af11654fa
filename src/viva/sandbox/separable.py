"""Tests that can run in a separate process: those that call the program and compare what it returns.

Decided from the syntax tree of the test alone, never from the program: a program must not be able to choose.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, lru_cache

import msgspec

from viva.files import shipped_table
from viva.scorers.rubric.parsing import bound, parse

MOST = 200_000
"""Characters of a test that is parsed; see scorers/rubric/code.py."""


class _Words(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """separable.toml, which explains the fields."""

    modules: frozenset[str]
    names: frozenset[str]
    attributes: frozenset[str]
    r: frozenset[str]


@cache
def _words() -> _Words:
    return shipped_table(__file__, "separable.toml", _Words)


def shared_reason(language: str, test: str) -> str:
    """Return why this test shares a process with its program; "" where it can run in a separate one."""
    decide = SEPARABLE.get(language)
    return f"tests in {language} share a process with their program" if decide is None else decide(test)


@lru_cache(maxsize=256)
def _python(test: str) -> str:
    if len(test) > MOST:
        return "the test is too long"
    tree = parse(test)
    return "the test does not parse" if tree is None else next(_reasons(tree), "")


def _reasons(tree: ast.Module) -> Iterator[str]:
    own = bound(tree)
    nodes = list(ast.walk(tree))
    for node in nodes:
        yield from _of_node(node, own)
    made = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    coroutines = {node.name for node in nodes if isinstance(node, ast.AsyncFunctionDef)}
    awaited = {id(name) for node in nodes for name in _run(node)}
    for node in nodes:
        match node:
            case ast.Name(name, ast.Del()) if name not in made:
                yield f"it deletes {name}"
            case ast.Name(name) if name in coroutines and id(node) not in awaited:
                yield f"it hands the coroutine function {name} on"


def _of_node(node: ast.AST, own: set[str | None]) -> Iterator[str]:
    """Yield why a test with this node, wherever, cannot be separated."""
    words = _words()
    match node:
        case ast.Import(names):
            yield from _of_imports([alias.name for alias in names])
        case ast.ImportFrom(module, names):
            yield from _of_imports([module or "."])
            others = words.attributes | {"*", "mock"}
            yield from (f"it imports {alias.name}" for alias in names if alias.name in others)
        case ast.Name(name) if name not in own and name in words.names | (sys.stdlib_module_names - words.modules):
            yield f"it uses {name}"
        case ast.Attribute(value, name, ctx):
            if name in words.attributes:
                yield f"it uses .{name}"
            owner = value.id if isinstance(value, ast.Name) and not isinstance(ctx, ast.Load) else ""
            if owner in ("sys", "builtins") and name not in ("stdout", "stderr"):  # set for the program
                yield f"it sets {owner}.{name}"
        case ast.Constant(str(text)) if text.startswith("__") and text in words.attributes | words.names:
            yield f"it speaks of {text}"
        case ast.Compare(left, operators, others):
            identities = any(isinstance(operator, (ast.Is, ast.IsNot)) for operator in operators)
            if identities and not any(map(_is_singleton, (left, *others))):
                yield "it compares identities"
        case ast.Global():
            yield "it declares globals"
        case ast.ClassDef():
            yield from _of_class(node)


def _of_imports(modules: Iterable[str]) -> Iterator[str]:
    known = _words().modules
    return (f"it imports {name}" for name in modules if name.split(".")[0] not in known or "mock" in name)


def _is_singleton(node: ast.expr) -> bool:
    """Return whether this is the same thing in every process: None, a built-in class, a type."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, (bool, type(...)))
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Name) and (called.id == "type" or (called is node and hasattr(builtins, called.id)))


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    """Yield the reason that a class of the test's is: unless it only holds tests, the program may refer to it."""
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
    if not bases & {"TestCase", "IsolatedAsyncioTestCase"} and not node.name.startswith("Test"):
        yield f"it defines the class {node.name}"
    if "IsolatedAsyncioTestCase" in bases:
        yield "its tests run on an event loop"


def _run(node: ast.AST) -> Iterator[ast.Name]:
    """Yield the names of coroutine functions that are called here and waited for at once."""
    match node:
        case ast.Await(value):
            given = [value]
        case ast.Call(ast.Attribute(_, "run" | "run_until_complete"), given):
            pass
        case _:
            return
    yield from (call.func for call in given if isinstance(call, ast.Call) and isinstance(call.func, ast.Name))


_R_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#[^\n]*")


def _r(test: str) -> str:
    """Return which word of an R test looks at the process as a whole; "" for none."""
    used = set(re.findall(r"[A-Za-z.][\w.]*|<<-", _R_TEXT.sub(" ", test)))
    return next((f"it uses {word}" for word in sorted(used & _words().r)), "")


SEPARABLE: Mapping[str, Callable[[str], str]] = {
    "python": _python,
    "javascript": lambda _: "",  # harness/form.js decides, in the test's own process
    "typescript": lambda _: "",
    "r": _r,
}
"""Language → why a test of it shares a process with its program."""
