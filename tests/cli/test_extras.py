"""Without extras, Viva asks, grades and aggregates; other commands name the extra that they need."""

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from rows import tabled, tables_beside
from servers.fixtures import Ended
from viva.errors import EXTRAS, MissingExtraError, missing_extras

ROOT = Path(__file__).parents[2]
WITHOUT_EXTRAS = f"""
import sys
from importlib.machinery import PathFinder

class Present(PathFinder):
    def find_spec(name, *where):
        return None if name.partition(".")[0] in {set(EXTRAS)!r} else PathFinder.find_spec(name, *where)

sys.meta_path[sys.meta_path.index(PathFinder)] = Present
import runpy
runpy.run_module("driver", run_name="__main__")
assert not {set(EXTRAS)!r} & {{*sys.modules}}
"""
"""Commands on a machine that has none of the extras."""
DISTRIBUTIONS = {
    "dotenv": "python-dotenv", "google": "google-genai", "yaml": "pyyaml",
    "vl_convert": "vl-convert-python",
}  # fmt: skip
"""Distributions that are not called as what is imported of them."""
BROUGHT = {"_typeshed": "mypy", "datasets": "lm-eval", "markupsafe": "jinja2"}
"""What is imported where something else is there that needs it, or that hands it over."""


def bare(folder: Path, commands: Sequence[Sequence[str]]) -> list[Ended]:
    (folder / "cases.json").write_text(json.dumps(commands), encoding="utf-8")
    places = (str(ROOT / "tests" / "servers"), os.environ.get("PYTHONPATH", ""))
    ended = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, "cases.json"], cwd=folder, capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, places))}, timeout=240,
    )  # fmt: skip
    return [Ended(*json.loads(line)) for line in ended.stdout.splitlines()]


ASKED = (
    "run", "cmmlu", "csbench", "syneval", "clrbench", "--limit", "8", "--encoder", "none", "--model",
    "baseline/random", "--run", "run", "--progress", "quiet", "--tables",
)  # fmt: skip
WITHOUT = tables_beside(__file__)["without"]
WITH = (
    (("report", "run"), "altair", "pages"),
    (("view", "."), "starlette", "pages"),
    (("review", "run"), "starlette", "pages"),
    (("compare", "scores.csv"), "scipy", "analysis"),
    (("leaderboard", "run", "--out", "site"), "scipy", "analysis"),
)


@pytest.fixture(scope="module")
def all_done(tmp_path_factory: pytest.TempPathFactory) -> dict[Sequence[str], Ended]:
    """Every command here, run one after another by one interpreter: importing all takes seconds."""
    folder = tmp_path_factory.mktemp("bare")
    (folder / "answers.jsonl").write_text('{"question": "astronomy/0", "text": "A"}\n', encoding="utf-8")
    (folder / "steps.csv").write_text("model,tokens\nbaseline/first,1\nbaseline/random,2\n", encoding="utf-8")
    rows = [f"{model},q{number},0,{(number + place) % 2}" for place, model in enumerate("ab") for number in range(9)]
    (folder / "scores.csv").write_text("\n".join(["model,question,sample,score", *rows]), encoding="utf-8")
    commands = [ASKED, *WITHOUT, *(command for command, *_ in WITH)]
    return dict(zip(commands, bare(folder, commands), strict=True))


def test_a_run_is_asked_graded_and_looked_at_without_extras(all_done: dict[Sequence[str], Ended]) -> None:
    asked = all_done[ASKED]
    assert asked.code == 0, asked.err
    assert all(exam in asked.out for exam in ("cmmlu", "csbench", "syneval", "clrbench"))
    for command, row in tabled(*WITHOUT):
        with row:
            assert all_done[command].code in (0, 3), all_done[command].err  # 3: a question has no answer
            assert "not installed" not in all_done[command].err


def test_a_command_that_needs_an_extra_names_it_in_its_last_line(all_done: dict[Sequence[str], Ended]) -> None:
    for (command, package, extra), row in tabled(*WITH):
        with row:
            done = all_done[command]
            assert done.code == 2, done.err
            said = f"viva: this needs {package}, which is not installed: pip install 'viva[{extra}]'"
            assert done.err.splitlines()[-1].startswith(said)
            assert "Traceback" not in done.err


def test_only_packages_of_extras_are_named() -> None:
    with pytest.raises(MissingExtraError, match=re.escape("pip install 'viva[analysis]'")), missing_extras():
        raise ModuleNotFoundError("No module named 'scipy.stats'", name="scipy.stats")
    with pytest.raises(ModuleNotFoundError, match="something"), missing_extras():
        raise ModuleNotFoundError("No module named 'something'", name="something")


@pytest.mark.slow
def test_every_package_that_is_imported_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    optional = project["optional-dependencies"]
    brought = {extra: {name(each) for each in optional[extra]} for extra in optional}
    declared = {name(each) for each in project["dependencies"]}
    assert {extra: brought[extra] for extra in ("analysis", "instructions", "pages")} == {
        extra: {distribution(package) for package, of in EXTRAS.items() if of == extra} for extra in EXTRAS.values()
    }
    known = declared.union(*(needs for extra, needs in brought.items() if extra not in ("dev", "docs")))
    found = {
        package
        for path in (ROOT / "src" / "viva").rglob("*.py")
        if "harness" not in path.parts  # runs in the sandbox, with the packages that are there
        for package in imported(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert {"numpy", "polars", "msgspec"} < found
    assert {package for package in found - set(BROUGHT) if distribution(package) not in known} == set()
    assert {each for each in declared if not any(distribution(package) == each for package in found)} == set()


def imported(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules = [node.module or ""]
        else:
            continue
        roots = {module.partition(".")[0] for module in modules}
        yield from roots - sys.stdlib_module_names - {"viva"}


def distribution(package: str) -> str:
    return DISTRIBUTIONS.get(package, package.replace("_", "-"))


def name(requirement: str) -> str:
    return re.split(r"[\s\[<>=!~;]", requirement, maxsplit=1)[0].lower()
