"""Many commands in one process: `python driver.py CASES.json`, a list of lists of arguments; prints how each ended."""

import contextlib
import io
import json
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
    for arguments in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        print(json.dumps(run(arguments)))
