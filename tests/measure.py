"""The sizes that ceilings.toml bounds: `python tests/measure.py` prints them."""

import ast
import functools
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "viva"
FLOORS = ("lab", "build")
COUNTED = {tokenize.NAME, tokenize.OP, tokenize.NUMBER, tokenize.STRING}
OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]{2,}")
OF_OTHERS = ("cli", "sandbox")
"""Packages whose texts may name options: the command line's own, and other programs'."""
PAGES = {".js", ".html", ".css"}
PROGRAMS = PAGES | {".py", ".java", ".cpp", ".h", ".cs", ".go", ".rb", ".R", ".ts", ".mjs"}


def tokens(text: str) -> int:
    """Names, operators, numbers and texts of a module; comments, docstrings and layout cost nothing."""
    documented = {(node.lineno, node.col_offset) for node in _docstrings(_parsed(text))}
    read = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type in COUNTED and token.start not in documented for token in read)


def named_options(text: str) -> int:
    """Texts of a module, docstrings aside, that name an option of a command line."""
    tree = _parsed(text)
    documented = {id(node) for node in _docstrings(tree)}
    texts = (node for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    return sum(id(node) not in documented and bool(OPTION.search(str(node.value))) for node in texts)


def sizes() -> dict[str, int]:
    """Everything by the names of ceilings.toml."""
    found: Counter[str] = Counter()
    for path in SOURCE.rglob("*.py"):
        part = path.relative_to(SOURCE).parts[0]
        floor, text = part if part in FLOORS else "core", path.read_text(encoding="utf-8")
        found[f"tokens.{floor}"] += tokens(text)
        found[f"modules.{floor}"] += 1
        found["texts.options"] += 0 if part in OF_OTHERS else named_options(text)
    files = [path for path in SOURCE.rglob("*") if path.is_file() and "katex" not in path.parts]
    sandbox = {path for path in files if "sandbox" in path.parts}
    found["lines.pages"] = _lines(path for path in files if path.suffix in PAGES and path not in sandbox)
    found["lines.sandbox"] = _lines(path for path in sandbox if path.suffix in PROGRAMS)
    found["lines.tests"] = _lines((ROOT / "tests").rglob("*.py"))
    pages = [*(ROOT / "docs").rglob("*.md"), *SOURCE.rglob("*.md")]
    pages += [ROOT / name for name in ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md")]
    found["words.documents"] = sum(len(path.read_text(encoding="utf-8").split()) for path in pages)
    return dict(found)


@functools.lru_cache(maxsize=1)  # a module is counted twice
def _parsed(text: str) -> ast.Module:
    return ast.parse(text)


def _docstrings(tree: ast.AST) -> Iterator[ast.Constant]:
    """Texts that are statements."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        for one in body if isinstance(body, list) else ():
            if isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant) and isinstance(one.value.value, str):
                yield one.value


def _lines(paths: Iterable[Path]) -> int:
    return sum(path.read_bytes().count(b"\n") for path in paths)


if __name__ == "__main__":
    for name, number in sizes().items():
        print(f"{name:<16} {number:>9,}")
