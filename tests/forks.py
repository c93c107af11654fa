"""Fork many short processes from one interpreter with slow imports done, so that starting costs only once."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from servers.fixtures import Ended

CODE = """
import atexit, gc, json, os, sys, traceback
{before}
gc.freeze()  # or every fork would copy what it looks through
codes = []
for number, arguments in enumerate(json.load(sys.stdin)):
    child = os.fork()
    if not child:
        for stream in (1, 2):
            os.dup2(os.open(f"{{number}}.{{stream}}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), stream)
        sys.argv, code = arguments, 1
        try:
            {each}
            code = 0
        except SystemExit as ended:
            code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
        except BaseException:
            traceback.print_exc()
        # As Python ends, but for taking down what was imported: as long as the rest takes.
        atexit._run_exitfuncs()
        sys.stdout.flush()
        os._exit(code)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(json.dumps(codes))
"""


def forked(before: str, each: str, arguments: Sequence[Sequence[str]], folder: Path) -> list[Ended]:
    """Run `each`, one line of Python, in a fork for every list of arguments (its `sys.argv`), one after another.

    `before` is run once, before the first. What the forks write lies in `folder`, where they run.
    """
    command = [sys.executable, "-c", CODE.format(before=before, each=each)]
    said = subprocess.run(
        command, cwd=folder, input=json.dumps(arguments), stdout=subprocess.PIPE, text=True, check=True, timeout=240
    )
    return [
        Ended(code, *((folder / f"{number}.{stream}").read_text(encoding="utf-8") for stream in (1, 2)))
        for number, code in enumerate(json.loads(said.stdout))
    ]
