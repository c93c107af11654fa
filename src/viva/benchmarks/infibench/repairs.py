"""Repairs of published tests that do not assert what they are plainly meant to.

A test that defines the answer's function again passes whatever was answered. Two of the development suite do
(specification, section 9). Such a test uses only what it defines itself; the definition of what the question
asks for is then removed. A test that merely defines a helper with a name from the question uses something of the
answer's, and stays as it is.

`all(a == b)` goes through the *labels* of a frame's columns, which are true. Values are compared in its place, two that
are missing being equal.

`answer(x).equals(expected(x))` asks the answer's own object. The expected one is asked in its place.

A reference that changes an argument in place (`viva.benchmarks.custom.traps.aliased`) hands the changed one to the
answer: one that does nothing passes, and one that does the same again fails. The reference gets a copy.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from viva.benchmarks.custom.traps import aliased, reads_what_it_never_binds
from viva.scorers.rubric.parsing import parse

MAX_CODE = 100_000
_R_FUNCTION = re.compile(r"^(?P<name>[A-Za-z.][\w.]{0,60})[ \t]*(?:<-|=)[ \t]*function\b", re.MULTILINE)
_COMMENT = re.compile(r"#[^\n]*")
_CALL = re.compile(r"([A-Za-z_.][\w.]{0,60})[ \t]*\(")


_REPAIRS = {
    "test compares labels": (
        "def values_equal(a, b):\n    return bool(((a == b) | ((a != a) & (b != b))).all().all())",
        "all(a == b) goes through the labels of a frame's columns",
    ),
    "test lets the answer decide": (
        "def equals_expected(answer, expected):\n    return expected.equals(answer)",
        "`equals` is asked of the answer's object",
    ),
    "test changes what it hands over": (
        "from copy import deepcopy as copy_of",
        "its reference changes what the answer is given",
    ),
}
"""Kind of defect → code that its repair adds, and a description."""


class _Meant(ast.NodeTransformer):
    """Rewriter of a test to its intended form, with the repairs made."""

    def __init__(self, tree: ast.Module) -> None:
        self._changed = frozenset(aliased(tree))
        self._frames = any("pandas" in ast.dump(node) for node in tree.body if isinstance(node, ast.Import))
        self._own = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
        self.repairs = dict[str, None]()

    def _called(self, name: str, kind: str, *given: ast.expr) -> ast.Call:
        self.repairs[kind] = None
        return ast.Call(ast.Name(name), list(given), [])

    def visit_Call(self, node: ast.Call) -> ast.Call:
        """Visit a call."""
        self.generic_visit(node)
        match node:
            case ast.Call(ast.Name("all"), [ast.Compare(left, [ast.Eq()], [right])], []) if self._frames:
                return self._called("values_equal", "test compares labels", left, right)
            case ast.Call(ast.Attribute(ast.Call(ast.Name(answer)) as left, "equals"), [right], []) if (
                self._frames and answer not in self._own and isinstance(right, ast.Call)
            ):
                return self._called("equals_expected", "test lets the answer decide", left, right)
            case ast.Call(ast.Name(function)):
                node.args = [
                    self._called("copy_of", "test changes what it hands over", given)
                    if isinstance(given, ast.Name) and (function, given.id) in self._changed
                    else given
                    for given in node.args
                ]
        return node


def as_meant(code: str, language: str) -> tuple[str, dict[str, str]]:
    """Return the intended form of a Python test, and its defects: kind → description."""
    tree = parse(code) if language == "python" and len(code) <= MAX_CODE else None
    if tree is None:
        return code, {}
    meant = _Meant(tree)
    changed = ast.unparse(ast.fix_missing_locations(meant.visit(tree)))
    if not meant.repairs:
        return code, {}
    helpers = [_REPAIRS[kind][0] for kind in meant.repairs]
    return "\n".join([*helpers, changed]), {kind: _REPAIRS[kind][1] for kind in meant.repairs}


def without_redefinitions(code: str, language: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    """Return the test without definitions that it should leave to the answer, and their names."""
    if len(code) > MAX_CODE or "\r" in code:  # lines are counted by line feeds here
        return code, ()
    if language == "python":
        return _python(code, prompt)
    return _r(code, prompt) if language == "r" else (code, ())


def _asked_for(names: Iterable[str], prompt: str) -> str:
    """Return the name that the question mentions last as something to call or to define; "" if it mentions none.

    The signature asked for is at the end of a question, after the examples.
    """
    mentions = {}
    for name in names:
        form = rf"(?<![\w.]){re.escape(name)}[ \t]*(?:\(|(?:<-|=)[ \t]*function\b)|`{re.escape(name)}`"
        mentions[name] = max((match.start() for match in re.finditer(form, prompt)), default=-1)
    last = max(mentions, key=lambda name: mentions[name], default="")
    return last if last and mentions[last] >= 0 else ""


def _python(code: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    tree = parse(code)
    if tree is None or reads_what_it_never_binds(tree):
        return code, ()
    functions = [node for node in tree.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
    name = _asked_for((node.name for node in functions), prompt)
    again = [node for node in functions if node.name == name]
    lines: list[str | None] = list(code.split("\n"))
    for node in again:
        first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        lines[first - 1 : node.end_lineno] = [None] * ((node.end_lineno or node.lineno) - first + 1)
    return "\n".join(line for line in lines if line is not None), (name,) if name else ()


def _r(code: str, prompt: str) -> tuple[str, tuple[str, ...]]:
    bare = _COMMENT.sub(lambda comment: " " * len(comment[0]), code)
    defined = {match["name"]: match for match in _R_FUNCTION.finditer(bare)}
    called = set(_CALL.findall(bare)) - {"function"}
    name = _asked_for(called, prompt)
    if name not in defined:
        return code, ()  # the test calls something of the answer's, or nothing that is asked for
    end = _end_of_braces(bare, defined[name].end())
    return (code[: defined[name].start()] + code[end:], (name,)) if end else (code, ())


def _end_of_braces(code: str, start: int) -> int:
    """Return where the braces that open first after `start` are closed; 0 if they are not."""
    depth = 0
    for brace in re.finditer(r"[{}]", code[start:]):
        depth += 1 if brace[0] == "{" else -1
        if depth <= 0:
            return start + brace.end() if depth == 0 else 0
    return 0
