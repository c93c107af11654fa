"""Run everything here on tiny inputs, so that no benchmark stops working unseen; the figures mean nothing.

    python performance/tiny.py                   # all: some 220 CPU seconds, as many at a time as cores
    python performance/tiny.py engine grading    # some

Every module that is a command line (it runs when it is started, and is not called *_work.py) must offer --tiny, so a
new one is found by itself. Exit code 1 where one failed; a script that left something out, for what it needs is not
installed, is named, and fails too where VIVA_CI=1.
"""

import argparse
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from commandline import NOT_INSTALLED
from summary import _table as table

HERE = Path(__file__).parent
TIMEOUT_S = 1200
MODES = {"engine": [[], ["--memory", "--reasoning", "3000"]], "syneval": [[], ["--profile"]]}
"""Options under which a script does something else; every other one is run as it is."""
FIRST = ("local", "scaleout", "engine", "grading")
"""What takes longest, so that no core waits for it at the end."""


@dataclass(frozen=True)
class Ended:
    """One script's run."""

    name: str
    code: int
    seconds: float
    output: str

    def status(self) -> str:
        """Describe in a few words how it ended."""
        if self.code == NOT_INSTALLED:
            named = re.findall(r"^\S+: (left out: .{,100})", self.output, re.MULTILINE)
            return named[-1] if named else "something is not installed"
        return "ok" if self.code == 0 else f"failed, exit code {self.code}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="SCRIPT", help="without .py; default all")
    parser.add_argument("--folder", type=Path, default=HERE, metavar="FOLDER", help="where they lie; default here")
    cores = len(os.sched_getaffinity(0))
    parser.add_argument("--jobs", type=int, default=cores, metavar="N", help="at a time; default as many as cores")
    options = parser.parse_args()
    there = scripts(options.folder)
    if unknown := sorted(set(options.names) - set(there)):
        parser.error(f"no script is called {', '.join(unknown)}; there are {', '.join(there)}")
    runs = [(name, mode) for name in options.names or there for mode in MODES.get(name, [[]])]
    with ThreadPoolExecutor(max(1, options.jobs)) as pool:
        ended = list(pool.map(lambda one: run(options.folder, *one), runs))
    strict = os.environ.get("VIVA_CI") == "1"
    bad = [one for one in ended if one.code not in (0, *(() if strict else (NOT_INSTALLED,)))]
    for one in bad:
        print(f"\n=== {one.name}\n{one.output}")
    print("\n" + table(["", "s", ""], [[one.name, f"{one.seconds:.0f}", one.status()] for one in ended]))
    return 1 if bad else 0


def scripts(folder: Path) -> list[str]:
    """List the command lines in a folder by name, those that take longest first."""
    found = {
        path.stem
        for path in folder.glob("*.py")
        if not path.stem.endswith("_work")
        and path.name != Path(__file__).name
        and re.search(r"^if __name__ == .__main__.:", path.read_text(encoding="utf-8"), re.MULTILINE)
    }
    return [*(name for name in FIRST if name in found), *sorted(found - set(FIRST))]


def run(folder: Path, name: str, mode: Sequence[str]) -> Ended:
    """Run one script to its end; its output is both streams together."""
    command = [sys.executable, str(folder / f"{name}.py"), "--tiny", *mode]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(
            command,
            env=os.environ | {"PYTHONUNBUFFERED": "1"},  # or what is printed last would stand before what was said
            stdin=subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            start_new_session=True,
        )
        try:
            code = process.wait(TIMEOUT_S)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGTERM)  # they end what they started
            said.write(f"\nno end after {TIMEOUT_S} s\n".encode())
            code = process.wait(30)
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
        said.seek(0)
        output = said.read().decode(errors="replace")
    title = " ".join([name, *mode])
    seconds = time.perf_counter() - start
    print(f"{title}: exit code {code} after {seconds:.0f} s", file=sys.stderr, flush=True)
    return Ended(title, code, seconds, output)


if __name__ == "__main__":
    sys.exit(main())
