"""Run the command line in this process: no fork, and other packages are imported once."""

import json
import logging
import os
import sys
import tempfile
import traceback
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest


@dataclass
class Ended:
    """The result of a command: exit code and both streams."""

    code: int
    out: str
    err: str

    def exits(self, code: int = 0, *said: str) -> "Ended":
        """Assert that it ended with this exit code and these words on stderr."""
        assert self.code == code, f"exit code {self.code}, not {code}: {self.err or self.out}"
        for part in said:
            assert part in self.err, f"{part!r} is not in {self.err!r}"
        return self

    @property
    def report(self) -> dict[str, Any]:
        """The report of `--format json`."""
        return json.loads(self.out)

    @property
    def overall(self) -> dict[str, Any]:
        """The overall cell of the report's only result."""
        (result,) = self.report["results"]
        return result["overall"]


def command(folder: Path, *arguments: object, environment: Mapping[str, str] | None = None) -> Ended:
    """Run `viva ARGUMENTS` in a folder, with only the variables of `environment` if given."""
    from viva.cli.main import main

    given = [*map(str, arguments)]
    code: Any = 0
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    root.handlers = []
    root.setLevel(logging.WARNING)
    with pytest.MonkeyPatch.context() as patch, ExitStack() as files:
        if environment is not None:
            for name in os.environ.keys() - environment.keys():
                patch.delenv(name)
            for name, value in environment.items():
                patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["viva", *given])
        patch.setattr(sys, "stdin", files.enter_context(open(os.devnull, encoding="utf-8")))
        streams = [
            files.enter_context(tempfile.TemporaryFile("w+", encoding="utf-8", errors="backslashreplace"))
            for _ in range(2)
        ]
        for name, stream in zip(("stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        try:
            main(given)
        except SystemExit as ended:
            code = ended.code or 0
        except Exception:
            traceback.print_exc()
            code = 1
        finally:
            root.handlers = handlers
            root.setLevel(level)
        for stream in streams:
            stream.seek(0)
        return Ended(code, *(stream.read() for stream in streams))
