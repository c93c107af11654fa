"""Docstrings: first lines of functions are imperative, and names in backticks exist (docstrings.toml)."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rows import tabled

pytestmark = pytest.mark.slow  # `make check` runs them
SOURCE = Path(__file__).parents[1] / "src" / "viva"
TABLE = tomllib.loads(Path(__file__).with_suffix("").with_name("docstrings.toml").read_text("utf-8"))
VERBS, ALLOWED = (frozenset(TABLE[name].split()) for name in ("verbs", "allowed"))
_QUOTED = re.compile(r"`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*(?:\(\))?)`")
_MARKED = re.compile(r"\.|\(\)|[a-z][A-Z]|\A[A-Z][a-z]")
"""What is a name wherever it is quoted; a plain word is one in a function's docstring: a parameter, say."""


@cache
def trees() -> dict[Path, ast.Module]:
    return {path: ast.parse(path.read_text("utf-8")) for path in sorted(SOURCE.rglob("*.py"))}


@cache
def known() -> frozenset[str]:
    """Every name of the source, the words of its short texts (keys of data), and its files."""
    names = {path.name for path in SOURCE.rglob("*.*")} | {path.name for path in Path(__file__).parent.rglob("*.py")}
    for path, tree in trees().items():
        names.update(path.relative_to(SOURCE.parent).with_suffix("").parts)
        for node in ast.walk(tree):
            texts = [getattr(node, field, None) for field in ("id", "attr", "arg", "name", "asname")]
            if isinstance(node, ast.Constant) and len(str(node.value)) < 60:
                texts.append(node.value)
            names.update(text for text in texts if isinstance(text, str))
    return ALLOWED.union(*(re.findall(pattern, text) for text in names for pattern in (r"[A-Za-z_][\w.]*", r"\w+")))


def unknown(docstring: str, *, of_function: bool) -> list[str]:
    """The names that a docstring quotes and nobody has."""
    quoted = (name for name in _QUOTED.findall(docstring) if of_function or _MARKED.search(name))
    return [
        name
        for name in quoted
        if not {name, name.lower()} & known() and not {*name.removesuffix("()").split(".")} <= known()
    ]


def docstrings(tree: ast.Module) -> Iterator[tuple[ast.AST, str]]:
    """What is documented, and the text; of a field the class or module around it."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for inner in body if isinstance(body, list) else ():
            if (
                isinstance(inner, ast.Expr)
                and isinstance(inner.value, ast.Constant)
                and isinstance(inner.value.value, str)
            ):
                yield node, inner.value.value


def is_imperative(docstring: str) -> bool:
    return re.split(r"\W", docstring.strip(), maxsplit=1)[0] in VERBS


def test_first_lines_of_functions_are_imperative_in_no_fewer_than_before() -> None:
    functions = [
        text
        for tree in trees().values()
        for node, text in docstrings(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not any("property" in ast.unparse(one) for one in node.decorator_list)
    ]
    share = sum(map(is_imperative, functions)) / len(functions)
    assert share >= TABLE["imperative"], f"{share:.4f}"
    assert [is_imperative(text) for text in ("Return a row.", "The row.", "Whether it is.")] == [True, False, False]


def is_there(name: str, files: list[str]) -> bool:
    """Whether what a page quotes (`runs/open.py`, `runs/open`, `runs.session.Way`) is a file, folder or in a module."""
    if re.search(r"\.(py|toml|md|yml|json|csv)$", name):
        return any(file.endswith(f"/{name}") for file in files)
    parts = re.split(r"[./]", name.removeprefix("viva.").rstrip("/"))
    for end in range(len(parts), 0, -1):
        path = "/".join(parts[:end])
        if any(f"/{path}.py" in file for file in files):
            return set(parts[end:]) <= known()
        if any(f"/{path}/" in file for file in files):
            return end == len(parts)
    return not unknown(f"`{name}`", of_function=True)


def test_pages_for_contributors_name_what_there_is() -> None:
    root = SOURCE.parents[1]
    folders = ("src/viva", "tests", "performance", "docs", ".ci")
    paths = [*root.glob("*.*"), *(path for folder in folders for path in (root / folder).rglob("*.*"))]
    files = [f"/{path.relative_to(root).as_posix()}" for path in paths]
    for page, row in tabled("ARCHITECTURE.md", "CONTRIBUTING.md"):
        with row:
            text = (root / page).read_text("utf-8")
            own = "".join(re.findall(r"```.*?```|`[a-z/]+\.py`:", text, re.DOTALL))
            quoted = set(re.findall(r"`((?!.*NAME|capitals|benchmarks/capitals|sample)[a-z]\w*[./][\w./]*)`", text))
            assert [name for name in quoted if name not in own and not is_there(name, files)] == [], "not there"
    assert [is_there(name, files) for name in ("runs.session.Way", "runs.ways.Way", "no/file.py")] == [
        True,
        False,
        False,
    ]


def test_names_in_backticks_exist() -> None:
    for (path, tree), row in tabled(*trees().items()):
        with row:
            found = [
                name
                for node, text in docstrings(tree)
                for name in unknown(text, of_function=isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))
            ]
            assert not found, f"{path.relative_to(SOURCE)} quotes what does not exist: {found}"
    missing = unknown("Give `Response`, `no.such_thing`, `NoSuchClass`, `no_such()` to `no_such`.", of_function=True)
    assert missing == ["no.such_thing", "NoSuchClass", "no_such()", "no_such"]
