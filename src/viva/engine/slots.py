"""When the next request of a rate limit group may be sent: requests in flight, pace, pauses after refusals."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from viva.engine.limits import Ceiling, Policy
from viva.engine.pacing import Pace
from viva.types import Quota

STORM = 3
"""So many refusals in a row, and at least as many as are in flight, pause the whole group."""
SHARE = 0.3
"""A pause of the group, as a share of the time since the server last answered, where it does not say how long."""
NOTICE = 0.5
"""Seconds after which a waiting request checks again whether it may be sent."""


class Stoppable(Protocol):
    """The run that a group belongs to: whether it was stopped, and a sleep that ends when it is."""

    @property
    def stop(self) -> str:
        """Why it was stopped; empty while it goes on."""
        ...

    async def sleep(self, seconds: float) -> None:
        """Sleep, unless the run is stopped."""
        ...


class _Turn(Struct, eq=False):
    """A request that waits to be sent: since when, and the tokens that it will probably use."""

    since: float
    tokens: float
    granted: asyncio.Future[dict[str, float]]


class Slots:
    """Concurrency slots of one rate limit group. A question that waits for its next attempt holds none."""

    def __init__(self, run: Stoppable, policy: Policy, ceiling: Ceiling, pace: Pace) -> None:
        self._run = run
        self._policy = policy
        self.ceiling = ceiling
        self.pace = pace
        self.using = 0
        self.in_flight = 0
        self.resting = 0
        self.answered = 0
        self.refused = 0
        self._held = 0
        self._returning: deque[asyncio.Future[None]] = deque()
        self._turns: deque[_Turn] = deque()
        self._typical = math.inf
        self._row = 0
        self._open_at = 0.0
        self._storm_since: float | None = None
        self._round = 0
        self._probes = 0
        self._timer: asyncio.Handle | None = None
        self.freed: Callable[[], None] = lambda: None

    @property
    def vacant(self) -> int:
        """How many more questions may begin."""
        return self.ceiling.limit - self.using if self._takes_more else 0

    @property
    def enough(self) -> bool:
        """Whether a worker may keep its slot for the next question."""
        return self.using <= self.ceiling.limit and self._takes_more

    @property
    def _takes_more(self) -> bool:
        """Not while others wait for a place, nor where as many as there are places wait for another try."""
        return not self._returning and self.resting < max(self.ceiling.limit, 2 * STORM)

    def give(self) -> None:
        """Release a slot."""
        self.using -= 1
        self.wake()
        self.freed()

    def wake(self) -> None:
        """Give free slots to waiting questions, those that have waited longest first."""
        while self._returning and self.using < self.ceiling.limit:
            waiting = self._returning.popleft()
            if not waiting.done():
                self.using += 1
                waiting.set_result(None)

    async def rest(self, seconds: float, refused: bool) -> None:
        """Wait before another try. After a refusal the place is free after as long as an answer would have taken."""
        if not refused:
            await self._run.sleep(seconds)
            return
        hold = min(seconds, self._typical)
        self._held += 1
        await self._run.sleep(hold)
        self._held -= 1
        self.resting += 1
        self.give()
        await self._run.sleep(seconds - hold)
        self.resting -= 1
        if self.using < self.ceiling.limit and not self._returning:
            self.using += 1
            return
        waiting = asyncio.get_running_loop().create_future()
        self._returning.append(waiting)
        await waiting

    async def turn(self, tokens: float) -> dict[str, float]:
        """Wait until a request may be sent. Returns what the pace has counted so far."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        pace = self.pace
        if pace.open and self.ceiling.rate is None and self._open_at <= now and not self._storm_since:
            return pace.take(now, now, tokens)
        mine = _Turn(now, tokens, loop.create_future())
        self._turns.append(mine)
        if self._timer is None:
            self._timer = loop.call_soon(self._dispatch)
        try:
            return await mine.granted
        finally:
            if mine in self._turns:  # cancelled
                self._turns.remove(mine)

    def _dispatch(self) -> None:
        """Grant the first turn; where it must wait, the smallest, if that need not.

        By a limit of the user's the pace sees to it that the first has its turn; by what the server says is left, it is
        passed for as long as its own tokens take, and no longer. One at a time, so that what was granted is in flight
        before the next is looked at.
        """
        loop = asyncio.get_running_loop()
        self._timer = None
        if not self._turns:
            return
        now, soonest = loop.time(), NOTICE
        first = self._turns[0]
        turns = [first]
        if now - first.since < self.pace.patience(first.tokens):
            turns.append(min(self._turns, key=lambda one: one.tokens))
        for turn in turns:
            wait = 0.0 if self._run.stop else self._seconds_until(turn, now)
            if wait <= 1e-6:
                self._turns.remove(turn)
                self._probes -= 1
                if not turn.granted.done():
                    turn.granted.set_result(self.pace.take(turn.since, now, turn.tokens, self.ceiling.rate))
                self._timer = loop.call_soon(self._dispatch)
                return
            soonest = min(soonest, wait)
        self._timer = loop.call_later(soonest, self._dispatch)

    def _seconds_until(self, turn: _Turn, now: float) -> float:
        wait = max(self._open_at - now, self.pace.wait(turn.since, now, turn.tokens, self.ceiling.rate))
        if wait <= 1e-6 and self._storm_since is not None:
            return math.inf if self._probes <= 0 and self.in_flight else 0.0
        return wait

    def notice(self) -> None:
        """Wake everything that waits, because a limit or a pause has changed."""
        if self._timer:
            self._timer.cancel()
            self._timer = asyncio.get_running_loop().call_soon(self._dispatch)
        self.wake()
        self.freed()

    def change(self, ceiling: Ceiling) -> None:
        """Replace the bound on concurrency."""
        self.ceiling = ceiling
        self.begin()

    def doing(self) -> str:
        """Describe what bounds the group now, for the progress line."""
        now = asyncio.get_running_loop().time()
        if self._storm_since is not None:
            pause = max(0.0, self._open_at - now)
            return (
                f"{self.ceiling.doing()}; refused since {now - self._storm_since:.0f} s, tries again in {pause:.0f} s"
            )
        return self.ceiling.doing()

    def begin(self) -> None:
        """Start sending."""
        self.ceiling.interrupted(asyncio.get_running_loop().time())

    def reply(self, seconds: float, quotas: tuple[Quota, ...], sent: dict[str, float]) -> None:
        """Record a reply that took `seconds`."""
        now = asyncio.get_running_loop().time()
        self.answered += 1
        self._row = 0
        self._typical = seconds if math.isinf(self._typical) else self._typical + (seconds - self._typical) / 16
        if self._storm_since is not None:
            if now - self._storm_since > 10 * max(1.0, self._typical):  # an outage, not a limit
                self.ceiling.interrupted(now)
            self._storm_since = None
            self._open_at = now
            self.notice()
        self.ceiling.answered(now, seconds, self.in_flight + self._held)
        if quotas:
            self.pace.told(quotas, sent, now)

    def late(self) -> None:
        """Record an attempt that ran into its time limit."""
        self.ceiling.refused(asyncio.get_running_loop().time(), self.in_flight + self._held + 1)

    def refuse(self, started: float, retry_after: float | None) -> str:
        """Record a refusal for overload. Return why nothing more is to be sent at all, or "" to go on."""
        now = asyncio.get_running_loop().time()
        self.refused += 1
        self.late()
        if started < self._open_at:  # sent before the lane was paused
            return ""
        self._row += 1
        storm = self._storm_since is not None
        if self.in_flight if storm else self._row < max(STORM, self.in_flight):
            return ""
        if self._storm_since is None:
            self._storm_since, self._round = now, 0
        self._row = 0
        self._round += 1
        elapsed = now - self._storm_since
        own = min(self._policy.longest_pause, max(0.5, SHARE * elapsed)) * random.uniform(0.5, 1.0)
        calm = max(own, self._policy.pause(1, retry_after) if retry_after else 0.0)
        longest = self._policy.question
        if calm > longest or elapsed > longest:
            self._storm_since, self._open_at = None, now  # nobody need wait any more
            self.notice()
            if calm > longest:
                return f"the server asks to wait {calm:,.0f} s, longer than a question may take"
            return f"the server has refused everything for {elapsed:,.0f} s"
        self._open_at = now + calm
        self._probes = max(1, self.ceiling.limit >> self._round)
        return ""
