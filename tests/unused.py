"""Definitions of a package that nothing in the package uses: tests do not count, for they may outlive what they test.

A definition is a function, a class, a constant at the top level of a module, or a method. Names are resolved: a use of
`find` is a use of the `find` that the module defines or imports. Attributes of objects are matched by their name alone,
and so is what a string names as a whole (`getattr`, entry points) and what a Jinja template reads. What only dead code
uses, or only its own definition, is dead.
"""

import ast
import re
import tomllib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path

NAMED = re.compile(r"[A-Za-z_][\w.:-]*")
WORD = re.compile(r"[A-Za-z_]\w*")
JINJA = re.compile(r"\{[{%](.*?)[%}]\}", re.DOTALL)
REGISTERS = {"command", "group"}
"""Methods of a click group that, as decorators, register what they decorate."""
Functions = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Definition:
    """`name` is qualified: module, class if it is a method, name."""

    name: str
    path: Path
    line: int
    owner: str = ""
    """The class of a method, qualified."""
    registered: bool = False

    @property
    def bare(self) -> str:
        return self.name.rpartition(".")[2]


@dataclass
class Uses:
    """Who uses what: pairs of what is used and the definition inside which that is; "" is a module's top level."""

    names: set[tuple[str, str]] = field(default_factory=set)
    """Qualified names."""
    attributes: set[tuple[str, str]] = field(default_factory=set)
    """Bare names of methods."""
    words: set[str] = field(default_factory=set)
    """Named in a string, a template or an entry point, so perhaps used."""


class Module:
    """One file: its definitions, and what its names mean."""

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.path = name, path
        self.tree = ast.parse(path.read_text(encoding="utf-8"))
        self.package = name if path.name == "__init__.py" else name.rpartition(".")[0]
        self.definitions = {one.name: one for one in self._defined()}
        self.imports: dict[str, set[str]] = {}
        for name, meant in self._imported():
            self.imports.setdefault(name, set()).add(meant)

    def _defined(self) -> Iterator[Definition]:
        for node in statements(self.tree.body):
            if isinstance(node, (*Functions, ast.ClassDef)):
                if not dunder(node.name):
                    registered = any(map(registers, node.decorator_list))
                    yield Definition(f"{self.name}.{node.name}", self.path, node.lineno, registered=registered)
                if isinstance(node, ast.ClassDef):
                    owner = f"{self.name}.{node.name}"
                    for inner in node.body:
                        if isinstance(inner, Functions) and not dunder(inner.name):
                            yield Definition(f"{owner}.{inner.name}", self.path, inner.lineno, owner)
            else:
                for target in assigned(node):
                    yield Definition(f"{self.name}.{target.id}", self.path, target.lineno)

    def _imported(self) -> Iterator[tuple[str, str]]:
        for node in statements(self.tree.body, everywhere=True):
            if isinstance(node, ast.Import):
                for one in node.names:
                    yield one.asname or one.name.partition(".")[0], one.name if one.asname else one.name.split(".")[0]
            elif isinstance(node, ast.ImportFrom):
                above = self.package.rsplit(".", node.level - 1)[0] if node.level else ""
                source = ".".join(filter(None, (above, node.module)))
                for one in node.names:
                    yield one.asname or one.name, f"{source}.{one.name}"


def statements(body: Iterable[ast.AST], *, everywhere: bool = False) -> Iterator[ast.AST]:
    """Statements at the top level, also those under `if` and `try`; or everywhere in a module."""
    for node in body:
        yield node
        if everywhere or isinstance(node, ast.If | ast.Try | ast.ExceptHandler):
            for part in ("body", "orelse", "handlers", "finalbody", "cases"):
                yield from statements(getattr(node, part, ()), everywhere=everywhere)


def assigned(node: ast.AST) -> Iterator[ast.Name]:
    """The names that a statement gives a value, each by itself: what is unpacked comes together."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    for target in targets:
        if isinstance(target, ast.Name) and not dunder(target.id):
            yield target


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


def modules_of(package: Path) -> list[Module]:
    found = []
    for path in sorted(package.rglob("*.py")):
        parts = [package.name, *path.relative_to(package).with_suffix("").parts]
        found.append(Module(".".join(parts[:-1] if parts[-1] == "__init__" else parts), path))
    return found


def origin(name: str, package: str, known: dict[str, Module], depth: int = 5) -> set[str]:
    """Where what is imported by that name is defined, through imports of imports."""
    source, _, last = name.rpartition(".")
    there = known.get(source) or known.get(f"{package}.{source}")
    if there is None or not depth:
        beside = f"{package}.{name}"  # a program that runs by itself imports its neighbours without the package
        return {beside if beside in known else name}
    further = there.imports.get(last, set()) - {name}  # a package may import a function out of a module of its name
    return {f"{there.name}.{last}"}.union(*(origin(one, there.package, known, depth - 1) for one in further))


class Reader(ast.NodeVisitor):
    """Collects what a module uses, and inside which definition."""

    def __init__(self, module: Module, known: dict[str, Module], uses: Uses) -> None:
        self.module, self.known, self.uses = module, known, uses
        self.inside = [""]
        self.meanings: dict[str, set[str]] = {}

    def meant(self, name: str) -> set[str]:
        """Qualified names of what a bare name of this module may be: its functions may import it from many places."""
        if name not in self.meanings:
            own = f"{self.module.name}.{name}"
            named = {own} if own in self.module.definitions else set()
            self.meanings[name] = named.union(*map(self._origin, self.module.imports.get(name, ())))
        return self.meanings[name]

    def _origin(self, name: str) -> set[str]:
        return origin(name, self.module.package, self.known)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._use(self.meant(node.id))

    def visit_Attribute(self, node: ast.Attribute) -> None:
        first, dot, rest = dotted(node.value).partition(".")
        if first in self.module.imports:
            for owner in self.meant(first):
                self._use(self._origin(f"{owner}{dot}{rest}.{node.attr}"))
        if isinstance(node.ctx, ast.Load):
            self.uses.attributes.add((node.attr, self.inside[-1]))
        self.generic_visit(node)

    def _use(self, names: Iterable[str]) -> None:
        self.uses.names.update((name, self.inside[-1]) for name in names)

    def visit_Constant(self, node: ast.Constant) -> None:
        if isinstance(node.value, str) and NAMED.fullmatch(node.value):
            self.uses.words.update(WORD.findall(node.value))

    def visit_Expr(self, node: ast.Expr) -> None:
        if not isinstance(node.value, ast.Constant):  # a docstring
            self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if "__all__" not in ast.unparse(node.targets[0]) or "." not in self.module.name:
            self._within(node, [name.id for name in assigned(node)])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._within(node, [name.id for name in assigned(node)])

    def visit_FunctionDef(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
        self._within(node, [node.name])

    visit_AsyncFunctionDef = visit_FunctionDef  # noqa: N815

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._within(node, [node.name])

    def _within(self, node: ast.AST, names: list[str]) -> None:
        """A definition's own uses: of a method in its class, otherwise of the one at the top level."""
        name = f"{self.inside[-1] or self.module.name}.{names[0]}" if len(names) == 1 else ""
        known = name in self.module.definitions
        if known:
            self.inside.append(name)
        self.generic_visit(node)
        if known:
            self.inside.pop()


def entry_points(pyproject: Path) -> Iterator[str]:
    """Words of what pyproject.toml names as commands and plugins."""
    project = tomllib.loads(pyproject.read_text(encoding="utf-8")).get("project", {})
    for group in (project.get("scripts", {}), *project.get("entry-points", {}).values()):
        for target in group.values():
            yield from WORD.findall(target)


def unused(
    package: Path, pyproject: Path | None = None, kept: Iterable[str] = ()
) -> tuple[list[Definition], list[str]]:
    """Definitions in the package folder that nothing in it uses, by file and line; and what need not be `kept`.

    `kept`: patterns of qualified names (fnmatch) that are used in ways that cannot be seen here.
    """
    modules = modules_of(package)
    known = {module.name: module for module in modules}
    uses = Uses(words=set(entry_points(pyproject)) if pyproject else set())
    for module in modules:
        Reader(module, known, uses).visit(module.tree)
    for template in package.rglob("*.html"):
        for expression in JINJA.findall(template.read_text(encoding="utf-8")):
            uses.words.update(WORD.findall(expression))
    users: dict[str, set[str]] = {}
    for name, inside in uses.names | {(f".{attribute}", inside) for attribute, inside in uses.attributes}:
        users.setdefault(name, set()).add(inside)
    everything = {name: one for module in modules for name, one in module.definitions.items()}
    roots = {pattern: {name for name in everything if fnmatchcase(name, pattern)} for pattern in kept}
    alone = _dead(everything, users, uses.words, set())
    needless = [pattern for pattern, names in roots.items() if names.isdisjoint(alone)]
    dead = _dead(everything, users, uses.words, set().union(*roots.values()))
    found = [one for name, one in everything.items() if name in dead and one.owner not in dead]
    return sorted(found, key=lambda one: (str(one.path), one.line)), needless


def _dead(everything: dict[str, Definition], users: dict[str, set[str]], words: set[str], roots: set[str]) -> set[str]:
    """What nothing uses that is used itself."""
    dead: set[str] = set()

    def lives(one: Definition) -> bool:
        if one.registered or one.bare in words or one.name in roots:
            return True
        found = users.get(one.name, set()) | (users.get(f".{one.bare}", set()) if one.owner else set())
        return any(user not in dead and user != one.name and not user.startswith(f"{one.name}.") for user in found)

    while more := {name for name, one in everything.items() if name not in dead and not lives(one)}:
        dead |= more
        dead |= {name for name, one in everything.items() if one.owner in dead}
    return dead
