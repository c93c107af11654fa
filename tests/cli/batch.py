"""Many short commands in one process, which takes a start-up otherwise, each in an empty folder or all in one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from servers.fixtures import Ended

DRIVER = """
import contextlib, io, json, os, pathlib, sys, traceback
from viva.cli.main import main

top = os.getcwd()
cases, files, together = json.load(sys.stdin)
for number, arguments in enumerate(cases):
    folder = pathlib.Path(top, "" if together else str(number))
    folder.mkdir(exist_ok=together)
    os.chdir(folder)
    for name, content in files.items():
        pathlib.Path(name).write_bytes(bytes.fromhex(content))
    out, err, code = io.StringIO(), io.StringIO(), 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
    left = sorted(set(os.listdir()) - set(files))
    print(json.dumps([code, out.getvalue(), err.getvalue(), left]), file=sys.__stdout__)
"""


def batch(
    folder: Path,
    cases: Sequence[Sequence[object]],
    files: Mapping[str, bytes] | None = None,
    together: bool = False,
    **environment: str,
) -> list[tuple[Ended, list[str]]]:
    """Return how each command ended, and what it left in its folder, which held `files`, or in that of all."""
    given = json.dumps(
        [[list(map(str, case)) for case in cases], {n: c.hex() for n, c in (files or {}).items()}, together]
    )
    ended = subprocess.run(
        [sys.executable, "-c", DRIVER],
        input=given,
        cwd=folder,
        env={"PATH": os.environ.get("PATH", ""), "HOME": str(folder), "LANG": "C.UTF-8"}
        | {"VIVA_CONFIG": os.environ["VIVA_CONFIG"]}
        | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    found = [json.loads(line) for line in ended.stdout.splitlines()]
    return [(Ended(code, out, err), left) for code, out, err, left in found]
