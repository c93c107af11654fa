"""`import viva` offers functions whose parameters mypy and editors know: signatures.pyi is made of the structs of
options (`python tests/api/test_signatures.py` writes it).
"""

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
import types
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest

import viva
from viva.api.studies import STUDIES
from viva.fields import options

STUB = Path(viva.__file__).parent / "api" / "signatures.pyi"
HEAD = '''"""What `import viva` offers, as mypy and editors see it. Written by tests/api/test_signatures.py."""

from collections.abc import Sequence
from os import PathLike
from typing import Literal

'''


def shown(kind: Any) -> str:
    """A type as a caller may give it: a path as text, a number where a text is read as one, one value for several."""
    origin, parts = get_origin(kind), [part for part in get_args(kind) if part is not ...]
    if kind in (None, type(None)):
        return "None"
    if kind is Path:
        return "str | PathLike[str]"
    if kind is str:
        return "str | float"
    if origin is Literal:
        numbers = [part for part in parts if str(part).isdigit()]  # 4 is read as "4"
        return f"Literal[{', '.join([*map(json.dumps, parts), *numbers])}]"
    if origin in (Union, types.UnionType):
        return " | ".join(dict.fromkeys(shown(part) for part in parts))
    if origin is tuple:
        inner = " | ".join(dict.fromkeys(shown(part) for part in parts))
        return inner if len(parts) > 1 else f"{inner} | Sequence[{inner}]"
    if hasattr(kind, "__metadata__"):
        return shown(kind.__origin__)
    return str(kind.__name__)


def listed(known: Any) -> list[str]:
    return [f"    {each.name}: {shown(each.kind)} = ...," for each in known.values() if not each.argument]


def asking(name: str) -> str:
    """`run`, `resume` or `grade`: its own parameters as they are written, then the options."""
    from viva.api import examining
    from viva.api import examining as asking

    source = inspect.getsource(getattr(asking, name))
    own = re.search(rf"def {name}\((.*?)\n    \*\*options", source, re.DOTALL)
    assert own
    known = getattr(examining, f"{name.upper()}_OPTIONS")
    return "\n".join([f"def {name}({own[1]}", *listed(known), ") -> Run: ..."])


def study(name: str, place: str, imports: set[str]) -> str:
    module = importlib.import_module(place.partition(":")[0])
    tree = ast.parse(inspect.getsource(module))
    function = next(each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == "study")
    returned = ast.unparse(function.returns) if function.returns else "None"
    names = {each.id for each in ast.walk(function.returns or tree) if isinstance(each, ast.Name)}
    for part in ast.walk(tree):
        if isinstance(part, ast.ImportFrom):
            imports |= {f"from {part.module} import {one.name}" for one in part.names if one.name in names}
        if isinstance(part, ast.ClassDef) and part.name in names:
            imports.add(f"from {module.__name__} import {part.name}")
    known = options(module.study.config)
    lines = []
    for each in known.values():
        if each.argument:
            kind = "str | PathLike[str] | Run"
            lines.append(f"    *{each.name}: {kind}," if each.several else f"    {each.name}: {kind},")
    star = [] if any(line.startswith("    *") for line in lines) else ["    *,"]
    return "\n".join([f"def {name}(", *lines, *star, *listed(known), f") -> {returned}: ..."])


def stub() -> str:
    imports = {
        "from viva.api.examining import Answers, ModelArgument",
        "from viva.api.opened import Run",
        "from viva.runs.session import Way",
    }
    own = ("run", "resume", "grade")
    functions = [*map(asking, own), *(study(*one, imports) for one in sorted(STUDIES.items()))]
    names = f"__all__ = {json.dumps([*own, *sorted(STUDIES)])}"
    return HEAD + "\n".join([*sorted(imports), "", names, "", *functions, ""])


def test_the_signatures_are_those_of_the_options() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "write it anew: python tests/api/test_signatures.py"


USED = """
import viva
run = viva.run("cmmlu", model="baseline/random", limit=3, max_cost=1.0, judge=["openai/a"], temperature=0.5)
found = viva.compare(run, "runs/b")
"""
SHALLOW = """
[mypy]
follow_imports = skip

[mypy-viva,viva.api.signatures]
follow_imports = normal
"""


@pytest.mark.slow
def test_mypy_knows_every_parameter(tmp_path: Path) -> None:
    """Right calls pass, a wrong name and a wrong value do not.

    mypy reads what a user's file names, and not the modules behind that: `make check` reads those.
    """
    wrong = ['viva.run("cmmlu", limits=3)', 'viva.run("cmmlu", form="chta")', 'viva.resume("a", max_cost="much", x=1)']
    (tmp_path / "right.py").write_text(USED)
    (tmp_path / "wrong.py").write_text("\n".join(["import viva", *wrong]))
    (tmp_path / "mypy.ini").write_text(SHALLOW)
    names = [line for line in STUB.read_text(encoding="utf-8").splitlines() if line.startswith("from viva.")]
    exec("\n".join(names))  # they exist: where a module is not read, its names are anything

    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), "right.py", "wrong.py"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout
    assert "right.py" not in said, said
    assert all(f"wrong.py:{line}: error" in said for line in (2, 3, 4)), said


if __name__ == "__main__":
    STUB.write_text(stub(), encoding="utf-8")
