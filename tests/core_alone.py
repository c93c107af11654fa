"""Run the core's tests without lab/ and build/: on a copy of the package without both, first on the path.

python tests/core_alone.py -n auto --quick         the core's tests on it
"""

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
FLOORS = ("lab", "build")
OF_THE_CHECKOUT = (
    "api/test_page.py",
    "test_ceilings.py",
    "test_documentation.py",
    "test_house.py",
    "test_performance.py",
)
"""Tests of what lies beside the core: its pages, its sizes, its scripts."""
OF_AN_INSTALLATION = "interop/test_inspect.py::test_every_benchmark_is_found_by_inspects_registry"
"""Inspect names tasks by the distribution whose files it finds."""


def copied(place: Path) -> Path:
    """The copy, beside a dist-info that registers nothing of the two. Returns what belongs first on the path."""
    source = ROOT / "src" / "viva"
    shutil.copytree(
        source,
        place / "viva",
        ignore=lambda folder, names: FLOORS if Path(folder) == source else [n for n in names if n == "__pycache__"],
    )
    shutil.copytree(ROOT / "docs", place / "viva" / "docs")  # as the wheel has them
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    known = place / f"{project['name']}-{project['version']}.dist-info"
    known.mkdir()
    (known / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = {"console_scripts": project["scripts"], **project["entry-points"]}
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in said.items() if name not in FLOORS)
        for group, said in groups.items()
    ]
    (known / "entry_points.txt").write_text("".join(lines), encoding="utf-8")
    return place


def environment(place: Path) -> dict[str, str]:
    """With the copy first on the path, and the tests' own modules."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (place, ROOT / "tests")))}


def main() -> int:
    """Run the core's tests on the copy; the arguments are pytest's."""
    with tempfile.TemporaryDirectory(prefix="viva-core-") as folder:
        place = copied(Path(folder))
        ignored = [f"--ignore=tests/{name}" for name in (*FLOORS, *OF_THE_CHECKOUT)]
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            *ignored,
            f"--deselect=tests/{OF_AN_INSTALLATION}",
            *sys.argv[1:],
        ]
        return subprocess.run(command, cwd=ROOT, env=environment(place), check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
