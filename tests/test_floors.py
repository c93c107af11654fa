"""Core, lab and build: the core does not know the other two, and does its work where they are not."""

import ast
import json
import re
from pathlib import Path

import pytest

import core_alone
from core_alone import FLOORS, ROOT
from rows import table
from servers.fixtures import Ended, Viva

pytestmark = pytest.mark.slow  # `make check` runs them
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
                    assert not [one for one in strings(text) if NAMED.search(one)], "floors register themselves"
                    assert not re.search(rf"^\s*(from|import) viva\.({'|'.join(FLOORS)})\b", text, re.M)
            elif path.suffix in KINDS:
                with row(path):
                    assert not NAMED.search(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return core_alone.copied(tmp_path_factory.mktemp("core"))


def test_the_core_alone_asks_and_shows_what_the_lab_asked(core: Path, viva: Viva) -> None:
    """All of the core's tests on such a copy: `python tests/core_alone.py`, a stage of .ci/run."""

    def run(*commands: str, alone: bool = True) -> list[Ended]:
        path = core_alone.environment(core if alone else ROOT / "src")["PYTHONPATH"]
        viva.environment["PYTHONPATH"] = f"{path}:{Path(__file__).with_name('servers')}"
        cases = viva.folder / "cases.json"
        cases.write_text(json.dumps([command.split() for command in commands]), encoding="utf-8")
        # A new process: what is warm has imported another copy.
        printed = viva(cases, module="driver", bufsize=-1).out
        return [Ended(*json.loads(line)) for line in printed.splitlines()]

    moved = "run cmmlu --vary order=2"
    known = [f"run cmmlu --model baseline/{name} --run known/{name}" for name in ("first", "last", "random")]
    helped, planned, unmoved, *asked = run("--help", "plan", moved, *known)
    assert [one.code for one in (helped, *asked)] == [0] * 4
    assert "Lab:" not in helped.out
    assert "no command 'plan'" in planned.err
    assert "variance" not in unmoved.err, "a command that nobody installed is not pointed to"
    varied = "variance run cmmlu --limit 8 --vary order=2 --model baseline/first --run varied"
    drawn = "adaptive run cmmlu --calibration known --until 40 --model baseline/longest --run drawn"
    scores = [f"score {name} --format json" for name in ("varied", "drawn")]
    unmoved, *asked = run(moved, varied, drawn, *scores, alone=False)
    assert "did you mean `viva variance run" in unmoved.err
    assert [one.code for one in asked] == [0] * 4, asked
    shown = [f"{words} {name}" for name in ("varied", "drawn") for words in (f"report --out {name}.html", "show")]
    first, second, *others, resumed, refused = run(*scores, *shown, "resume varied", "resume drawn")
    assert [one.code for one in (first, second, *others)] == [0] * 6
    assert [first.out, second.out] == [one.out for one in asked[2:]]
    assert resumed.code == 0, "what was varied is in run.json"
    assert refused.code == 2
    without = "draws its questions in rounds (`viva adaptive run`), and no installed package has that command"
    assert without in refused.err
    (resumed,) = run("resume drawn", alone=False)
    assert resumed.code == 0
