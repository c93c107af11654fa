"""OpenAI's limits of requests and tokens per minute: the remaining amounts, and their headers.

Limits refill steadily, in `Plan.window` seconds from empty to full. A request counts with its estimated tokens; when
answered, with its actual ones if these are more.
"""

import dataclasses


@dataclasses.dataclass
class Refused:
    """The exceeded limit, the amounts used and requested, and seconds until there is enough."""

    what: str
    limit: int
    used: int
    wanted: int
    seconds: float


class Limiter:
    """Limits by name: requests, tokens. `now` is in seconds, of any clock."""

    def __init__(self, limits: dict[str, int], window: float) -> None:
        self._limits = limits
        self._window = window
        self._left = {name: float(limit) for name, limit in limits.items()}
        self._at: float | None = None

    def take(self, cost: int, now: float) -> Refused | None:
        """Count a request with its estimated tokens, or return the limit that it must wait for."""
        self._refill(now)
        wanted = {"requests": 1, "tokens": cost}
        for name, limit in self._limits.items():
            missing = wanted[name] - self._left[name]
            if missing > 0:
                return Refused(name, limit, int(limit - self._left[name]), wanted[name], missing / limit * self._window)
        for name in self._limits:
            self._left[name] -= wanted[name]
        return None

    def settle(self, cost: int, spent: int, now: float) -> None:
        """Count an answer's tokens beyond the estimate."""
        self._refill(now)
        self._left["tokens"] -= max(0, spent - cost)

    def headers(self) -> dict[str, str]:
        """Return the headers; times until limits are full again are milliseconds here."""
        found: dict[str, str] = {}
        for name, limit in self._limits.items():
            left = self._left[name]
            milliseconds = (limit - left) / limit * self._window * 1000
            rows = {"limit": str(limit), "remaining": str(max(0, int(left))), "reset": f"{milliseconds:.0f}ms"}
            found |= {f"x-ratelimit-{part}-{name}": value for part, value in rows.items()}
        return found

    def _refill(self, now: float) -> None:
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        for name, limit in self._limits.items():
            self._left[name] = min(limit, self._left[name] + passed * limit / self._window)
