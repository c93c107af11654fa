"""Programs that solve nothing: what passes with them proves nothing.

Every name that a test calls and does not define becomes a function that returns False, nothing, or what it was given.
"""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache

from msgspec import Struct

from viva.scorers.rubric.parsing import parse
from viva.shipped import shipped_table

_CALLED = re.compile(r"(?<![\w.$:])([A-Za-z_]\w*)\s*\(")
_MADE = re.compile(r"\bfunction\s+(\w+)|\bdef\s+(\w+)|(\w+)\s*(?:<-|=)\s*(?:function|\()|\b(?:const|let|var)\s+(\w+)")
_TEXTS = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"|'(?:[^'\\\n]|\\.)*'|`[^`]*`")


class _Table(Struct, frozen=True, forbid_unknown_fields=True):
    """What `trivial.toml` says."""

    own: dict[str, frozenset[str]]
    forms: dict[str, dict[str, str]]


@cache
def _table() -> _Table:
    return shipped_table(__file__, "trivial.toml", _Table)


def trivial_programs(language: str, test: str) -> dict[str, str]:
    """What each does → its source; nothing where the test calls no name that it leaves to the program."""
    forms = _table().forms.get("javascript" if language == "typescript" else language, {})
    names = _python(test) if language == "python" else _scanned(test)
    return {label: "\n".join(form.format(name=name) for name in names) for label, form in forms.items() if names}


def _python(test: str) -> list[str]:
    tree = parse(test)
    if tree is None:
        return []
    nodes = list(ast.walk(tree))
    bound = {node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    bound |= {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    bound |= {
        (one.asname or one.name).split(".")[0]
        for node in nodes
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for one in node.names
    }
    called = dict.fromkeys(
        node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    )
    return [name for name in called if name not in bound and not hasattr(builtins, name)]


def _scanned(test: str) -> list[str]:
    bare = _TEXTS.sub('""', test)
    made = {name for found in _MADE.findall(bare) for name in found if name}
    return [name for name in dict.fromkeys(_CALLED.findall(bare)) if name not in made | _table().own["words"]]
