"""One word for one thing: no module, class, function, argument or field has a name that `vocabulary.toml` lists.

Local variables say what they hold: four words that would fit any of them are listed there, too.
"""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from rows import table
from test_docstrings import trees

pytestmark = pytest.mark.slow  # `make check` runs them
SOURCE = Path(__file__).parents[1] / "src"
TABLE = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text("utf-8"))
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


def defined(node: ast.AST, qualified: str) -> Iterator[str]:
    """Qualified names of all that a module or class defines: `module.Class.method(argument)`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            inner = f"{qualified}.{child.name}"
            yield inner
            if not isinstance(child, ast.ClassDef):
                arguments = (one for one in ast.walk(child.args) if isinstance(one, ast.arg))
                yield from (f"{inner}({one.arg})" for one in arguments)
                yield from (f"{qualified}.{name}" for name in _attributes(child))
            yield from defined(child, inner)
        elif isinstance(child, ast.Assign | ast.AnnAssign) and isinstance(node, ast.Module | ast.ClassDef):
            targets = child.targets if isinstance(child, ast.Assign) else [child.target]
            names = (name for target in targets for name in ast.walk(target) if isinstance(name, ast.Name))
            yield from (f"{qualified}.{name.id}" for name in names)
        elif not isinstance(child, ast.expr):
            yield from defined(child, qualified)


def _attributes(function: ast.AST) -> Iterator[str]:
    for node in ast.walk(function):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            yield node.attr


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def refused(qualified: str) -> str:
    """Why a name is not to be used; empty for any other."""
    why = _reason(qualified, re.split(r"[.(]", qualified.rstrip(")"))[-1])
    excepted = why and any(re.fullmatch(one["name"], qualified) for one in TABLE.get("exception", ()))
    return "" if excepted else why


def _reason(qualified: str, name: str) -> str:
    words = [word.lower() for word in _PART.findall(name)]
    for word in words:
        if word in TABLE["words"]:
            return f"{word}: say {TABLE['words'][word]}"
        for prefix, whole in TABLE["prefixes"].items():
            if word.startswith(prefix) and word not in whole:
                return f"{word}: no prefix {prefix}, the package says it"
    for old, new in TABLE["names"].items():
        if qualified == old or qualified.endswith(f".{old}"):
            return f"say {new}"
    return ""


@functools.cache
def names() -> frozenset[str]:
    found = set()
    for path, tree in trees().items():
        module = ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
        found.update([module, *defined(tree, module)])
    return frozenset(found)


def test_names_use_the_vocabulary() -> None:
    found = sorted(f"{name}: {why}" for name in names() if (why := refused(name)))
    assert not found, "\n".join(found)


def test_local_variables_say_what_they_hold() -> None:
    for path, tree in trees().items():
        fields = {
            child.target for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
            for child in node.body if isinstance(child, ast.AnnAssign)
        }  # fmt: skip
        stored = {node for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
        empty = {f"{path}:{node.lineno}: {node.id}" for node in stored - fields if node.id in TABLE["locals"]}
        assert not empty, "name what it holds"


def test_every_exception_is_needed_and_has_a_reason() -> None:
    for one in TABLE.get("exception", ()):
        assert one["reason"], one["name"]
        assert any(re.fullmatch(one["name"], name) for name in names()), one["name"]


def test_what_is_refused() -> None:
    with table() as row:
        for name in (
            "viva.crew", "viva.a.Desk", "viva.a.f(room)", "viva.a.A.sittings", "viva.cli.x.Wanted",
            "viva.a.unsound_ones",
            "viva.a.infishowing", "viva.a.clrtelling",
        ):  # fmt: skip
            with row(name):
                assert refused(name)
        for name in ("viva.benchmarks", "viva.a.in_groups", "viva.a.answers_wanted", "viva.a.f(line)", "viva.beside.f"):
            with row(name):
                assert not refused(name)
