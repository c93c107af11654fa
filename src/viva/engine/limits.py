"""How many requests may be in flight, and how soon to try again."""

from __future__ import annotations

import random
from typing import Protocol

from msgspec import Struct

AUTO_START = 8
AUTO_MOST = 512


class Policy(Struct, frozen=True, kw_only=True):
    """Patience, in seconds and attempts.

    `attempt`: limit of one attempt, connection to last byte. `question`: limit of one question with all its retries.
    `attempts`: how often a question is tried. `rereads`: how often an unreadable verdict is asked for again.
    """

    attempt: float = 300.0
    question: float = 1200.0
    attempts: int = 8
    rereads: int = 2
    longest_pause: float = 30.0

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the next try: what the server asked for, else exponential backoff; jitter spreads the herd."""
        backoff = min(self.longest_pause, 0.5 * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        if not retry_after:  # "at once" is what an overloaded server says by mistake: a wrong clock, a rounded second
            return backoff
        return retry_after + random.uniform(0.0, 0.1 * retry_after + 0.05)


class Fixed:
    """A constant number of requests in flight."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def finished(self, seconds: float) -> None:
        """A reply came; nothing changes."""

    def overloaded(self) -> None:
        """The server is overloaded; retries back off, the bound stays as the user set it."""


class Adaptive:
    """Grows while latency holds, halves on overload (additive increase, multiplicative decrease, after a slow start).

    Judged once a window of as many replies as may be in flight: the window's median latency against the best window's.
    """

    def __init__(self, start: int = AUTO_START, most: int = AUTO_MOST) -> None:
        self.limit = start
        self._most = most
        self._doubling = True
        self._window: list[float] = []
        self._best = float("inf")
        self._cooling = 0

    def finished(self, seconds: float) -> None:
        """A reply came after `seconds`."""
        if self._cooling:
            self._cooling -= 1  # replies that were in flight at the last overload say nothing about the new limit
            return
        self._window.append(seconds)
        if len(self._window) < self.limit:
            return
        median = sorted(self._window)[len(self._window) // 2]
        self._window.clear()
        self._best = min(self._best, median)
        if median <= 1.5 * self._best + 0.01:
            step = self.limit if self._doubling else max(1, self.limit // 8)
            self.limit = min(self._most, self.limit + step)
        else:
            self._doubling = False
            if median > 2 * self._best + 0.02:
                self.limit = max(1, self.limit - self.limit // 4)

    def overloaded(self) -> None:
        """The server said 429 or 503."""
        if not self._cooling:
            self.limit = max(1, self.limit // 2)
            self._doubling = False
            self._window.clear()
            self._cooling = self.limit


class Ceiling(Protocol):
    """How many requests may be in flight."""

    @property
    def limit(self) -> int:
        """How many now."""
        ...

    def finished(self, seconds: float) -> None:
        """A reply came after `seconds`."""
        ...

    def overloaded(self) -> None:
        """The server has too much to do."""
        ...


class Pace:
    """At most so many requests a minute, evenly spaced."""

    def __init__(self, per_minute: float | None) -> None:
        self._gap = 60.0 / per_minute if per_minute else 0.0
        self._next = 0.0

    def wait(self, now: float) -> float:
        """Seconds that a request starting now must wait for its turn."""
        if not self._gap:
            return 0.0
        turn = max(now, self._next)
        self._next = turn + self._gap
        return turn - now
