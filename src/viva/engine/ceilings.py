"""How many requests may be in flight, and how soon to try again."""

from __future__ import annotations

import random
from typing import Annotated, Protocol

from msgspec import Meta, Struct

from viva.fields import note

Positive = Annotated[int, Meta(ge=1)]
Timeout = Annotated[float, Meta(ge=0.1), note("Seconds for one attempt.")]
MaxAttempts = Annotated[int, Meta(ge=1), note("Tries for each question.")]
MaxRequests = Annotated[Positive | None, note("Stop after so many requests, retries and judge included.")]
MaxCost = Annotated[Annotated[float, Meta(gt=0)] | None, note("Never spend more US dollars than this.")]


class PaceOptions(Struct, frozen=True, kw_only=True):
    """How many requests at once, and in a minute."""

    concurrency: Annotated[
        tuple[str, ...],
        note(
            "Requests in flight per endpoint: a number, `auto`, or for one provider `openai=64`.  [default: auto]",
            metavar="N|auto",
        ),
    ] = ()
    requests_per_minute: Annotated[tuple[str, ...], note("Pace; for one provider `openai=500`.", metavar="N|none")] = ()
    tokens_per_minute: Annotated[
        tuple[str, ...],
        note(
            "The same in tokens, prompt and reply: estimated, then as the server counts them.",
            metavar="N|none",
        ),
    ] = ()


class RunLimits(PaceOptions, frozen=True, kw_only=True):
    """What belongs to a run: kept in run.json, and inherited by whoever goes on with it. Caps count its whole life."""

    timeout: Timeout = 300.0
    question_timeout: Annotated[float, Meta(ge=0.1), note("Seconds for one question with all its retries.")] = 1200.0
    max_attempts: MaxAttempts = 8
    wait_for_server: Annotated[
        float,
        Meta(ge=0),
        note(
            "Wait so long for a server that does not listen yet, such as one that loads its model.",
            metavar="SECONDS",
        ),
    ] = 0.0
    max_requests: MaxRequests = None
    max_cost: MaxCost = None
    batch: Annotated[
        bool | None,
        note(
            "Ask through the provider's batch API (OpenAI, Anthropic): half the price; answers can take hours. "
            "A resumed run goes on in this way; --no-batch cancels its open batches.",
            spelled=("--batch/--no-batch",),
        ),
    ] = None


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
