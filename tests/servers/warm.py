"""The command line as a process that need not import everything first: forked from an interpreter that has done so.

    python warm.py SOCKET

Prints a line when it listens on SOCKET, to all of pytest-xdist's workers: loading takes four seconds of a processor. It
reads requests, lines of JSON: {"arguments", "folder", "environment", "out", "err"}, perhaps "in", and "module" of
another program. It writes [process, null] when one runs, and [process, code] when it has ended, as
`os.waitstatus_to_exitcode` gives it. Every command is a process with everything that `python -m viva` would have, but
the second that starting costs. It ends with its last connection.
"""

import atexit
import faulthandler
import fcntl
import gc
import importlib
import io
import json
import os
import pkgutil
import runpy
import select
import socket
import sys
import tempfile
import threading
from contextlib import redirect_stdout, suppress
from pathlib import Path
from typing import Any

from compiled import compile_once

import viva
from viva import plugins
from viva.benchmarks import open_exam
from viva.cli.main import main as main_of_viva
from viva.pages.leaderboard.sitepages import _templates
from viva.scorers.choice import read_choice
from viva.scorers.truth import read_truth
from viva.types import ExamSpec

ELSEWHERE = ("__main__", "harness", "encoder", "embedding", "anthropic", "google", "inspect_tasks")
"""What runs when it is imported, belongs into the sandbox, or is too large for those that do without it."""
WAITS = 200.0
"""Seconds after which a command writes to its stderr where it is: shortly before most tests give it up."""
LOADED = (
    "aiohttp", "altair", "genai_prices", "regex", "rich.console", "rich.markdown", "scipy.optimize", "scipy.sparse",
    "scipy.stats",
)  # fmt: skip
"""What is imported only where it is used."""


def load() -> None:
    """All that a command may import, and what is built when a set is first opened, asked, read and scored."""
    for name in LOADED:
        importlib.import_module(name)
    for module in pkgutil.walk_packages(viva.__path__, "viva."):
        if not set(module.name.split(".")) & set(ELSEWHERE):
            importlib.import_module(module.name)
    compile_once()
    for name in (pages := _templates()).list_templates():
        pages.get_template(name)
    read_choice("The answer is B.")
    read_truth("The statement is false.")
    open_exam(ExamSpec(benchmark="infibench", language="en"), None)
    with tempfile.TemporaryDirectory() as folder:
        model = ["--limit", "3", "--model", "baseline/first", "--encoder", "none", "--quiet"]
        run = ["run", "cmmlu", "clrbench", "--run", f"{folder}/run", *model]
        for command in (["check", "cmmlu"], ["check", "csbench"], ["published", "csbench"], run):
            with redirect_stdout(io.StringIO()), suppress(SystemExit):
                main_of_viva(command)  # nothing that uses Polars: its threads do not live through a fork
    assert not any(name.startswith("polars-0") for name in threads()), "a fork of this would wait for ever"


def threads() -> list[str]:
    """The names of this process's threads, also of those that are no Python's."""
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def become(request: dict[str, Any]) -> None:
    """Be that command, in this process: its streams, folder, environment and arguments."""
    os.dup2(os.open(request.get("in", os.devnull), os.O_RDONLY), 0)
    for number, path in ((1, request["out"]), (2, request["err"])):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644), number)
    os.closerange(3, 64)
    faulthandler.dump_traceback_later(WAITS, exit=False)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    paths = filter(None, request["environment"].get("PYTHONPATH", "").split(os.pathsep))
    if new := [path for path in paths if path not in sys.path]:
        sys.path[:0] = new
        plugins.registered.cache_clear()
        plugins.problems.clear()
    module = request.get("module", "viva")
    sys.argv = [module, *request["arguments"]]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        # As Python ends, but for taking everything down that was loaded here: as long as many a command takes.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else ended.code is not None)


def main(place: Path) -> None:
    """Fork for every request, and tell who asked when a command has ended."""
    load()
    gc.freeze()  # or every command would look through all that was loaded when it ends, and copy it by doing so
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    print(flush=True)
    asking: dict[int, socket.socket] = {}
    running: dict[int, tuple[int, socket.socket]] = {}  # by the descriptor that tells a process's end
    while True:
        ready, _, _ = select.select([listener, *asking, *running], [], [])
        for each in ready:
            if each is listener:
                connection, _ = listener.accept()
                asking[connection.fileno()] = connection
            elif each in running:
                child, connection = running.pop(each)
                os.close(each)
                tell(connection, child, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            elif line := asking[each].makefile("rb").readline():  # no other comes before this one was answered
                child = os.fork()
                if not child:
                    become(json.loads(line))
                    return
                os.setpgid(child, child)  # so that it can be ended with all that it starts
                running[os.pidfd_open(child)] = child, asking[each]
                tell(asking[each], child, None)
            else:
                asking.pop(each).close()
                if not asking and ended(place, listener):
                    return


def tell(connection: socket.socket, child: int, code: int | None) -> None:
    """Unless nobody listens any more."""
    with suppress(OSError):
        connection.sendall(json.dumps([child, code]).encode() + b"\n")


def ended(place: Path, listener: socket.socket) -> bool:
    """Listen no more, unless another worker has connected meanwhile, which it does under the same lock."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if select.select([listener], [], [], 0)[0]:
            return False
        place.unlink(missing_ok=True)
        return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
