"""Definitions of a package that nothing in the package uses: tests do not count, for they may outlive what they test.

A definition is a function, a class, a constant at the top level of a module, or a method. Names are resolved: a use of
`find` is a use of the `find` that the module defines or imports. Attributes of objects are matched by their name alone,
and so is what a string names as a whole (`getattr`, entry points) and what a Jinja template reads. What only dead code
uses, or only its own definition, is dead.
"""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TypeAlias

NAMED = re.compile(r"[A-Za-z_][\w.:-]*")
WORD = re.compile(r"[A-Za-z_]\w*")
JINJA = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
REGISTERS = {"command", "group"}
"""Methods of a click group that, as decorators, register what they decorate."""
Defining: TypeAlias = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign


@dataclass(frozen=True)
class Definition:
    """`name` is qualified: module, class if it is a method (its `owner`), name."""

    name: str
    path: Path
    line: int
    owner: str = ""
    registered: bool = False


class Module(ast.NodeVisitor):
    """One file: its definitions, what its names mean, and what is used in it, where all modules are known."""

    def __init__(self, name: str, path: Path, known: dict[str, "Module"]) -> None:
        self.known, self.inside = known, ""
        self.uses: set[tuple[str, str]] = set()
        """What is used (`.attribute` of an object), and inside which definition; "" is a module's top level."""
        self.words: set[str] = set()
        """Named in a string, so perhaps used."""
        self.meanings: dict[str, set[str]] = {}
        self.name, self.path, self.tree = name, path, ast.parse(path.read_text(encoding="utf-8"))
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.definitions = {one.name: one for one in self._defined(self.tree.body)}
        self.imports: dict[str, set[str]] = defaultdict(set)
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for one in node.names:
                    first = one.name.partition(".")[0]
                    self.imports[one.asname or first].add(one.name if one.asname else first)
            elif isinstance(node, ast.ImportFrom):
                above = self.package.rsplit(".", node.level - 1)[0] if node.level else ""
                for one in node.names:
                    self.imports[one.asname or one.name].add(".".join(filter(None, (above, node.module, one.name))))

    def _defined(self, body: Iterable[ast.AST], owner: str = "") -> Iterator[Definition]:
        """What statements at the top level define, also under `if` and `try`, and the methods of classes."""
        for node in body:
            if isinstance(node, ast.If | ast.Try | ast.ExceptHandler) and not owner:
                for part in ("body", "orelse", "handlers", "finalbody"):
                    yield from self._defined(getattr(node, part, ()))
            if not isinstance(node, Defining) or (
                owner and not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
            ):
                continue
            registered = not owner and any(map(registers, getattr(node, "decorator_list", ())))
            for name in named(node):
                yield Definition(f"{owner or self.name}.{name}", self.path, node.lineno, owner, registered)
            if isinstance(node, ast.ClassDef):
                yield from self._defined(node.body, f"{self.name}.{node.name}")

    def meant(self, name: str) -> set[str]:
        """Qualified names of what a bare name of this module may be: its functions may import it from many places."""
        if name not in self.meanings:
            own = {f"{self.name}.{name}"} & self.definitions.keys()
            self.meanings[name] = own.union(*map(self._origin, self.imports.get(name, ())))
        return self.meanings[name]

    def _origin(self, name: str, depth: int = 5) -> set[str]:
        """Where what is imported by that name is defined, through imports of imports."""
        source, _, last = name.rpartition(".")
        there = self.known.get(source) or self.known.get(f"{self.package}.{source}")
        if there is None or not depth:
            beside = (
                f"{self.package}.{name}"  # a program that runs by itself imports its neighbours without the package
            )
            return {beside if beside in self.known else name}
        further = there.imports.get(last, set()) - {name}  # a package may import a function out of a module of its name
        return {f"{there.name}.{last}"}.union(*(there._origin(one, depth - 1) for one in further))

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self.uses.update((name, self.inside) for name in self.meant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        first, dot, rest = dotted(node.value).partition(".")
        for owner in self.meant(first) if first in self.imports else ():
            self.uses.update((name, self.inside) for name in self._origin(f"{owner}{dot}{rest}.{node.attr}"))
        if isinstance(node.ctx, ast.Load):
            self.uses.add((f".{node.attr}", self.inside))
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and NAMED.fullmatch(node.value):
            self.words.update(WORD.findall(node.value))

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if "__all__" not in ast.unparse(node.targets[0]) or "." not in self.name:
            self.visit_FunctionDef(node)

    def visit_FunctionDef(self, node: Defining) -> None:
        """A definition's own uses: of a method in its class, otherwise of the one at the top level."""
        names, outside = named(node, all_names=True), self.inside
        name = f"{outside or self.name}.{names[0]}" if len(names) == 1 else ""
        self.inside = name if name in self.definitions else outside
        self.generic_visit(node)
        self.inside = outside

    visit_AsyncFunctionDef = visit_ClassDef = visit_AnnAssign = visit_FunctionDef  # noqa: N815


def named(node: Defining, *, all_names: bool = False) -> list[str]:
    """The names that a statement defines, each by itself: what is unpacked comes together, not Python's own."""
    if isinstance(node, ast.Assign | ast.AnnAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        return [one.id for one in targets if isinstance(one, ast.Name) and not dunder(one.id)]
    return [node.name] if all_names or not dunder(node.name) else []


def dunder(name: str) -> bool:
    return (name.startswith("__") and name.endswith("__")) or name == "_"


def dotted(node: ast.expr) -> str:
    """`a.b.c`; empty for what is no chain of names."""
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return before and f"{before}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def registers(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    if isinstance(called, ast.Name):  # viva.commands.command: a package registers the function by its name
        return called.id == "command"
    return isinstance(called, ast.Attribute) and called.attr in REGISTERS and ast.unparse(called.value) != "click"


def modules_of(package: Path) -> dict[str, Module]:
    known: dict[str, Module] = {}
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        known[name] = Module(name, path, known)
    return known


def words_beside(package: Path, pyproject: Path | None) -> Iterator[str]:
    """Words of what pyproject.toml names as commands and plugins, and of what templates read."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("project", {}) if pyproject else {}
    for group in (project.get("scripts", {}), *project.get("entry-points", {}).values()):
        yield from WORD.findall(" ".join(group.values()))
    for template in package.rglob("*.html"):
        yield from WORD.findall(" ".join(JINJA.findall(template.read_text(encoding="utf-8"))))


def unused(
    package: Path, pyproject: Path | None = None, kept: Iterable[str] = ()
) -> tuple[list[Definition], list[str]]:
    """Definitions in the package folder that nothing in it uses, by file and line; and what need not be `kept`.

    `kept`: patterns of qualified names (fnmatch) that are used in ways that cannot be seen here.
    """
    known = modules_of(package)
    words, users = set(words_beside(package, pyproject)), defaultdict[str, set[str]](set)
    for module in known.values():
        module.visit(module.tree)
        words |= module.words
        for name, inside in module.uses:
            users[name].add(inside)
    everything = {name: one for module in known.values() for name, one in module.definitions.items()}
    roots = {pattern: {name for name in everything if fnmatchcase(name, pattern)} for pattern in kept}
    alone = _dead(everything, users, words, set())
    dead = _dead(everything, users, words, set().union(*roots.values()))
    found = [one for name, one in everything.items() if name in dead and one.owner not in dead]
    needless = [pattern for pattern, names in roots.items() if names.isdisjoint(alone)]
    return sorted(found, key=lambda one: (str(one.path), one.line)), needless


def _dead(everything: dict[str, Definition], users: dict[str, set[str]], words: set[str], roots: set[str]) -> set[str]:
    """What nothing uses that is used itself."""
    dead: set[str] = set()

    def lives(one: Definition) -> bool:
        bare = one.name.rpartition(".")[2]
        if one.registered or bare in words or one.name in roots:
            return True
        found = users.get(one.name, set()) | (users.get(f".{bare}", set()) if one.owner else set())
        return any(user not in dead and user != one.name and not user.startswith(f"{one.name}.") for user in found)

    while more := {name for name, one in everything.items() if name not in dead and not lives(one)}:
        dead |= more
        dead |= {name for name, one in everything.items() if one.owner in dead}
    return dead
