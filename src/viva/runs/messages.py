"""The program embedding Viva: receives messages instead of stderr and can request a stop.

A program that uses Viva as a library has a screen, signals and an event loop of its own; nothing here touches them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from viva.runs.progress import say

_CALLER: ContextVar[Caller | None] = ContextVar("host", default=None)


class Caller:
    """One such program, for as long as a run takes. `interrupt` may come from any thread."""

    def __init__(self) -> None:
        self.messages: list[str] = []
        """What a terminal would have shown, a sentence each."""
        self.interrupted = False
        self._stop: Callable[[], object] = lambda: None

    def serve(self) -> None:
        """From here on, this thread (and what it awaits) works for this host."""
        _CALLER.set(self)

    def interrupt(self) -> None:
        """As Ctrl-C: once, what is in flight ends; twice, it is dropped."""
        self.interrupted = True
        with contextlib.suppress(RuntimeError):  # that loop is closed: its stage is over
            self._stop()

    def listen(self, interrupt: Callable[[], None]) -> None:
        """A stage has begun in the running loop; `interrupt` is how to stop it."""
        loop = asyncio.get_running_loop()
        self._stop = lambda: loop.call_soon_threadsafe(interrupt)
        if self.interrupted:
            loop.call_soon(interrupt)


def caller() -> Caller | None:
    """Whom this thread works for; None for a terminal."""
    return _CALLER.get()


_LAST: ContextVar[list[str] | None] = ContextVar("last", default=None)
"""Sentences that wait until all else is printed."""


@contextlib.contextmanager
def conclusions_last() -> Iterator[list[str]]:
    """Keep what is `concluded` to the end of the block: what to do next is the last line, with nothing after it."""
    waiting: list[str] = []
    token = _LAST.set(waiting)
    try:
        yield waiting
    finally:
        _LAST.reset(token)
        for sentence in waiting:
            notify(sentence)


def conclude(sentence: str) -> None:
    """Say how something ended, and what to do about it: after everything else, where the command waits for that."""
    waiting = _LAST.get()
    if waiting is None or _CALLER.get() is not None:
        notify(sentence)
    else:
        waiting.append(sentence)


def notify(sentence: str) -> None:
    """Say something that belongs to no table: on stderr, or to the host."""
    told = _CALLER.get()
    if told is not None:
        told.messages.append(sentence)
    else:
        say(f"viva: {sentence}")
