"""How many requests may be in flight, how soon to try again, and at which pace; in virtual time."""

import asyncio
import itertools
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows import tabled
from viva.engine.adaptive import AUTO_MOST, AUTO_START, Adaptive
from viva.engine.asking import Run
from viva.engine.budget import worst_case
from viva.engine.groups import GroupPlan
from viva.engine.sendingslots import Fixed, Pace, Policy
from viva.types import Generate, Quota, Usage

sys.path.append(str(Path(__file__).parents[2] / "performance"))

from simulated import (
    Bucket,
    Pool,
    Refusing,
    constant,
    lognormal,
    spread,
)
from virtual import Server, ask

EVENTS = st.lists(st.tuples(st.booleans(), st.floats(0.0, 100.0)), max_size=400)
"""Replies with their latency, and refusals."""


@given(EVENTS, st.integers(1, 64), st.integers(0, 200))
def test_the_bound_stays_between_one_and_the_most_whatever_happens(
    events: list[tuple[bool, float]], start: int, more: int
) -> None:
    most = max(4, start + more)
    ceiling = Adaptive(start, most)
    now = 0.0
    for answered, seconds in events:
        now += seconds / max(1, ceiling.limit)
        if answered:
            ceiling.answered(now, seconds, ceiling.limit)
        else:
            ceiling.refused(now, ceiling.limit)
        assert 1 <= ceiling.limit <= most
        assert ceiling.rate is None or ceiling.rate > 0


@settings(max_examples=settings.default.max_examples // 8)  # in virtual time one latency is as another
@given(st.floats(0.01, 60.0))
def test_while_answers_grow_with_the_bound_it_doubles_each_latency_up_to_the_most(latency: float) -> None:
    ceiling = Adaptive()
    assert ceiling.limit == AUTO_START
    ended = ask(Server(1, constant(latency)), ceiling, 3000)
    assert ceiling.limit == AUTO_MOST
    assert ended.seconds < latency * 16  # 1, 16, 32, ... 512, 512, ...


def test_a_server_that_bears_less_is_found_out_and_what_is_no_load_is_not_taken_for_it() -> None:
    """Within 15 % of the number that suits it, after ten latencies for the start (performance/ has many more)."""
    servers: dict[str, tuple[Callable[[], Server], int, float, int]] = {
        "pool of 4": (lambda: Pool(0, lognormal(1.0, 0.5), lambda _: 4), 8, 1.0, 300),
        "bucket": (lambda: Bucket(0, spread, 40.0, 40.0), 16, 0.4, 800),
        "503 beyond 24": (
            lambda: Refusing(0, spread, lambda server: 0.0 if server.in_flight > 24 else None, 503), 24, 0.4, 800,
        ),
        "latency that spreads": (lambda: Server(0, lognormal(1.0, 1.0)), 64, 0.1, 800),
        "one refused in 25": (
            lambda: Refusing(0, spread, lambda server: 0.0 if server.random.random() < 0.04 else None), 32, 0.1, 800,
        ),
    }  # fmt: skip
    for (_name, (make, best, latency, questions)), row in tabled(*servers.items()):
        with row:
            auto = ask(make(), Adaptive(), questions)
            assert (auto.lost, len(auto.entries)) == (0, questions)
            assert auto.seconds <= 1.15 * ask(make(), Fixed(best), questions).seconds + 10 * latency


def test_a_healthy_server_with_a_tight_limit_answers_every_question() -> None:
    for (told, ceiling), row in tabled(*itertools.product((True, False), (Adaptive, lambda: Fixed(32)))):
        with row:
            ended = ask(Bucket(1, constant(0.3), 0.5, 1.0, told=told), ceiling(), 100)
            assert ended.lost == 0
            assert len(ended.entries) == 100
            assert ended.seconds < 1.5 * 200


def test_a_server_that_refuses_everything_is_given_up_whatever_time_it_names() -> None:
    for wait, row in tabled(0.0, 3600.0):
        with row:
            ended = ask(Refusing(1, constant(0.1), lambda _, wait=wait: wait), Adaptive(), 200)
            assert not ended.server.answered
            assert ended.seconds < 3 * Policy().question
            assert ended.server.refused < 600


class AtOnce(Server):
    """Says at first that it can be asked again at once, as a clock that goes wrong makes of an honest date."""

    async def work(self, request: Generate) -> None:
        if self.now < 1.5:
            await asyncio.sleep(0.005)
            raise self.refuse(0.0)
        await super().work(request)


def test_a_server_that_says_at_once_and_does_not_mean_it_is_not_asked_to_exhaustion() -> None:
    ended = ask(AtOnce(1, constant(0.1)), Fixed(8), 96)
    assert (ended.lost, len(ended.entries)) == (0, 96)


def test_a_pace_slower_than_the_question_timeout_still_answers_everything() -> None:
    ended = ask(Server(1, constant(0.1)), Fixed(96), 96, Pace(3600.0), Policy(question=1.0))
    assert (ended.lost, len(ended.entries)) == (0, 96)
    assert ended.seconds >= 0.9 * 95 * 60 / 3600


def test_a_bound_that_is_changed_while_a_run_goes_on_holds_at_once() -> None:
    seen: list[int] = []

    async def change(run: Run, plan: GroupPlan) -> None:
        (slots,) = run.groups.values()
        for limit in (4, 50, 7):
            await asyncio.sleep(20)
            slots.change(Fixed(limit))
            slots.notice()
            await asyncio.sleep(10)
            seen.append(slots.in_flight)

    ended = ask(Server(1, constant(1.0)), Fixed(20), 3000, beside=change)
    assert seen == [4, 50, 7]
    assert len(ended.entries) == 3000


def test_a_pace_that_is_lifted_lets_those_go_who_waited_for_it() -> None:
    async def lift(run: Run, plan: GroupPlan) -> None:
        await asyncio.sleep(60)
        plan.pace.per_minute = None

    ended = ask(Server(1, constant(0.1)), Fixed(8), 100, Pace(1.0), beside=lift)
    assert 60 < ended.seconds < 65


@given(st.integers(1, 40), st.floats(0.001, 1000.0))
def test_a_pause_is_never_shorter_than_what_the_server_asked_for_and_hardly_longer(attempt: int, asked: float) -> None:
    pause = Policy().pause(attempt, asked)
    assert asked <= pause <= 1.1 * asked + 0.05


@given(st.integers(1, 40) | st.just(5000))
def test_without_word_from_the_server_pauses_double_up_to_the_longest(attempt: int) -> None:
    policy = Policy()
    expected = min(policy.longest_pause, 0.5 * 2 ** min(attempt - 1, 40))
    assert 0.5 * expected <= policy.pause(attempt, None) <= expected


def test_pauses_differ_so_that_the_refused_do_not_all_come_back_at_once() -> None:
    pauses = [Policy().pause(4, None) for _ in range(200)]
    assert statistics.pstdev(pauses) > 0.1
    assert len({round(Policy().pause(1, 1.0), 6) for _ in range(200)}) > 100


@given(st.floats(0.1, 100_000.0), st.lists(st.floats(0.0, 30.0), min_size=2, max_size=60))
def test_a_pace_is_kept_however_requests_come(per_minute: float, gaps: list[float]) -> None:
    pace = Pace(per_minute)
    now = 1000.0
    sent: list[float] = []
    for gap in gaps:
        since = now = now + gap
        now += pace.wait(since, now, 0.0)
        assert pace.wait(since, now, 0.0) <= 1e-6
        pace.take(since, now, 0.0)
        sent.append(now)
    assert all(later - earlier >= 60 / per_minute * (1 - 1e-6) - 1e-6 for earlier, later in itertools.pairwise(sent))
    assert sent[0] == pytest.approx(1000.0 + gaps[0])


@given(st.lists(st.tuples(st.integers(1, 5000), st.floats(0.0, 1.0)), min_size=2, max_size=40))
def test_tokens_a_minute_are_kept_as_they_turn_out(requests: list[tuple[int, float]]) -> None:
    pace = Pace(None, 60_000.0)
    now, used = 0.0, 0
    for most, share in requests:
        tokens = pace.estimate(most)
        since = now
        now += pace.wait(since, now, tokens)
        pace.take(since, now, tokens)
        spent = round(most * share)
        pace.settle(tokens, most, spent)
        used += spent
        assert used <= 1000 * (now + 0.05 * len(requests)) + 2 * 5000


class Noting(Server):
    """Writes down when each question came up and when it was sent, and says that it used what was estimated."""

    def __init__(self) -> None:
        super().__init__(1, constant(1.0))
        self.came: dict[int, float] = {}
        self.sent: dict[int, tuple[float, int]] = {}

    def prompt(self, number: int) -> str:
        self.came[number] = self.now
        return "word " * (20_000 if number % 10 == 3 else 200)

    async def work(self, request: Generate) -> None:
        self.sent[int(request.question)] = (self.now, self.usage(request).input)
        await super().work(request)

    def usage(self, request: Generate) -> Usage:
        return worst_case(request)


def test_short_requests_do_not_wait_behind_long_ones_for_the_limit_of_tokens() -> None:
    """One in ten takes some 20 s of the limit, the others 0.2 s; first come, first served, the median short one waited
    for as long as a long one takes."""
    server = Noting()
    ended = ask(server, Fixed(8), 200, Pace(None, 60_000.0), prompt=server.prompt)
    assert not ended.lost
    largest = max(tokens for _, tokens in server.sent.values())
    assert largest > 15_000
    waited = [at - server.came[number] for number, (at, tokens) in server.sent.items() if tokens < largest]
    assert statistics.median(waited) < 2
    assert max(waited) < 6
    long = [at for at, tokens in server.sent.values() if tokens == largest]
    assert max(later - earlier for earlier, later in itertools.pairwise(long)) < 2.2 * largest / 1000
    every = list(server.sent.values())
    for since, _ in every:
        assert sum(tokens for at, tokens in every if since <= at < since + 60) <= 60_000 + largest + 1000
    assert ended.seconds < 1.05 * sum(tokens for _, tokens in every) / 1000


class Silent(Noting):
    """Says nothing to the first question."""

    async def work(self, request: Generate) -> None:
        await super().work(request)
        await asyncio.sleep(100 * (request.question == "0"))


def test_a_first_question_that_hangs_keeps_the_others_waiting_for_a_moment_only() -> None:
    server = Silent()
    ended = ask(server, Fixed(8), 50, prompt=server.prompt)
    assert (len(ended.entries), ended.lost) == (50, 0)
    others = [at for number, (at, _) in server.sent.items() if number]
    assert 4 < min(others) < max(others) < 20


def test_headers_are_kept_to_once_they_have_shown_what_they_mean() -> None:
    told = ask(Bucket(1, constant(0.2), 10.0, 100.0, headers=True), Fixed(50), 600)
    untold = ask(Bucket(1, constant(0.2), 10.0, 100.0), Fixed(50), 600)
    assert not told.lost
    assert told.server.refused < untold.server.refused / 3
    assert told.seconds < 1.05 * untold.seconds


@given(st.lists(st.tuples(st.floats(1, 1e12), st.floats(0, 1), st.floats(0, 86400.0), st.floats(0, 5)), max_size=40))
def test_no_header_holds_requests_back_for_long(said: list[tuple[float, float, float, float]]) -> None:
    pace, now = Pace(), 0.0
    for limit, share, reset, gap in said:
        now += gap
        sent = pace.take(now, now, 10.0)
        pace.told(
            (Quota("requests", limit, limit * share, reset), Quota("tokens", limit, limit * share, reset)), sent, now
        )
        assert 0.0 <= pace.wait(now, now, 10.0) <= 30.0
