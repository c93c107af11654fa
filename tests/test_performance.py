"""The benchmarks in performance/: each can be started and offers tiny inputs, by which tiny.py runs them all in CI."""

import os
import subprocess
import sys
from pathlib import Path

from rows import tabled

FOLDER = Path(__file__).parents[1] / "performance"
TINY = FOLDER / "tiny.py"
SCRIPTS = {
    "works": 'parser.add_argument("--tiny", action="store_true")\nparser.parse_args()\nprint("figures")',
    "fails": 'parser.add_argument("--tiny", action="store_true")\nparser.parse_args()\nsys.exit("it broke")',
    "lacks": 'parser.add_argument("--tiny", action="store_true")\nparser.parse_args()\n'
    'print("lacks.py: left out: all: no ray", file=sys.stderr)\nprint("figures")\nsys.exit(69)',
    "big": "parser.parse_args()",
    "big_work": 'sys.exit("started by another script only")',
}


def started(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *map(str, arguments)]
    kept = {name: value for name, value in os.environ.items() if name != "VIVA_CI"}
    return subprocess.run(
        command, capture_output=True, text=True, timeout=240, check=False, env=kept | {"COLUMNS": "200"} | environment
    )


def test_one_command_runs_them_all_and_fails_with_any(tmp_path: Path) -> None:
    head = "import argparse, sys\nparser = argparse.ArgumentParser()\nif __name__ == '__main__':\n    pass\n"
    for name, body in SCRIPTS.items():
        (tmp_path / f"{name}.py").write_text(head + body, encoding="utf-8")
    ended = started(TINY, "--folder", tmp_path)
    assert ended.returncode == 1
    assert "=== fails\nit broke" in ended.stdout
    assert "=== big\n" in ended.stdout, "a script without --tiny is a failure"
    assert "=== works" not in ended.stdout
    assert "=== lacks" not in ended.stdout
    assert "big_work" not in ended.stdout
    for (name, said), row in tabled(
        *{"works": "ok", "lacks": "all: no ray", "fails": "failed", "big": "failed"}.items()
    ):
        with row:
            (line,) = (line for line in ended.stdout.splitlines() if line.startswith(f"| {name} "))
            assert said in line
    assert started(TINY, "--folder", tmp_path, "works", "lacks").returncode == 0
    assert started(TINY, "--folder", tmp_path, "works", "lacks", VIVA_CI="1").returncode == 1
