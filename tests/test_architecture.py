"""ARCHITECTURE.md: its tree is made of first sentences of packages (`python tests/test_architecture.py` writes it). And
that no module imports itself by way of others; layers are import-linter's business.
"""

import ast
import re
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "ARCHITECTURE.md"
SOURCE = ROOT / "src" / "viva"
BLOCK = re.compile(r"(?<=<!-- tree -->\n```\n).*?(?=```\n<!-- end of tree -->)", re.DOTALL)
DEEP = ("benchmarks", "studies", "build", "lab", "cli", "pages", "interop", "models", "scorers")
"""Packages whose own packages are shown, too."""


def described(file: Path) -> str:
    """The first sentence of a module's docstring."""
    docstring = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return re.split(r"(?<=[.!?])\s|\n", docstring)[0].rstrip(".")


def tree() -> str:
    rows: list[tuple[str, str]] = []
    for package in sorted(path.parent for path in SOURCE.glob("*/__init__.py")):
        rows.append((f"{package.name}/", described(package / "__init__.py")))
        if package.name in DEEP:
            inner = sorted(path.parent for path in package.glob("*/__init__.py"))
            rows += [(f"  {each.name}/", described(each / "__init__.py")) for each in inner]
    rows += [(path.name, described(path)) for path in sorted(SOURCE.glob("[!_]*.py"))]
    return "".join(f"{name:<18} {text}\n" for name, text in rows)


def test_the_tree_is_that_of_the_code_and_every_package_says_what_it_is() -> None:
    found = BLOCK.search(PAGE.read_text(encoding="utf-8"))
    assert found, "ARCHITECTURE.md has no tree"
    assert found[0] == tree(), "write it anew: python tests/test_architecture.py"
    wrong = [line for line in tree().splitlines() if not line[19:].strip() or len(line) > 140]
    assert not wrong, f"a docstring's first line says what the package is, in {140 - 19} characters: {wrong}"


def test_no_import_leads_back() -> None:
    """Late imports count, and those for types alone."""
    graph = grimp.build_graph("viva", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    TopologicalSorter(imports).prepare()  # a CycleError names the modules


if __name__ == "__main__":
    PAGE.write_text(BLOCK.sub(lambda _: tree(), PAGE.read_text(encoding="utf-8")), encoding="utf-8")
