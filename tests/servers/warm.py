"""Run commands as processes forked from an interpreter that has imported everything.

    python warm.py SOCKET

Prints a line when it listens on SOCKET, to all of pytest-xdist's workers: loading takes four seconds of a processor. It
reads requests, lines of JSON: {"arguments", "folder", "environment", "out", "err"}, perhaps "in", and "module" of
another program. It writes [process, null] when one runs, and [process, code] when it has ended, as
`os.waitstatus_to_exitcode` gives it. Every command is a process like `python -m viva`, without the
second that starting costs. The interpreter ends with its last connection.
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
"""Modules not preloaded: they run on import, belong into the sandbox, or are too large."""
WAITS = 200.0
"""Seconds after which a command dumps its stack to stderr: shortly before most tests give up."""
LOADED = (
    "aiohttp", "altair", "genai_prices", "regex", "rich.console", "rich.markdown", "scipy.optimize", "scipy.sparse",
    "scipy.stats",
)  # fmt: skip
"""Modules that are otherwise imported on first use."""


def load() -> None:
    """Import all that a command may use, and build what opening, asking, reading and scoring a set first builds."""
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
                main_of_viva(command)  # nothing that uses Polars, whose threads do not survive a fork
    assert not any(name.startswith("polars-0") for name in threads()), "a fork of this would wait for ever"


def threads() -> list[str]:
    """Return the names of this process's threads, including those not started by Python."""
    return [path.read_text().strip() for path in Path("/proc/self/task").glob("*/comm")]


def become(request: dict[str, Any]) -> None:
    """Run the requested command in this process, with its streams, folder, environment and arguments."""
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
        # Exit like Python, but without unloading everything, which takes as long as many a command.
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(ended.code if isinstance(ended.code, int) else ended.code is not None)


def main(place: Path) -> None:
    """Fork for every request, and report to its connection when the command has ended."""
    load()
    gc.freeze()  # else every command would traverse, and so copy, all loaded objects when it ends
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    print(flush=True)
    asking: dict[int, socket.socket] = {}
    running: dict[int, tuple[int, socket.socket]] = {}  # keyed by the descriptor that signals a process's end
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
            elif line := asking[each].makefile("rb").readline():  # the next comes only after the reply
                child = os.fork()
                if not child:
                    become(json.loads(line))
                    return
                os.setpgid(child, child)  # so that it can be killed with its children
                running[os.pidfd_open(child)] = child, asking[each]
                tell(asking[each], child, None)
            else:
                asking.pop(each).close()
                if not asking and ended(place, listener):
                    return


def tell(connection: socket.socket, child: int, code: int | None) -> None:
    """Send a process's state, unless the connection is closed."""
    with suppress(OSError):
        connection.sendall(json.dumps([child, code]).encode() + b"\n")


def ended(place: Path, listener: socket.socket) -> bool:
    """Stop listening, unless another worker has connected meanwhile (under the same lock)."""
    with place.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if select.select([listener], [], [], 0)[0]:
            return False
        place.unlink(missing_ok=True)
        return True


if __name__ == "__main__":
    main(Path(sys.argv[1]))
