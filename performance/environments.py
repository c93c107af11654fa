"""One virtual environment for each peer, in a cache folder, byte-compiled."""

import subprocess
import sys
import venv
from pathlib import Path

from tools import TOOLS

READY = "requirements.txt"  # written last: an environment without it was left half-made


def prepare(names: list[str], cache: Path) -> None:
    """Build the environments of `names` that are not there yet or were made for other versions."""
    for name in names:
        if not TOOLS[name].requirements or ready(name, cache):
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


def ready(name: str, cache: Path) -> bool:
    """Whether `name` can be run: its environment is complete and of the versions wanted."""
    tool = TOOLS[name]
    if not tool.requirements:
        return (tool.bin(name, cache) / tool.command.split()[0]).exists()
    marker = cache / name / READY
    return marker.exists() and marker.read_text() == _wanted(name)


def versions(name: str, cache: Path) -> dict[str, str]:
    """What is installed in its environment."""
    python = TOOLS[name].bin(name, cache) / "python"
    code = "from importlib.metadata import distributions as d\nfor x in d(): print(x.name, x.version)"
    listed = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout
    return dict(sorted(line.split(" ", 1) for line in listed.splitlines()))


def _wanted(name: str) -> str:
    return "\n".join([f"python {sys.version.split()[0]}", *TOOLS[name].requirements, ""])
