"""When the next request may start: limits a minute, the rate that a server admits, and what its headers leave over.

All in seconds of a monotonic clock that the caller reads, and tokens as they are estimated before a request is sent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from viva.types import Quota

LATE = 0.05
"""Seconds by which turns that were missed may be caught up."""
LONGEST_WAIT = 30.0
"""Seconds that a header can keep requests back at a time."""
BELIEVED = 2
"""So many signs that a limit's headers mean what they are taken for, and it is kept to before it is hit."""


class Pace:
    """At most so many requests and tokens a minute, evenly spaced; and no more than the server says is left."""

    def __init__(self, per_minute: float | None = None, tokens_per_minute: float | None = None) -> None:
        self.per_minute = per_minute
        self.tokens_per_minute = tokens_per_minute
        self._next = {"requests": 0.0, "tokens": 0.0, "rate": 0.0}
        self._ahead = (0.0, 0.0)
        """Seconds that the last request's tokens were ahead of the limit, when it was sent, and that moment."""
        self._share = 1.0
        self._sent = {"requests": 0.0, "tokens": 0.0}
        self._stocks: dict[str, _Stock] = {}

    @property
    def open(self) -> bool:
        """Whether nothing here makes anybody wait."""
        return not (self.per_minute or self.tokens_per_minute or self._stocks)

    @property
    def counts_tokens(self) -> bool:
        """Whether the size of a request matters."""
        return bool(self.tokens_per_minute) or any(not name.startswith("requests") for name in self._stocks)

    def estimate(self, most: int) -> float:
        """Tokens that a request will be billed which may use `most`, by those before it."""
        return max(1.0, most * self._share)

    def patience(self, tokens: float) -> float:
        """Seconds for which a request may be passed by smaller ones: what its tokens take, where headers say the limit;
        for ever where the user does, whose limit leaves it a half."""
        limits = [stock.limit for stock in self._stocks.values() if stock.unit == "tokens" and stock.limit]
        return max((60.0 * tokens / limit for limit in limits), default=math.inf if self.tokens_per_minute else 0.0)

    def wait(self, since: float, now: float, tokens: float, rate: float | None = None) -> float:
        """Seconds until a request that has been waiting since `since` may start; 0.0 for now. Takes nothing.

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
        """A request starts now. Returns what had been sent in all, itself included, for `told`."""
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
        """A request for which `taken` tokens were set aside, and which might have used `most`, used so many."""
        if self.tokens_per_minute:
            less = 60.0 * (taken - used) / self.tokens_per_minute
            self._next["tokens"] -= less
            self._ahead = (max(0.0, self._ahead[0] - max(0.0, less)), self._ahead[1])
        self._share += 0.1 * (min(2.0, used / max(1, most)) - self._share)

    def told(self, quotas: Iterable[Quota], sent: dict[str, float], now: float) -> None:
        """What a server says is left, in the reply to a request at whose start `sent` was returned."""
        for quota in quotas:
            unit = "requests" if quota.what == "requests" else "tokens"
            stock = self._stocks.get(quota.what)
            if stock is None:
                self._stocks[quota.what] = stock = _Stock(unit)
                sent = {**self._sent}
            stock.observe(quota, sent[unit], now)

    def doing(self) -> str:
        """The limits that bind, in words; empty where there is none."""
        said = [f"{self.per_minute:g} requests a minute"] if self.per_minute else []
        said += [f"{self.tokens_per_minute:g} tokens a minute"] if self.tokens_per_minute else []
        return ", ".join([*said, *(f"{name}: {stock.doing()}" for name, stock in self._stocks.items())])


class _Stock:
    """What is left of one limit. Headers do not say how it comes back, so that is found out first.

    A bucket fills steadily: what is missing and the seconds until nothing is are proportional. A window ends at one
    moment: that moment stays while what is left falls. Until one of the two has shown itself, nobody is kept waiting.
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
        """What a reply says; `sent`: all that had been sent when its request was."""
        if sent < self._sent:
            return  # overtaken by the reply to a later request
        missing = quota.limit - quota.remaining
        self.limit, self._left, self._at, self._sent = quota.limit, quota.remaining, now, sent
        ends = now + quota.reset
        if missing <= 0 or quota.reset <= 0:
            return
        rate = missing / quota.reset
        # In a window the rate would have risen with what is missing, or with the time that has passed.
        telling = self._missing and (
            not 0.67 < missing / self._missing < 1.5 or now - self._since > 0.33 * (self._ends - self._since)
        )
        if not self._missing:
            self._missing, self._rate, self._ends, self._since = missing, rate, ends, now
        elif telling:
            steady = 0.8 < rate / self._rate < 1.25
            fixed = missing >= self._missing and abs(ends - self._ends) < 1.1
            for name, sign in (("bucket", steady), ("window", fixed and not steady)):
                self._signs[name] = min(2 * BELIEVED, self._signs[name] + 1) if sign else 0
            self._missing, self._ends, self._since, self._rate = missing, ends, now, rate
        elif ends > self._ends + 1.1 and self._signs["window"]:
            self._missing, self._ends, self._since, self._rate = missing, ends, now, rate  # the next window

    def wait(self, now: float, sent: float, cost: float) -> float:
        """Seconds until so much is left again."""
        left = self._left - (sent - self._sent)
        if self._signs["bucket"] >= BELIEVED:
            left = min(self.limit, left + self._rate * (now - self._at))
            return max(0.0, (min(cost, self.limit) - left) / self._rate)
        if self._signs["window"] >= BELIEVED and now < self._ends:
            return self._ends - now if left < min(cost, self.limit) else 0.0
        return 0.0

    def doing(self) -> str:
        """`42 of 500 left`."""
        return f"{self._left:g} of {self.limit:g} left by the server's headers"
