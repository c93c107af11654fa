"""How many requests may be in flight, and how soon to try again."""

from __future__ import annotations

import random
from typing import Protocol

from msgspec import Struct


class Policy(Struct, frozen=True, kw_only=True):
    """Patience, in seconds and attempts.

    `attempt`: limit of one attempt, connection to last byte. `question`: limit of one question with all its retries.
    `attempts`: how often a question is tried. `rereads`: how often an unreadable verdict is asked for again.
    `server`: how long a server is waited for that has not replied to anything yet.
    """

    attempt: float = 300.0
    question: float = 1200.0
    attempts: int = 8
    rereads: int = 2
    server: float = 1.5
    longest_pause: float = 30.0

    def pause(self, attempt: int, retry_after: float | None) -> float:
        """Seconds before the next try: what the server asked for, else exponential backoff; jitter spreads the herd."""
        backoff = min(self.longest_pause, 0.5 * 2.0 ** (attempt - 1)) * random.uniform(0.5, 1.0)
        if not retry_after:  # "at once" is what an overloaded server says by mistake: a wrong clock, a rounded second
            return backoff
        return retry_after + random.uniform(0.0, 0.1 * retry_after + 0.05)


class Ceiling(Protocol):
    """How many requests may be in flight. Times are seconds of a monotonic clock that the caller reads."""

    @property
    def limit(self) -> int:
        """How many now."""
        ...

    @property
    def rate(self) -> float | None:
        """Requests a second that the server was found to admit; None where only `limit` binds."""
        ...

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """A reply came after `seconds`; `busy` requests were in flight, this one included."""
        ...

    def refused(self, now: float, busy: int) -> None:
        """The server said that it has too much to do, or did not answer in time."""
        ...

    def interrupted(self, now: float) -> None:
        """Nothing was sent for a while: what is being measured says nothing."""
        ...

    def doing(self) -> str:
        """What it is doing, in a few words."""
        ...


class Fixed:
    """A constant number of requests in flight: refusals make questions wait, the bound stays as the user set it."""

    rate = None

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """Change nothing."""

    def refused(self, now: float, busy: int) -> None:
        """Change nothing."""

    def interrupted(self, now: float) -> None:
        """Change nothing."""

    def doing(self) -> str:
        """As the user said."""
        return "fixed"
