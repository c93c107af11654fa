"""Programs run without isolation: the same compilers and interpreters, called directly in a temporary folder.

Nothing holds such a program. Give it only what is known to be harmless.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
from contextlib import suppress
from importlib.resources import files
from pathlib import Path
from typing import Self

from viva.sandbox.languagetables import Language, languages, package_folder
from viva.sandbox.prepared import prepared

HERE = Path(__file__).parent
TIMEOUT_S = 60
WARM_IMPORTS = ("numpy", "pandas", "requests", "openpyxl", "xlsxwriter")


class Plain:
    """Runs programs below `folder`, each in a folder of its own: write, compile, run, delete."""

    def __init__(self, folder: Path) -> None:
        self._runs = folder / "runs"
        self._harness = folder / "harness"
        self._cache = folder / "cache"  # of compilers that keep one: it stays warm, as a user's would
        self._runs.mkdir()
        shutil.copytree(str(files("viva.sandbox") / "harness"), self._harness)

    def run(self, language: str, source: str) -> bool:
        """Whether compiling and running it ended with status 0. The commands are those of the sandbox's table."""
        row = languages()[language]
        box = Path(tempfile.mkdtemp(dir=self._runs))
        for name, made in (prepared(row.shared.prepared).archives if row.shared.prepared else {}).items():
            if not (self._harness / name).exists():  # compiled once for all programs, as the sandbox has it
                (self._harness / name).write_bytes(Path(f"/proc/self/fd/{made}").read_bytes())
        try:
            (box / row.file).write_text(source, encoding="utf-8")
            environment = self._environment(row, box)
            commands = [command for command in (row.published.compile, row.published.run) if command]
            return all(_ends_well([self._here(word) for word in one], box, environment) for one in commands)
        finally:
            shutil.rmtree(box, ignore_errors=True)

    def _here(self, word: str) -> str:
        return word.replace("/viva/", f"{self._harness}/").replace("{packages}", str(package_folder()))

    def _environment(self, row: Language, box: Path) -> dict[str, str]:
        places = {"/tmp/cache": str(self._cache), "/tmp/go": str(box / "go")}
        own = {name: self._here(places.get(value, value)) for name, value in row.environment.items()}
        return {"PATH": "/usr/bin:/bin", "HOME": str(box), "TMPDIR": str(box), "LANG": "C.UTF-8"} | own


def _ends_well(command: list[str], box: Path, environment: dict[str, str]) -> bool:
    null = subprocess.DEVNULL
    process = subprocess.Popen(
        command, cwd=box, env=environment, stdin=null, stdout=null, stderr=null, start_new_session=True
    )
    ended = os.pidfd_open(process.pid)
    try:
        # Not wait() with a timeout: that looks every 50 ms only.
        if not select.select([ended], [], [], TIMEOUT_S)[0]:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        return process.wait() == 0
    finally:
        os.close(ended)


class Bare:
    """One Python that has everything imported and runs program after program in itself (plain_work.py)."""

    def __init__(self, folder: Path) -> None:
        row = languages()["python"]
        own = {name: value.replace("{packages}", str(package_folder())) for name, value in row.environment.items()}
        imports = [*WARM_IMPORTS, *row.warm, *row.libraries]
        self._process = subprocess.Popen(
            ["/usr/bin/python3", "-B", str(HERE / "plain_work.py"), json.dumps(imports)],
            cwd=folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(folder)} | own,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()

    def run(self, source: str) -> float | None:
        """The CPU seconds of compiling and running it; None where it raised."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(json.dumps(source) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        return json.loads(line) if line else None
