"""What holds for the project as a whole."""

import csv
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import viva
from benchmarks.handmade import opened
from viva.benchmarks import BENCHMARKS, find_benchmark
from viva.benchmarks.csbench.recordfiles import read_set
from viva.cli.main import COMMANDS
from viva.providers import PROVIDERS

ROOT = Path(__file__).parents[1]
HEAVY = {
    *("torch", "transformers", "datasets", "ray", "polars", "numpy", "scipy", "pandas"),
    *("starlette", "uvicorn", "jinja2"),
    *("aiohttp", "rich", "genai_prices", "msgspec", "anthropic", "google", "openai", "pydantic"),
}
LONGEST = 600
"""Lines of a file. It is cut where there are two subjects, not because it is long."""


SMALL = ("viva.benchmarks", "viva.benchmarks.csbench.csbench", "viva.scorers.choice")
"""What lies below, and imports nothing that only the top needs."""
CODE = f"""
import contextlib, importlib, io, json, sys
from viva.cli.main import main
said = io.StringIO()

def loaded():
    print(json.dumps(sorted({{name.partition(".")[0] for name in sys.modules}})))

with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit):
    main(["--help"])
print(json.dumps(said.getvalue()))
loaded()
for name in {SMALL}:
    importlib.import_module(name)
loaded()
importlib.import_module("viva.api.examining")
loaded()
"""


def test_help_and_what_lies_below_import_nothing_heavy() -> None:
    code = (sys.executable, "-c", CODE)
    environment = os.environ | {"COLUMNS": "110"}
    ended = subprocess.run(code, env=environment, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stderr
    said, *modules = map(json.loads, ended.stdout.splitlines())
    assert "Exit codes" in said
    for name, (_, sentence) in COMMANDS.items():
        assert re.search(rf"^  {name} +{re.escape(sentence)}$", said, re.MULTILINE), name
    helped, below, library = map(set, modules)
    assert "viva" in helped
    assert not HEAVY & helped
    assert not (HEAVY - {"msgspec"}) & below
    assert not (HEAVY - {"msgspec", "numpy"}) & library, "these two the core itself brings"


def test_what_lies_below_needs_no_command_line() -> None:
    code = f"import sys, {', '.join(SMALL)}; sys.exit('click' in sys.modules)"
    subprocess.run((sys.executable, "-c", code), timeout=240, check=True)


@pytest.mark.slow  # `make check` runs it
def test_imports_go_one_way() -> None:
    tool = Path(sys.executable).with_name("lint-imports")
    if not tool.exists():
        if os.environ.get("VIVA_CI") == "1":
            pytest.fail("import-linter is not installed")
        pytest.skip("import-linter is not installed")
    ended = subprocess.run([tool, "--no-cache"], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert ended.returncode == 0, ended.stdout
    assert re.search(r"\b0 broken", ended.stdout)


def test_no_file_is_too_long() -> None:
    lengths = {path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "src").rglob("*.py")}
    assert len(lengths) > 30
    assert {str(path.relative_to(ROOT)): n for path, n in lengths.items() if n > LONGEST} == {}, "divide by subject"


def test_commands_in_messages_can_be_typed_whoever_reads_them() -> None:
    """`viva run --limit 3` stays so in a program, where an option by itself is `limit=3`."""
    in_command = re.compile(r"`viva [^`]*\{option\(")
    found = {
        str(path): match[0]
        for path in (ROOT / "src").rglob("*.py")
        if (match := in_command.search(re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8"))))
    }
    assert not found, f"write the option as it is typed, `--limit`, not option(...): {found}"


def test_there_is_one_version_and_a_licence() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["version"] == viva.__version__
    assert f"{viva.__version__}" in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == viva.__version__
    assert project["license"] == "Apache-2.0"
    assert "LICENSE" in project["license-files"]
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_no_data_of_the_package_is_ignored_by_git() -> None:
    """What git ignores, the wheel would lack."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    kinds = (".toml", ".csv", ".json", ".yaml", ".jsonl", ".R", ".rb", ".java", ".js", ".go", ".cs", ".cpp")
    data = [str(path.relative_to(ROOT)) for path in (ROOT / "src").rglob("*") if path.suffix in kinds]
    assert len(data) > 20
    ended = subprocess.run(
        ["git", "check-ignore", "--no-index", *data], cwd=ROOT, capture_output=True, text=True, timeout=240, check=False
    )
    assert ended.stdout == ""
    wheel = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]
    assert wheel["wheel"]["packages"] == ["src/viva"], "hatch takes every file of the package that git does not ignore"
    assert (ROOT / "src" / "viva" / "py.typed").exists()


def test_the_samples_hold_nothing_of_the_published_sets(published: Path) -> None:
    rows = [row for language in ("en", "zh") for row in read_set(published / "csbench", language).records]
    for path in (*(published / "cmmlu" / "test").iterdir(), *(published / "cmmlu" / "dev").iterdir()):
        rows += csv.DictReader(path.read_text(encoding="utf-8-sig").splitlines(keepends=True))
    whole = {" ".join(str(row["Question"]).split()) for row in rows}
    assert len(whole) > 15_000
    for name, language in (("csbench", "en"), ("csbench", "zh"), ("cmmlu", "zh")):
        sample = {" ".join(question.text.split()) for question in opened(name, language=language).questions()}
        assert len(sample) > 70
        assert not sample & whole, f"{name}-{language}"


def test_every_benchmark_and_provider_named_by_hand_is_there() -> None:
    for name in BENCHMARKS:
        assert find_benchmark(name).about.name == name
    for module in PROVIDERS.values():
        assert (ROOT / "src" / (module.replace(".", "/") + ".py")).exists()


def test_the_command_is_installed_under_its_name() -> None:
    (script,) = importlib.metadata.entry_points(group="console_scripts", name="viva")
    assert script.value == "viva.cli.main:main"
