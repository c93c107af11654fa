"""Core, lab and build: the core does not know the other two, and does its work where they are not."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import core_alone
from core_alone import FLOORS, ROOT
from rows import table

SOURCE = ROOT / "src" / "viva"
NAMED = re.compile(rf"\bviva[./]({'|'.join(FLOORS)})\b(?!\))")
"""A module of theirs, in a string or a data file; `viva build` is a command."""
KINDS = {".toml", ".yaml", ".html", ".js", ".json", ".css"}


def strings(text: str) -> list[str]:
    """All texts in a module, docstrings too."""
    found = (node.value for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Constant))
    return [value for value in found if isinstance(value, str)]


def test_nothing_in_the_core_names_a_module_of_the_floors_above() -> None:
    files = [path for path in SOURCE.rglob("*") if path.relative_to(SOURCE).parts[0] not in FLOORS]
    assert len(files) > 500
    with table() as row:
        for path in files:
            if path.suffix == ".py":
                with row(path):
                    text = path.read_text(encoding="utf-8")
                    assert not [one for one in strings(text) if NAMED.search(one)]
                    assert not re.search(rf"^\s*(from|import) viva\.({'|'.join(FLOORS)})\b", text, re.M)
            elif path.suffix in KINDS:
                with row(path):
                    assert not NAMED.search(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_alone.copied(tmp_path_factory.mktemp("core"))


def test_the_core_alone_asks_and_shows_what_the_lab_asked(core: Path, tmp_path: Path) -> None:
    """All of the core's tests on such a copy: `python tests/core_alone.py`, a stage of .ci/run."""

    def viva(*arguments: str, alone: bool = True) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "viva", *arguments],
            cwd=tmp_path, env=core_alone.environment(core if alone else ROOT / "src"), capture_output=True, text=True,
            timeout=120, check=False,
        )  # fmt: skip

    helped = viva("--help")
    assert helped.returncode == 0
    assert "Lab:" not in helped.stdout
    assert "no command 'plan'" in viva("plan").stderr
    moved = ("run", "cmmlu", "--vary", "order=2")
    assert "did you mean `viva variance run" in viva(*moved, alone=False).stderr
    assert "variance" not in viva(*moved).stderr, "a command that nobody installed is not pointed to"
    varied = ("variance", "run", "cmmlu", "--limit", "8", "--vary", "order=2", "--model", "baseline/first")
    for number, name in enumerate(("first", "last", "random")):
        assert viva("run", "cmmlu", "--model", f"baseline/{name}", "--run", f"known/{number}").returncode == 0
    assert viva(*varied, "--run", "varied", alone=False).returncode == 0
    drawn = ("adaptive", "run", "cmmlu", "--calibration", "known", "--until", "40", "--model", "baseline/longest")
    assert viva(*drawn, "--run", "drawn", alone=False).returncode == 0
    for name in ("varied", "drawn"):
        both = [viva("score", name, "--format", "json", alone=alone) for alone in (True, False)]
        assert both[0].returncode == 0, both[0].stderr
        assert both[0].stdout == both[1].stdout
        assert viva("report", name, "--out", f"{name}.html").returncode == 0
        assert viva("show", name).returncode == 0
    assert viva("resume", "varied").returncode == 0, "what was varied is in run.json"
    refused = viva("resume", "drawn")
    assert refused.returncode == 2
    assert (
        "draws its questions in rounds (`viva adaptive run`), and no installed package has that command"
        in refused.stderr
    )
    assert viva("resume", "drawn", alone=False).returncode == 0
