"""Commands as processes of their own that begin with torch imported: forked from one that has done nothing else.

A cold start takes seconds, most of a short command. What is forked can be killed and limited like any process.
"""

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable
from multiprocessing import forkserver
from pathlib import Path
from typing import Any

import pytest

READY = [
    "viva.cli.main",
    "viva.cli.ask.run",
    "viva.runs.execute",
    "torch",
    "transformers.models.auto.modeling_auto",
    "transformers.models.auto.tokenization_auto",
    "transformers.models.llama.modeling_llama",
]
ALLOCATION = {"OMP_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "1", "MALLOC_MMAP_THRESHOLD_": "65536"}
"""One thread, since a pool of them does not live through a fork; and memory that is given back at once, so that a
limit on it means what it says."""


class Forked:
    """A process on its way. Its output goes to files in its folder."""

    def __init__(self, folder: Path, work: Callable[..., None], *arguments: Any) -> None:
        self._err = folder / "stderr"
        context = multiprocessing.get_context("forkserver")
        self.process = context.Process(target=_begin, args=(folder, work, arguments), daemon=True)
        self.process.start()

    @property
    def lives(self) -> bool:
        return self.process.is_alive()

    def signal(self, number: signal.Signals) -> None:
        assert self.process.pid is not None
        os.kill(self.process.pid, number)

    def ended(self, timeout: float = 240) -> tuple[int | None, str]:
        """Wait for the end: exit code (negative: a signal) and what it said."""
        self.process.join(timeout)
        if self.lives:
            self.process.kill()
            raise AssertionError(f"still running after {timeout} s: {self.said()[-2000:]}")
        return self.process.exitcode, self.said()

    def said(self) -> str:
        """What it wrote to stderr so far."""
        return self._err.read_text(encoding="utf-8") if self._err.exists() else ""


def _begin(folder: Path, work: Callable[..., None], arguments: tuple[Any, ...]) -> None:
    os.chdir(folder)
    for stream, name in ((1, "stdout"), (2, "stderr")):
        file = os.open(folder / name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(file, stream)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", buffering=1)
    work(*arguments)


def command(*arguments: str) -> None:
    """`viva`, as a process's work."""
    from viva.cli.main import main

    main(list(arguments))


@pytest.fixture(scope="session")
def server() -> None:
    """The process that is forked, started."""
    before = {name: os.environ.get(name) for name in ALLOCATION}
    os.environ.update(ALLOCATION)
    try:
        multiprocessing.get_context("forkserver").set_forkserver_preload(READY)
        forkserver.ensure_running()
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
