"""Programs that solve nothing: a test that they pass proves nothing.

Every name that a test calls and does not define becomes a function that returns False, nothing, or what it was given;
one that it only reads, or uses as a type, is empty. Where it leaves no name to the program, the program is empty.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache

from msgspec import Struct

from viva.files import shipped_table
from viva.scorers.rubric.parsing import bound, parse

PROVES_NOTHING = "tests that prove nothing"
"""Kind of defect: a program that solves nothing passes them."""
_CALLED = re.compile(r"(?<![\w.$:])([A-Za-z_]\w*)\s*\(")
_MADE = re.compile(
    r"\b(?:function|def|func|type|struct|class)\s+(\w+)|(\w+)\s*(?:<-|=)\s*(?:function|\()|\b(?:const|let|var)\s+(\w+)"
    r"|^[\w<>, ]+[ *&](\w+)\s*\([^;]*\)\s*\{",
    re.MULTILINE,
)
_TEXTS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`|//[^\n]*")
_CHAIN = "class {first}:\n    def __init__(self, *given, **named): pass\n{methods}\n{names} = {first}"


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of `trivial.toml`."""

    own: dict[str, frozenset[str]]
    types: dict[str, str]
    empty: dict[str, str]
    nothing: dict[str, str]
    forms: dict[str, dict[str, str]]


@cache
def _table() -> _Table:
    return shipped_table(__file__, "trivial.toml", _Table)


def trivial_programs(language: str, test: str) -> dict[str, str]:
    """Return programs: what each does → its source. `test` is everything that they are joined with."""
    table, language = _table(), "javascript" if language == "typescript" else language
    tree = parse(test) if language == "python" else None
    called, read = _python(tree) if tree else _scanned(language, test)
    empty = [table.empty[language].format(name=name) for name in read]
    if not called:
        nothing = "" if "main" in test else table.nothing.get(language, "")
        return {"has nothing in it": "\n".join(empty)} if empty else {"does nothing": nothing}
    programs = {
        label: "\n".join([*empty, *(form.format(name=name) for name in called)])
        for label, form in table.forms.get(language, {}).items()
    }
    if tree and (methods := _methods(tree, called)):
        defined = "\n".join(f"    def {name}(self, *given, **named): return self" for name in methods)
        chain = _CHAIN.format(first=called[0], methods=defined, names=" = ".join(called))
        programs["has methods that return it"] = "\n".join([*empty, chain])
    return programs


def _python(tree: ast.Module) -> tuple[list[str], list[str]]:
    """Return the undefined names that a test calls, and those that it only reads."""
    nodes = list(ast.walk(tree))
    known = bound(tree) | _BUILTINS
    names = dict.fromkeys(node.id for node in nodes if isinstance(node, ast.Name) and node.id not in known)
    calls = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    return [name for name in names if name in calls], [name for name in names if name not in calls]


_BUILTINS = frozenset((*dir(builtins), "__file__"))


def _methods(tree: ast.Module, called: list[str]) -> list[str]:
    """Return the attributes that a test reads from results of these names, and from results of those."""
    names = dict[str, None]()
    for node in ast.walk(tree):
        within: ast.expr | None = node if isinstance(node, ast.Attribute) else None
        while isinstance(within, (ast.Attribute, ast.Call)):
            within = within.value if isinstance(within, ast.Attribute) else within.func
        if isinstance(node, ast.Attribute) and isinstance(within, ast.Name) and within.id in called:
            names[node.attr] = None
    return list(names)


def _scanned(language: str, test: str) -> tuple[list[str], list[str]]:
    """Return the undefined names that a test calls, and the types that it uses, found by patterns."""
    bare = _TEXTS.sub('""', test)
    known = {name for names in _MADE.findall(bare) for name in names if name} | _table().own["words"]
    types = re.findall(_table().types[language], bare, re.MULTILINE) if language in _table().types else ()
    made = [name for name in dict.fromkeys(types) if name not in known]
    return [name for name in dict.fromkeys(_CALLED.findall(bare)) if name not in known and name not in made], made
