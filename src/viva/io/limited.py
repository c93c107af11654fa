"""A process that evaluates untrusted templates and patterns, with limits of time and memory.

It reads a line of JSON and answers with one. Exceeding a limit ends that process only; the next request starts another.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

MEMORY = 1 << 30
"""Bytes of memory allowed beyond what the process needs at its start."""


class LimitedProcess:
    """The process of a module that calls `serve`, started at the first request, and again after it has ended."""

    def __init__(self, module: str) -> None:
        self._module = module
        self._process: subprocess.Popen[bytes] | None = None
        self._owner = 0
        self._lock = threading.Lock()
        atexit.register(self.close)

    def ask(self, request: object) -> Any:
        """Return the answer to a request; None where the process ended instead."""
        with self._lock:
            answer = self._line(json.dumps(request, default=str).encode())
        return json.loads(answer) if answer else None

    def _line(self, request: bytes) -> bytes:
        if self._process is None or self._owner != os.getpid():  # after a fork, the process belongs to the parent
            command = [sys.executable, "-m", self._module]
            quiet = subprocess.DEVNULL
            self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=quiet)  # noqa: S603
            self._owner = os.getpid()
        reading, writing = self._process.stdout, self._process.stdin
        assert reading is not None
        assert writing is not None
        answer = b""
        with contextlib.suppress(BrokenPipeError):
            writing.write(request + b"\n")
            writing.flush()
            answer = reading.readline(MEMORY)
        if not answer.endswith(b"\n"):
            self.close()
            return b""
        return answer

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None or self._owner != os.getpid():
            return
        process.kill()
        process.communicate()


def serve(answer: Callable[[Any], object], seconds: float, *, sealed: bool = False) -> None:
    """Answer requests on standard input, line by line, until it ends; each may take `seconds` of CPU time. An exception
    becomes {"error": ...}.

    `sealed`: it can open and write no file, so that everything needed must be imported before.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(FileNotFoundError):  # without /proc there is no such limit either
        used = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, used + MEMORY))
    if sealed:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
    for line in sys.stdin.buffer:
        signal.setitimer(signal.ITIMER_PROF, seconds)  # its signal ends the process at any point
        try:
            answered = json.dumps(answer(json.loads(line)))
        except Exception as problem:  # a template is a program, and may raise anything
            answered = json.dumps({"error": f"{type(problem).__name__}: {problem}"[:1000]})
        signal.setitimer(signal.ITIMER_PROF, 0)
        sys.stdout.buffer.write(answered.encode() + b"\n")
        sys.stdout.buffer.flush()
