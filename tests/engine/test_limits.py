"""How many requests may be in flight, how soon to try again, and at which pace."""

from __future__ import annotations

import itertools
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from viva.engine.limits import AUTO_MOST, AUTO_START, Adaptive, Fixed, Pace, Policy

EVENTS = st.lists(st.one_of(st.floats(0.0, 100.0), st.none()), max_size=400)
"""Replies with their latency; None for an overload."""


def play(ceiling: Adaptive, events: list[float | None]) -> list[int]:
    """The bound after each event."""
    bounds: list[int] = []
    for seconds in events:
        if seconds is None:
            ceiling.overloaded()
        else:
            ceiling.finished(seconds)
        bounds.append(ceiling.limit)
    return bounds


@given(EVENTS, st.integers(1, 64), st.integers(0, 200))
def test_the_bound_stays_between_one_and_the_most_whatever_happens(
    events: list[float | None], start: int, more: int
) -> None:
    most = start + more
    assert all(1 <= bound <= most for bound in play(Adaptive(start, most), events))


@given(EVENTS)
def test_one_overload_halves_the_bound_and_further_ones_of_the_same_window_do_not(events: list[float | None]) -> None:
    ceiling = Adaptive(16, 256)
    play(ceiling, events)
    # Past whatever cooling the events left: as many replies as were in flight.
    for _ in range(ceiling.limit + 1):
        ceiling.finished(0.1)
    before = ceiling.limit
    ceiling.overloaded()
    halved = max(1, before // 2)
    assert ceiling.limit == halved
    for _ in range(halved - 1):  # the replies and refusals of what was in flight at that moment
        ceiling.overloaded()
        ceiling.finished(0.1)
    assert ceiling.limit == halved
    ceiling.finished(0.1)
    ceiling.overloaded()
    assert ceiling.limit == max(1, halved // 2)


@given(st.floats(0.01, 60.0))
def test_while_latency_holds_the_bound_doubles_each_window_up_to_the_most(latency: float) -> None:
    ceiling = Adaptive()
    assert ceiling.limit == AUTO_START
    bounds = play(ceiling, [latency] * (4 * AUTO_MOST))
    assert bounds == sorted(bounds)
    assert bounds[-1] == AUTO_MOST
    assert {8, 16, 32, 64, 128, 256, 512} == set(bounds)


@given(st.floats(0.05, 10.0), st.floats(2.6, 50.0))
def test_when_latency_rises_the_bound_falls_and_never_below_one(latency: float, slower: float) -> None:
    ceiling = Adaptive(32, 512)
    play(ceiling, [latency] * 32)
    grown = ceiling.limit
    assert grown == 64
    bounds = play(ceiling, [latency * slower] * 2000)
    assert bounds == sorted(bounds, reverse=True)
    assert 1 <= bounds[-1] < grown / 2


@given(st.floats(0.05, 10.0))
def test_after_an_overload_the_bound_grows_again_slowly(latency: float) -> None:
    ceiling = Adaptive(64, 512)
    ceiling.overloaded()
    bounds = play(ceiling, [latency] * 100)
    steps = [later - earlier for earlier, later in itertools.pairwise(bounds)]
    assert max(steps) <= 32 // 8
    assert bounds[-1] > 32


def test_a_fixed_bound_stays_what_the_user_said() -> None:
    ceiling = Fixed(7)
    ceiling.overloaded()
    ceiling.finished(100.0)
    assert ceiling.limit == 7


@given(st.integers(1, 40), st.floats(0.001, 1000.0))
def test_a_pause_is_never_shorter_than_what_the_server_asked_for_and_hardly_longer(attempt: int, asked: float) -> None:
    pause = Policy().pause(attempt, asked)
    assert asked <= pause <= 1.1 * asked + 0.05


@given(st.integers(1, 40))
def test_without_word_from_the_server_pauses_double_up_to_the_longest(attempt: int) -> None:
    policy = Policy()
    expected = min(policy.longest_pause, 0.5 * 2 ** (attempt - 1))
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
        now += gap
        wait = pace.wait(now)
        assert wait >= 0
        sent.append(now + wait)
    assert all(later - earlier >= 60 / per_minute * (1 - 1e-6) - 1e-6 for earlier, later in itertools.pairwise(sent))
    assert sent[0] == pytest.approx(1000.0 + gaps[0])


def test_without_a_pace_nobody_waits() -> None:
    pace = Pace(None)
    assert [pace.wait(5.0) for _ in range(100)] == [0.0] * 100
