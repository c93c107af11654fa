"""The command line in this process: packages of others, once imported, are not imported again for every command."""

from __future__ import annotations

import contextlib
import io
import sys
import traceback
from pathlib import Path

from servers.fixtures import Ended
from viva.cli.main import main


def command(folder: Path, *arguments: object) -> Ended:
    """How `viva ARGUMENTS` ends in a folder."""
    out, err, code = io.StringIO(), io.StringIO(), 1
    given = [*map(str, arguments)]
    before = sys.argv
    sys.argv = ["viva", *given]
    try:
        with contextlib.chdir(folder), contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                main(given)
            except SystemExit as end:
                code = end.code if isinstance(end.code, int) else 1
            except Exception:
                traceback.print_exc()
    finally:
        sys.argv = before
    return Ended(code, out.getvalue(), err.getvalue())


def grade(folder: Path, benchmark: str, *arguments: object) -> Ended:
    """`viva grade`, as JSON, in the run folder `run`."""
    return command(folder, "grade", benchmark, *arguments, "--format", "json", "--progress", "quiet")
