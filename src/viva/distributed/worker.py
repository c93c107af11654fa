"""A worker process: pieces in, outcomes out; it ends with its parent, and leaves Ctrl-C to it.

    python -P -c "import sys; sys.path[:] = …; from viva.distributed.worker import serve; serve(FD, PARENT)"

It is started directly, not by multiprocessing, which would run the caller's script again in every worker: so a script
or notebook needs no `if __name__ == "__main__"`.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
import threading
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

from viva.errors import EXIT_INCOMPLETE, VivaError

LOSSES = 3
"""Workers that one piece may cost before it is given up: a piece that needs too much memory would cost them all."""


class LostWorkerError(VivaError):
    """An error: several workers were lost over the same piece."""

    exit_code = EXIT_INCOMPLETE


LOOK = 2000
"""Milliseconds between two checks that the parent still runs."""


def attempt(work: Callable[[Any], object], piece: object) -> bytes:
    """Work on a piece; return its outcome, pickled: (True, result) or (False, exception)."""
    try:
        return pickle.dumps((True, work(piece)), pickle.HIGHEST_PROTOCOL)
    except Exception as problem:
        return failed(problem)


def failed(problem: Exception) -> bytes:
    """Return an exception pickled as an outcome; as words where it cannot be pickled."""
    if not isinstance(problem, VivaError):
        problem.add_note("In a worker:\n" + "".join(traceback.format_exception(problem)))
    try:
        content = pickle.dumps((False, problem), pickle.HIGHEST_PROTOCOL)
        pickle.loads(content)  # noqa: S301 - ours; some exceptions can be pickled and not read again
    except Exception:
        words = RuntimeError(f"{type(problem).__name__}: {problem}")
        for note in getattr(problem, "__notes__", ()):
            words.add_note(note)
        content = pickle.dumps((False, words), pickle.HIGHEST_PROTOCOL)
    return content


def outcome(content: bytes) -> Any:
    """Return the result that `attempt` packed, or raise the exception in it."""
    good, value = pickle.loads(content)  # noqa: S301 - our own
    if good:
        return value
    raise value


class WorkerLoop:
    """A worker's function, made once by the recipe; a recipe that fails fails each piece."""

    def __init__(self, recipe: bytes) -> None:
        self._work: Callable[[Any], object] | None = None
        self.failure = b""
        try:
            self._work = pickle.loads(recipe)()  # noqa: S301 - our own
        except Exception as problem:
            self.failure = failed(problem)

    def report(self) -> object:
        """Return the report of the recipe's function, if it makes one."""
        told: Callable[[], object] | None = getattr(self._work, "report", None)
        return told() if told else None

    def drain(self) -> None:
        """Tell the recipe's function that the run is to end, if it has `drain`."""
        told: Callable[[], object] | None = getattr(self._work, "drain", None)
        if told:
            told()

    def do(self, piece: bytes) -> bytes:
        """Work on one piece; return its outcome, pickled."""
        if self._work is None:
            return self.failure
        try:
            content = pickle.loads(piece)  # noqa: S301 - our own
        except Exception as problem:
            return failed(problem)
        return attempt(self._work, content)


def _end_with(parent: int, descriptor: int) -> None:
    """End the process with its parent, which may be killed without notice."""
    line = select.poll()
    line.register(descriptor, 0)  # only its end
    while not line.poll(LOOK) and os.getppid() == parent:
        pass
    os._exit(1)


def serve(descriptor: int, parent: int) -> None:
    """Work until the connection ends. A message is a recipe (b"r"…) or a piece (b"p"…)."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    threading.Thread(target=_end_with, args=(parent, descriptor), daemon=True).start()
    loop: WorkerLoop | None = None
    with Connection(descriptor) as connection:
        try:
            while True:
                message = connection.recv_bytes()
                if message[:1] == b"r":
                    loop = WorkerLoop(message[1:])
                elif loop is not None:
                    connection.send_bytes(loop.do(message[1:]))
        except (EOFError, ConnectionError):
            os._exit(0)  # threads opened by the recipe may be waiting
