"""Where each tool's programs lie: in a virtual environment of its own, made in a cache folder and byte-compiled.

A tool without one is run in the environment of this Python where its packages are installed there; which versions of
what that has, `versions` tells.
"""

import subprocess
import sys
import venv
from importlib import metadata
from pathlib import Path

from tools import TOOLS

READY = "requirements.txt"  # written last: an environment without it was left half-made


def prepare(names: list[str], cache: Path) -> None:
    """Build the environments of `names` that are not there yet or were made for other versions."""
    for name in names:
        if not TOOLS[name].requirements or _prepared(name, cache):
            continue
        folder = cache / name
        print(f"{name}: installing {', '.join(TOOLS[name].requirements)} into {folder}", flush=True)
        venv.create(folder, clear=True, with_pip=True)
        python = folder / "bin" / "python"
        subprocess.run([python, "-m", "pip", "install", "--quiet", *TOOLS[name].requirements], check=True)
        # Otherwise the first start of each pays for it. Some packages ship files of another Python's syntax,
        # which cannot be compiled and are never imported: hence no check.
        subprocess.run([python, "-m", "compileall", "-qq", "-j", "0", folder / "lib"], check=False)
        (folder / READY).write_text(_wanted(name))


def programs(name: str, cache: Path) -> Path | None:
    """Find the folder of its programs: in its own environment, else in this Python's; None where neither has it."""
    tool = TOOLS[name]
    if tool.requirements and _prepared(name, cache):
        return cache / name / "bin"
    here = Path(sys.executable).parent
    installed = all(map(_installed, tool.requirements)) and (here / tool.command.split()[0]).exists()
    return here if installed else None


def is_own(name: str, cache: Path) -> bool:
    """Tell whether it has its own environment; in a shared one, what else is installed may slow its start."""
    return not TOOLS[name].requirements or _prepared(name, cache)


def versions(name: str, cache: Path) -> dict[str, str]:
    """What is installed in its environment."""
    python = (programs(name, cache) or Path(sys.executable).parent) / "python"
    code = "from importlib.metadata import distributions as d\nfor x in d(): print(x.name, x.version)"
    listed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(sorted(line.split(" ", 1) for line in listed.splitlines()))


def _prepared(name: str, cache: Path) -> bool:
    marker = cache / name / READY
    return marker.exists() and marker.read_text() == _wanted(name)


def _installed(requirement: str) -> bool:
    """Whether this Python has the package, in whatever version: the check before the rounds tells if it will do."""
    try:
        metadata.version(requirement.partition("==")[0].partition("[")[0])
    except metadata.PackageNotFoundError:
        return False
    return True


def _wanted(name: str) -> str:
    return "\n".join([f"python {sys.version.split()[0]}", *TOOLS[name].requirements, ""])
