"""Limits of requests and tokens a minute: what is left, and what the headers say of it.

What is used comes back steadily, a full limit in `Plan.window` seconds. A request is counted at what it may become, as
the provider estimates that; when it is answered, at what it was, if that was more.
"""

import dataclasses
from datetime import UTC, datetime

INPUT, OUTPUT = "input-tokens", "output-tokens"


@dataclasses.dataclass
class Refused:
    """Which limit was in the way, how much of it was used and wanted, and in how many seconds there is enough."""

    what: str
    limit: int
    used: int
    wanted: int
    seconds: float


class Limiter:
    """Limits by name: requests, tokens, input-tokens, output-tokens. `now` is in seconds, of any clock."""

    def __init__(self, limits: dict[str, int], window: float) -> None:
        self._limits = limits
        self._window = window
        self._left = {name: float(limit) for name, limit in limits.items()}
        self._at: float | None = None

    def take(self, cost: int, now: float) -> Refused | None:
        """Count a request that is estimated at so many tokens; or say what it must wait for."""
        self._refill(now)
        wanted = {"requests": 1, "tokens": cost, INPUT: cost, OUTPUT: 1}
        for name, limit in self._limits.items():
            missing = wanted[name] - self._left[name]
            if missing > 0:
                return Refused(name, limit, int(limit - self._left[name]), wanted[name], missing / limit * self._window)
        for name in self._limits:
            self._left[name] -= wanted[name] if name != OUTPUT else 0
        return None

    def settle(self, cost: int, prompt: int, output: int, now: float) -> None:
        """Count what an answer was beyond its estimate."""
        self._refill(now)
        more = {"tokens": max(0, prompt + output - cost), OUTPUT: output}
        for name, tokens in more.items():
            if name in self._limits:
                self._left[name] -= tokens

    def headers(self, style: str, now: float) -> dict[str, str]:
        """What a provider's headers say: OpenAI's durations, or Anthropic's moments (as Unix seconds are of `now`)."""
        found: dict[str, str] = {}
        for name, limit in self._limits.items():
            left = max(0, int(self._left[name]))
            seconds = (limit - self._left[name]) / limit * self._window
            if style == "openai" and name in ("requests", "tokens"):
                rows = {"limit": str(limit), "remaining": str(left), "reset": duration(seconds)}
                found |= {f"x-ratelimit-{part}-{name}": value for part, value in rows.items()}
            elif style == "anthropic":
                moment = datetime.fromtimestamp(now + seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
                rows = {"limit": str(limit), "remaining": str(left), "reset": moment}
                found |= {f"anthropic-ratelimit-{name}-{part}": value for part, value in rows.items()}
        return found

    def _refill(self, now: float) -> None:
        passed = 0.0 if self._at is None else max(0.0, now - self._at)
        self._at = now
        for name, limit in self._limits.items():
            self._left[name] = min(limit, self._left[name] + passed * limit / self._window)


def duration(seconds: float) -> str:
    """As OpenAI writes one: 20ms, 1.5s, 6m0s."""
    if seconds < 1:
        return f"{seconds * 1000:.0f}ms"
    minutes, rest = divmod(seconds, 60)
    return f"{minutes:.0f}m{rest:.0f}s" if minutes else f"{seconds:.3f}".rstrip("0").rstrip(".") + "s"
