"""When the next request of a rate limit group may be sent: requests in flight, pace, pauses after refusals."""

from __future__ import annotations

import asyncio
import math
import random
from collections import deque
from collections.abc import Callable, Iterable
from typing import Protocol

from msgspec import Struct

from viva.contracts import Unmoved
from viva.types import Quota

STORM = 3
"""Refusals in a row, if also as many as requests in flight, that pause the whole group."""
SHARE = 0.3
"""Length of a group's pause, as a share of the time since the last answer, where the server names none."""
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
        """Return the seconds before the next try: the server's `retry_after`, else exponential backoff, with jitter."""
        backoff = min(self.longest_pause, 0.5 * 2.0 ** min(attempt - 1, 60)) * random.uniform(0.5, 1.0)
        if not retry_after:  # an overloaded server says 0 by mistake: a wrong clock, a rounded second
            return backoff
        return retry_after + random.uniform(0.0, 0.1 * retry_after + 0.05)


class Ceiling(Protocol):
    """How many requests may be in flight. Times are seconds of a monotonic clock that the caller reads."""

    @property
    def limit(self) -> int:
        """The bound now."""
        ...

    @property
    def rate(self) -> float | None:
        """Requests a second that the server was found to admit; None where only `limit` binds."""
        ...

    def answered(self, now: float, seconds: float, busy: int) -> None:
        """Record a reply after `seconds`; `busy` requests were in flight, this one included."""
        ...

    def refused(self, now: float, busy: int) -> None:
        """Record that the server refused for overload, or did not answer in time."""
        ...

    def interrupted(self, now: float) -> None:
        """Discard the measurement in progress, because nothing was sent for a while."""
        ...

    def doing(self) -> str:
        """Describe its state in a few words."""
        ...


class Fixed(Unmoved):
    """A constant number of requests in flight: refusals make questions wait, the bound stays as the user set it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit

    def doing(self) -> str:
        """Return "fixed", the user's choice."""
        return "fixed"


class _Turn(Struct, eq=False):
    """A request that waits to be sent: its start of waiting, and an estimate of its tokens."""

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
        """Whether a new question may start: none waits for a slot, and few wait for another try."""
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
        """Wait before another try. After a refusal the slot is freed only once an answer would have come."""
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
        """Grant the first turn; if it must wait, the smallest one that need not.

        Under a user's limit the pace guarantees the first its turn; under a server's quota smaller ones may pass it for
        as long as its own tokens take. Turns are granted one at a time, so that each is in flight before the next is
        decided.
        """
        loop = asyncio.get_running_loop()
        self._timer = None
        if not self._turns:
            return
        now, soonest = loop.time(), NOTICE
        first = self._turns[0]
        turns = [first]
        if now - first.since < self.pace.patience(first.tokens):
            turns.append(min(self._turns, key=lambda waiting: waiting.tokens))
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
        if started < self._open_at:  # sent before the group was paused
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
            self._storm_since, self._open_at = None, now  # nothing waits for it any more
            self.notice()
            if calm > longest:
                return f"the server asks to wait {retry_after or calm:,.0f} s, longer than a question may take"
            return f"the server has refused everything for {elapsed:,.0f} s"
        self._open_at = now + calm
        self._probes = max(1, self.ceiling.limit >> self._round)
        return ""


LATE = 0.05
"""Seconds of missed turns that may be caught up."""
LONGEST_WAIT = 30.0
"""Longest wait in seconds that a header can cause at a time."""
BELIEVED = 2
"""Observations that confirm the meaning of a limit's headers; after these the limit is kept before it is hit."""


class Pace:
    """A limit of requests and tokens a minute, evenly spaced, and of the quotas that the server reports."""

    def __init__(self, per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self.per_minute = per_minute
        self.tokens_per_minute = tokens_per_minute
        self._next = {"requests": 0.0, "tokens": 0.0, "rate": 0.0}
        self._ahead = (0.0, 0.0)
        """Seconds that the last request's tokens were ahead of the limit when it was sent, and the time of that."""
        self._share = 1.0
        self._sent = {"requests": 0.0, "tokens": 0.0}
        self._stocks: dict[str, _Stock] = {}

    @property
    def open(self) -> bool:
        """Whether no limit can make a request wait."""
        return not (self.per_minute or self.tokens_per_minute or self._stocks)

    @property
    def counts_tokens(self) -> bool:
        """Whether any limit counts tokens."""
        return bool(self.tokens_per_minute) or any(not name.startswith("requests") for name in self._stocks)

    def estimate(self, most: int) -> float:
        """Estimate the tokens billed for a request that may use `most`, from earlier requests."""
        return max(1.0, most * self._share)

    def patience(self, tokens: float) -> float:
        """Return the seconds for which smaller requests may pass one: as long as its tokens take under a server's
        limit; infinite under the user's, of which half stays for it.
        """
        limits = [stock.limit for stock in self._stocks.values() if stock.unit == "tokens" and stock.limit]
        return max((60.0 * tokens / limit for limit in limits), default=math.inf if self.tokens_per_minute else 0.0)

    def wait(self, since: float, now: float, tokens: float, rate: float | None = None) -> float:
        """Return the seconds until a request waiting since `since` may start; 0.0 for now. Takes nothing.

        Tokens are paid for after they were sent. While those of a large request are, half of the limit is left to
        requests that are small enough to fit in: never is more ahead of the limit than the large one was alone.
        """
        turns = [self._turn(name, since, now) for name, _ in self._costs(tokens, rate) if name != "tokens"]
        if self.tokens_per_minute:
            owed, own = self._next["tokens"] - now, 60.0 * tokens / self.tokens_per_minute
            allowed = self._ahead[0] - (now - self._ahead[1]) / 2
            earlier = 2 * (owed + own - allowed)
            turns.append(now + (min(owed, earlier) if earlier <= 2 * allowed else owed))
        held = [
            min(LONGEST_WAIT, stock.wait(now, self._sent[stock.unit], 1.0 if stock.unit == "requests" else tokens))
            for stock in self._stocks.values()
        ]
        return max([0.0, *(turn - now for turn in turns), *held])

    def take(self, since: float, now: float, tokens: float, rate: float | None = None) -> dict[str, float]:
        """Record that a request starts now; return what was sent in all, itself included, for `told`."""
        for name, seconds in self._costs(tokens, rate):
            if name == "tokens" and self._next[name] <= now:
                self._ahead = (seconds, now)
            self._next[name] = self._turn(name, since, now) + seconds
        self._sent["requests"] += 1.0
        self._sent["tokens"] += tokens
        return dict(self._sent) if self._stocks else self._sent

    def _turn(self, name: str, since: float, now: float) -> float:
        return max(since, self._next[name], now - LATE)

    def _costs(self, tokens: float, rate: float | None) -> Iterable[tuple[str, float]]:
        if self.per_minute:
            yield "requests", 60.0 / self.per_minute
        if self.tokens_per_minute:
            yield "tokens", 60.0 * tokens / self.tokens_per_minute
        if rate:
            yield "rate", 1.0 / rate

    def settle(self, taken: float, most: int, used: int) -> None:
        """Correct the count for a request: `taken` tokens were assumed, of at most `most`, and `used` were used."""
        if self.tokens_per_minute:
            less = 60.0 * (taken - used) / self.tokens_per_minute
            self._next["tokens"] -= less
            self._ahead = (max(0.0, self._ahead[0] - max(0.0, less)), self._ahead[1])
        self._share += 0.1 * (min(2.0, used / max(1, most)) - self._share)

    def told(self, quotas: Iterable[Quota], sent: dict[str, float], now: float) -> None:
        """Take in the quotas in the reply to a request, at whose start `take` returned `sent`."""
        for quota in quotas:
            unit = "requests" if quota.what == "requests" else "tokens"
            stock = self._stocks.get(quota.what)
            if stock is None:
                self._stocks[quota.what] = stock = _Stock(unit)
                sent = {**self._sent}
            stock.observe(quota, sent[unit], now)

    def doing(self) -> str:
        """Return the limits that bind, in words; empty where there is none."""
        limits = [f"{self.per_minute:g} requests a minute"] if self.per_minute else []
        limits += [f"{self.tokens_per_minute:g} tokens a minute"] if self.tokens_per_minute else []
        return ", ".join([*limits, *(f"{name}: {stock.doing()}" for name, stock in self._stocks.items())])


class _Stock:
    """The remainder of one server limit. Headers do not say how it refills, so that is inferred first.

    A bucket fills steadily: the missing amount and the seconds until full are proportional. A window ends at one
    moment, which stays while the remainder falls. Until one of the two is confirmed, no request waits.
    """

    def __init__(self, unit: str) -> None:
        self.unit = unit
        self.limit = 0.0
        self._left = 0.0
        self._at = self._sent = 0.0
        self._rate = 0.0
        self._ends = 0.0
        self._missing = self._since = 0.0
        self._signs = {"bucket": 0, "window": 0}

    def observe(self, quota: Quota, sent: float, now: float) -> None:
        """Take in a reply's quota; `sent`: the total sent when its request started."""
        if sent < self._sent:
            return  # overtaken by the reply to a later request
        missing = quota.limit - quota.remaining
        self.limit, self._left, self._at, self._sent = quota.limit, quota.remaining, now, sent
        ends = now + quota.reset
        if missing <= 0 or quota.reset <= 0:
            return
        rate = missing / quota.reset
        # In a window the rate would have changed with the missing amount, or with the time passed.
        telling = self._missing and (
            not 0.67 < missing / self._missing < 1.5 or now - self._since > 0.33 * (self._ends - self._since)
        )
        if telling:
            steady = 0.8 < rate / self._rate < 1.25
            fixed = missing >= self._missing and abs(ends - self._ends) < 1.1
            for name, sign in (("bucket", steady), ("window", fixed and not steady)):
                self._signs[name] = min(2 * BELIEVED, self._signs[name] + 1) if sign else 0
        if not self._missing or telling or (ends > self._ends + 1.1 and self._signs["window"]):  # the next window
            self._missing, self._ends, self._since, self._rate = missing, ends, now, rate

    def wait(self, now: float, sent: float, cost: float) -> float:
        """Return the seconds until `cost` is left."""
        left = self._left - (sent - self._sent)
        if self._signs["bucket"] >= BELIEVED:
            left = min(self.limit, left + self._rate * (now - self._at))
            return max(0.0, (min(cost, self.limit) - left) / self._rate)
        if self._signs["window"] >= BELIEVED and now < self._ends:
            return self._ends - now if left < min(cost, self.limit) else 0.0
        return 0.0

    def doing(self) -> str:
        """Return `42 of 500 left`."""
        return f"{self._left:g} of {self.limit:g} left by the server's headers"
