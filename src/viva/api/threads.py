"""Run in a separate thread so that notebook event loops keep running and signal handlers are untouched."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import copy_context
from typing import TypeVar

from viva.runs.progress import Caller

T = TypeVar("T")
_LOOK = 0.5
"""Seconds between two looks whether it is done: some systems hear Ctrl-C between two waits only."""


def run_in_thread(work: Callable[[Caller], T]) -> T:
    """What the work returns or raises. Ctrl-C once ends what is in flight, twice drops it, then KeyboardInterrupt.

    Whoever calls waits: from a coroutine, put it into `asyncio.to_thread`.
    """
    caller = Caller()
    found: list[T] = []
    problems: list[BaseException] = []
    done = threading.Event()  # Thread.join, interrupted, takes a thread for dead (CPython issue 90882)

    def working() -> None:
        caller.serve()
        try:
            found.append(work(caller))
        except BaseException as problem:  # whatever it is, it belongs to whoever waits
            problems.append(problem)
        finally:
            done.set()

    threading.Thread(target=copy_context().run, args=(working,), name="viva", daemon=True).start()
    while True:
        try:
            while not done.wait(_LOOK):
                pass
            break
        except KeyboardInterrupt:
            caller.interrupt()
    if problems:
        raise problems[0]
    if caller.interrupted:
        raise KeyboardInterrupt
    return found[0]
