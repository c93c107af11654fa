"""Which tests can have a process of their own: those that call the program and compare what it returns.

Decided from the syntax tree of the test alone, never from the program: a program must not be able to choose.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache

import msgspec

from viva.scorers.rubric.parsing import bound, parse
from viva.shipped import shipped_table

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
    """Why this test shares a process with its program; "" where it has one of its own."""
    decide = SEPARABLE.get(language)
    return f"tests in {language} share a process with their program" if decide is None else decide(test)


@lru_cache(maxsize=256)
def _python(test: str) -> str:
    if len(test) > MOST:
        return "the test is too long"
    tree = parse(test)
    if tree is None:
        return "the test does not parse"
    return next(_reasons(tree), "")


def _reasons(tree: ast.Module) -> Iterator[str]:
    own = bound(tree)
    for node in ast.walk(tree):
        yield from _of_node(node, own)
    yield from _set_for_the_program(tree)
    coroutines = {node.name for node in ast.walk(tree) if isinstance(node, ast.AsyncFunctionDef)}
    awaited = {id(name) for node in ast.walk(tree) for name in _run(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in coroutines and id(node) not in awaited:
            yield f"it hands the coroutine function {node.id} on"


def _of_node(node: ast.AST, own: set[str | None]) -> Iterator[str]:
    """Why a test with this in it, wherever, is of another form."""
    words = _words()
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        yield from _of_import(node)
    elif (
        isinstance(node, ast.Name)
        and node.id not in own
        and (node.id in words.names or node.id in sys.stdlib_module_names - words.modules)
    ):
        yield f"it uses {node.id}"
    elif isinstance(node, ast.Attribute) and node.attr in words.attributes:
        yield f"it uses .{node.attr}"
    elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("__"):
        if node.value in words.attributes | words.names:
            yield f"it speaks of {node.value}"
    elif isinstance(node, ast.Compare):
        operands = [node.left, *node.comparators]
        if any(isinstance(one, (ast.Is, ast.IsNot)) for one in node.ops) and not any(map(_is_singleton, operands)):
            yield "it compares identities"
    elif isinstance(node, ast.Global):
        yield "it declares globals"
    elif isinstance(node, ast.ClassDef):
        yield from _of_class(node)


def _of_import(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
    words = _words()
    modules = [one.name for one in node.names] if isinstance(node, ast.Import) else [node.module or "."]
    for module in modules:
        if module.split(".")[0] not in words.modules or "mock" in module:
            yield f"it imports {module}"
    if isinstance(node, ast.ImportFrom):
        for one in node.names:
            if one.name in ("*", "mock") or one.name in words.attributes:
                yield f"it imports {one.name}"


def _is_singleton(node: ast.expr) -> bool:
    """Whether this is the same thing in every process: None, a built-in class, a type."""
    if isinstance(node, ast.Constant):
        return node.value is None or isinstance(node.value, (bool, type(...)))
    called = node.func if isinstance(node, ast.Call) else node
    return isinstance(called, ast.Name) and (called.id == "type" or (called is node and hasattr(builtins, called.id)))


def _of_class(node: ast.ClassDef) -> Iterator[str]:
    """A class of the test's: the program may mean it by its name, unless it only holds tests."""
    bases = {base.attr if isinstance(base, ast.Attribute) else getattr(base, "id", "") for base in node.bases}
    if not bases & {"TestCase", "IsolatedAsyncioTestCase"} and not node.name.startswith("Test"):
        yield f"it defines the class {node.name}"
    if "IsolatedAsyncioTestCase" in bases:
        yield "its tests run on an event loop"


def _set_for_the_program(tree: ast.Module) -> Iterator[str]:
    """What a test sets in modules is for the program, and so is what it deletes that it did not make."""
    made = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Del) and node.id not in made:
            yield f"it deletes {node.id}"
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            owner = node.value.id if isinstance(node.value, ast.Name) else ""
            if owner in ("sys", "builtins") and node.attr not in ("stdout", "stderr"):
                yield f"it sets {owner}.{node.attr}"


def _run(node: ast.AST) -> Iterator[ast.Name]:
    """The names of coroutine functions that are called here and waited for at once."""
    if isinstance(node, ast.Await) or (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("run", "run_until_complete")
    ):
        given = [node.value] if isinstance(node, ast.Await) else node.args
        for one in given:
            if isinstance(one, ast.Call) and isinstance(one.func, ast.Name):
                yield one.func


_R_TEXT = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#[^\n]*")


def _r(test: str) -> str:
    """Of R, the words that look at a process as a whole."""
    used = set(re.findall(r"[A-Za-z.][\w.]*|<<-", _R_TEXT.sub(" ", test)))
    return next((f"it uses {word}" for word in sorted(used & _words().r)), "")


SEPARABLE: Mapping[str, Callable[[str], str]] = {
    "python": _python,
    "javascript": lambda _: "",  # harness/form.js decides, in the test's own process
    "typescript": lambda _: "",
    "r": _r,
}
"""Language → why a test of it shares a process with its program."""
