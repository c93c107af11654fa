"""Tests that define the answer's own function again: whatever was answered, they pass.

Two unit tests of the published development suite do (specification, section 9). Such a test uses nothing that it does
not define itself; the definition of what the question asks for is then taken out of it. A test that merely defines a
helper of a name that the question mentions uses something of the answer's, and stays as it is.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable

from viva.scorers.rubric.parsing import parse

MAX_CODE = 100_000
_R_FUNCTION = re.compile(r"^(?P<name>[A-Za-z.][\w.]{0,60})[ \t]*(?:<-|=)[ \t]*function\b", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")
_CALL = re.compile(r"([A-Za-z_.][\w.]{0,60})[ \t]*\(")


def without_redefinitions(code: str, language: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    """The test without the definitions it should leave to the answer, and their names (() if there are none)."""
    if len(code) > MAX_CODE or "\r" in code:  # lines are counted by line feeds here
        return code, ()
    if language == "python":
        return _python(code, prompt)
    return _r(code, prompt) if language == "r" else (code, ())


def _asked_for(names: Iterable[str], prompt: str) -> str:
    """The name that the question mentions last as something to call or to define; "" if it mentions none.

    The signature of what is asked for stands at the end of a question; examples stand before.
    """
    mentions = {}
    for name in names:
        form = rf"(?<![\w.]){re.escape(name)}[ \t]*(?:\(|(?:<-|=)[ \t]*function\b)|`{re.escape(name)}`"
        mentions[name] = max((found.start() for found in re.finditer(form, prompt)), default=-1)
    last = max(mentions, key=lambda name: mentions[name], default="")
    return last if last and mentions[last] >= 0 else ""


def _python(code: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    tree = parse(code)
    if tree is None:
        return code, ()
    stored, loaded = _names(tree)
    if loaded - stored - set(dir(builtins)):
        return code, ()
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    name = _asked_for((node.name for node in functions), prompt)
    again = [node for node in functions if node.name == name]
    lines: list[str | None] = list(code.split("\n"))
    for node in again:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [None] * ((node.end_lineno or node.lineno) - first + 1)
    return "\n".join(line for line in lines if line is not None), (name,) if name else ()


def _names(tree: ast.AST) -> tuple[set[str], set[str]]:
    """The names that a program binds anywhere, and those that it reads."""
    stored: set[str] = set()
    loaded: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            (loaded if isinstance(node.ctx, ast.Load) else stored).add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            stored.add(node.name)
        elif isinstance(node, ast.arg):
            stored.add(node.arg)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            stored.update((alias.asname or alias.name).split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            stored.add(node.name)
    return stored, loaded


def _r(code: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    bare = _COMMENT.sub(lambda comment: " " * len(comment[0]), code)
    defined = {found["name"]: found for found in _R_FUNCTION.finditer(bare)}
    called = set(_CALL.findall(bare)) - {"function"}
    name = _asked_for(called, prompt)
    if name not in defined:
        return code, ()  # the test calls something of the answer's, or nothing that is asked for
    end = _end_of_braces(bare, defined[name].end())
    return (code[: defined[name].start()] + code[end:], (name,)) if end else (code, ())


def _end_of_braces(code: str, start: int) -> int:
    """Where the braces that open first after `start` are closed; 0 if they are not."""
    depth = 0
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth <= 0:
            return start + brace.end() if depth == 0 else 0
    return 0
