"""Many short commands in one process: `python driver.py GIVEN.json`, which `given` of cli/batch.py writes."""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import traceback
from pathlib import Path

from viva.cli.main import main


def run(arguments: list[str]) -> tuple[object, str, str]:
    """Return the exit code of a command, and what it wrote to both streams."""
    out, err, code = io.StringIO(), io.StringIO(), 1
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(arguments)
        except SystemExit as end:
            code = end.code
        except BaseException:
            traceback.print_exc()
    return code, out.getvalue(), err.getvalue()


if __name__ == "__main__":
    cases, files, together = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    top = Path.cwd()
    for number, arguments in enumerate(cases):
        folder = top if together else top / str(number)
        folder.mkdir(exist_ok=together)
        os.chdir(folder)
        for name, content in files.items():
            Path(name).write_bytes(bytes.fromhex(content))
        print(json.dumps([*run(arguments), sorted(set(os.listdir()) - set(files))]))
