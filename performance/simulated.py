"""Servers as they are met, simulated: how long they take, when they queue, slow down and refuse."""

import asyncio
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from virtual import Server

from viva.errors import ModelError
from viva.types import Generate, Quota, Usage

Latency = Callable[[random.Random], float]


def constant(seconds: float) -> Latency:
    return lambda _: seconds


def spread(draw: random.Random) -> float:
    """Between 0.1 and 1 s, mostly short; 0.4 s in the mean."""
    return 0.1 + 0.9 * draw.random() ** 2


def lognormal(mean: float, sigma: float) -> Latency:
    return lambda draw: mean * math.exp(draw.gauss(-sigma * sigma / 2, sigma))


def bimodal(short: float, long: float, share: float) -> Latency:
    return lambda draw: long if draw.random() < share else short


class Pool(Server):
    """So many workers, and a queue before them; the number may change with time."""

    def __init__(self, seed: int, latency: Latency, workers: Callable[[float], float]) -> None:
        super().__init__(seed, latency)
        self.workers = workers
        self.working = 0
        self.queue: list[asyncio.Future[None]] = []

    async def work(self, request: Generate) -> None:
        if self.working >= int(self.workers(self.now)):
            waiting = asyncio.get_running_loop().create_future()
            self.queue.append(waiting)
            await waiting
        self.working += 1
        try:
            await super().work(request)
        finally:
            self.working -= 1
            free = int(self.workers(self.now)) - self.working
            while self.queue and free > 0:
                waiting = self.queue.pop(0)
                if not waiting.done():
                    waiting.set_result(None)
                    free -= 1


class Batching(Server):
    """Every request slows all others that are in flight: seconds of work are done at a pace that `slowdown` divides."""

    def __init__(self, seed: int, latency: Latency, slowdown: Callable[[int], float]) -> None:
        super().__init__(seed, latency)
        self.slowdown = slowdown

    async def work(self, request: Generate) -> None:
        left = self.latency(self.random)
        while left > 1e-9:  # looked at again a few times: the load changes meanwhile
            slow = self.slowdown(self.in_flight)
            piece = min(left, 0.25)
            await asyncio.sleep(piece * slow)
            left -= piece


class Refusing(Server):
    """Refuses some requests at once, by `refuses(server)`: seconds for Retry-After, 0.0 for none, None to answer."""

    def __init__(
        self, seed: int, latency: Latency, refuses: Callable[["Refusing"], float | None], status: int = 429
    ) -> None:
        super().__init__(seed, latency)
        self.refuses = refuses
        self.status = status

    async def work(self, request: Generate) -> None:
        retry_after = self.refuses(self)
        if retry_after is not None:
            await asyncio.sleep(0.005)
            raise self.refuse(retry_after or None, self.status)
        await super().work(request)


class Bucket(Server):
    """A token bucket: `rate` a second, `burst` at most; a request costs 1, or its tokens. Says when to come again."""

    def __init__(
        self,
        seed: int,
        latency: Latency,
        rate: float,
        burst: float,
        cost: Latency = lambda _: 1.0,
        told: bool = True,
        headers: bool = False,
    ) -> None:
        super().__init__(seed, latency)
        self.rate, self.burst, self.cost, self.told, self.headers = rate, burst, cost, told, headers
        self.left, self.at = burst, 0.0
        self.costs: dict[str, float] = {}

    async def work(self, request: Generate) -> None:
        cost = self.costs.setdefault(request.question, self.cost(self.random))
        self.left = min(self.burst, self.left + self.rate * (self.now - self.at))
        self.at = self.now
        if self.left < cost:
            wait = (cost - self.left) / self.rate
            await asyncio.sleep(0.005)
            raise self.refuse(wait if self.told else None)
        self.left -= cost
        await super().work(request)

    def usage(self, request: Generate) -> Usage:
        return Usage(round(self.costs[request.question]), 0)

    def quotas(self) -> tuple[Quota, ...]:
        if not self.headers:
            return ()
        self.left = min(self.burst, self.left + self.rate * (self.now - self.at))
        self.at = self.now
        return (Quota("requests", self.burst, math.floor(self.left), (self.burst - self.left) / self.rate),)


def window(requests: int, seconds: float, told: bool) -> Callable[[], Callable[[Refusing], float | None]]:
    """So many requests in each window."""

    def make() -> Callable[[Refusing], float | None]:
        counts: dict[int, int] = {}

        def refuses(server: Refusing) -> float | None:
            number = int(server.now // seconds)
            counts[number] = counts.get(number, 0) + 1
            if counts[number] <= requests:
                return None
            return (number + 1) * seconds - server.now if told else 0.0

        return refuses

    return make


@dataclass(frozen=True)
class Situation:
    """A server, its usual latency in seconds, and how many questions are asked."""

    make: Callable[[int], Server]
    latency: float
    questions: int


def grows(start: float, end: float, seconds: float) -> Callable[[float], float]:
    return lambda now: start + (end - start) * min(1.0, now / seconds)


SERVERS = {
    "constant": Situation(lambda s: Server(s, constant(0.4)), 0.4, 5000),
    "spread": Situation(lambda s: Server(s, spread), 0.4, 5000),
    "spread, 1,000": Situation(lambda s: Server(s, spread), 0.4, 1000),
    "lognormal .5": Situation(lambda s: Server(s, lognormal(1.0, 0.5)), 1.0, 5000),
    "lognormal 1": Situation(lambda s: Server(s, lognormal(5.0, 1.0)), 5.0, 5000),
    "bimodal": Situation(lambda s: Server(s, bimodal(0.3, 3.0, 0.1)), 0.57, 5000),
    "pool of 12": Situation(lambda s: Pool(s, lognormal(1.0, 0.5), lambda _: 12), 1.0, 600),
    "pool of 50": Situation(lambda s: Pool(s, spread, lambda _: 50), 0.4, 2500),
    "bucket 40/s": Situation(lambda s: Bucket(s, spread, 40.0, 40.0), 0.4, 2000),
    "bucket 40/s, untold": Situation(lambda s: Bucket(s, spread, 40.0, 40.0, told=False), 0.4, 2000),
    "bucket 40/s, headers": Situation(lambda s: Bucket(s, spread, 40.0, 40.0, headers=True), 0.4, 2000),
    "tokens a minute": Situation(
        lambda s: Bucket(s, lognormal(2.0, 0.4), 10_000.0, 60_000.0, cost=lognormal(1000.0, 0.6)), 2.0, 1000
    ),
    "tokens, untold": Situation(
        lambda s: Bucket(s, lognormal(2.0, 0.4), 10_000.0, 60_000.0, cost=lognormal(1000.0, 0.6), told=False), 2.0, 1000
    ),
    "one in 25 refused": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if v.random.random() < 0.04 else None), 0.4, 5000
    ),
    "burst of refusals": Situation(
        lambda s: Refusing(s, spread, lambda v: 1.0 if 40 <= v.asked < 61 else None), 0.4, 5000
    ),
    "bursts of refusals": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if v.now % 8 < 0.5 and v.now > 2 else None), 0.4, 5000
    ),
    "scale-up, queues": Situation(lambda s: Pool(s, spread, grows(4, 64, 30)), 0.4, 4000),
    "scale-up, refuses": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if v.in_flight > grows(4, 64, 30)(v.now) else None, 503), 0.4, 4000
    ),
    "slows (1 + n/16)": Situation(lambda s: Batching(s, lognormal(1.0, 0.3), lambda n: 1 + n / 16), 5.0, 1500),
    "slows (1 + (n/40)²)": Situation(
        lambda s: Batching(s, lognormal(1.0, 0.3), lambda n: 1 + (n / 40) ** 2), 2.0, 1500
    ),
    "thrashes beyond 32": Situation(
        lambda s: Batching(s, lognormal(1.0, 0.3), lambda n: 1.0 if n <= 32 else 2 * n / 32), 1.0, 1500
    ),
    "503 beyond 24": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if v.in_flight > 24 else None, 503), 0.4, 1500
    ),
    "600 a minute": Situation(lambda s: Refusing(s, spread, window(600, 60.0, True)()), 0.4, 2000),
}


class Restarting(Server):
    """Refuses connections for a while."""

    def __init__(self, seed: int, latency: Latency, down: Callable[[float], bool]) -> None:
        super().__init__(seed, latency)
        self.down = down

    async def work(self, request: Generate) -> None:
        if self.down(self.now):
            raise ModelError("connection", "connection refused", retry=True)
        await super().work(request)


class Drifting(Server):
    """Latency that changes with time."""

    def __init__(self, seed: int, latency: Latency, times: Callable[[float], float]) -> None:
        super().__init__(seed, latency)
        self.times = times

    async def work(self, request: Generate) -> None:
        await asyncio.sleep(self.latency(self.random) * self.times(self.now))


def _waves(now: float) -> float:
    return 2.0 + math.sin(now / 30.0)


HELD_BACK = {
    "drifts": Situation(lambda s: Drifting(s, spread, lambda now: 1 + now / 60), 0.6, 8000),
    "waves": Situation(lambda s: Drifting(s, lognormal(1.0, 0.5), _waves), 2.0, 6000),
    "pool of 4": Situation(lambda s: Pool(s, lognormal(1.0, 0.5), lambda _: 4), 1.0, 300),
    "pool that halves": Situation(lambda s: Pool(s, spread, lambda now: 40 if now < 20 else 20), 0.4, 2500),
    "5 % stragglers": Situation(lambda s: Server(s, bimodal(0.5, 10.0, 0.05)), 1.0, 5000),
    "503 for 30 s": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if 10 < v.now < 40 else None, 503), 0.4, 8000
    ),
    "restart of 20 s": Situation(lambda s: Restarting(s, spread, lambda now: 3 < now < 23), 0.4, 6000),
    "one in 2 s": Situation(lambda s: Bucket(s, constant(0.3), 0.5, 1.0), 0.3, 60),
    "one in 2 s, untold": Situation(lambda s: Bucket(s, constant(0.3), 0.5, 1.0, told=False), 0.3, 60),
    "529 beyond 10": Situation(
        lambda s: Refusing(s, lognormal(3.0, 0.5), lambda v: 0.0 if v.in_flight > 10 else None, 529), 3.0, 500
    ),
    "Retry-After of 20 s": Situation(
        lambda s: Refusing(s, spread, lambda v: 20.0 if v.random.random() < 0.02 else None), 0.4, 5000
    ),
    "one in 3 refused": Situation(
        lambda s: Refusing(s, spread, lambda v: 0.0 if v.random.random() < 0.33 else None), 0.4, 4000
    ),
    "100 in 10 s": Situation(lambda s: Refusing(s, spread, window(100, 10.0, False)()), 0.4, 1000),
    "slows (1 + n/64), 60 s": Situation(lambda s: Batching(s, lognormal(20.0, 0.4), lambda n: 1 + n / 64), 40.0, 2500),
}
"""Servers on which no constant of the controller was chosen."""
