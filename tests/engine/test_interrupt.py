"""Ctrl-C once finishes requests in flight, twice stops at once; neither loses a reply that arrived."""

import signal
import time

import pytest

from engine.sample import ONE
from servers.fixtures import SAMPLE, Serve, Viva, wait_until

CONCURRENCY = 8


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_the_first_signal_finishes_what_is_in_flight_and_says_how_to_go_on(
    serve: Serve, viva: Viva, number: signal.Signals
) -> None:
    server = serve(latency=0.5)  # so that two more rounds take longer than any signal
    going = viva.start(*viva.examining(server, "--concurrency", CONCURRENCY))
    wait_until(lambda: server.asked >= 2 * CONCURRENCY, "the second round of requests")
    going.signal(number)
    ended = going.ended().exits(130, "viva resume run")
    assert "Traceback" not in ended.err
    asked = server.asked
    assert asked <= 4 * CONCURRENCY
    assert len(server.answered()) == asked == len(viva.answered()) == len(viva.entries())
    assert ended.overall["n"] == SAMPLE
    assert ended.overall["outcomes"]["not asked"] == SAMPLE - asked
    assert "go on with: viva resume run" in ended.err.splitlines()[-1]
    assert ended.err.count("viva resume") == 1
    printed = viva("score", "run").exits(3).out
    assert len([line for line in printed.splitlines() if line.startswith("cmmlu-zh ")]) == 1, "a line a model"
    assert "By subject" not in printed, "of a part it would mislead"

    server.control(latency=0.0)
    assert viva.resume().code == 0
    assert server.asked == SAMPLE


def test_the_second_signal_stops_at_once(serve: Serve, viva: Viva) -> None:
    server = serve(always={ONE: "hang"})
    going = viva.start(*viva.examining(server, "--concurrency", CONCURRENCY))
    wait_until(lambda: len(server.events("answered")) >= SAMPLE - 1, "all answers but one")
    wait_until(lambda: len(viva.answered()) == SAMPLE - 1, "the journal to have them, for the server is first")
    going.signal(signal.SIGINT)
    wait_until(lambda: "finishing" in going.errors(), "word that the signal came")  # or two would be one
    with pytest.raises(AssertionError, match=r"waited 0\.7 s"):
        wait_until(lambda: going.process.poll() is not None, "an end that must not come", 0.7)
    going.signal(signal.SIGINT)
    ended = going.ended()  # otherwise it would wait five minutes for that answer
    assert ended.code == 130
    assert "viva resume run" in ended.err
    assert "Traceback" not in ended.err
    assert len(viva.answered()) == SAMPLE - 1
    assert ended.overall["outcomes"]["not asked"] == 1


def test_a_signal_while_it_waits_to_try_again_ends_the_waiting(serve: Serve, viva: Viva) -> None:
    server = serve(verbatim="{}", status=429, headers={"Retry-After": "300"})
    going = viva.start(*viva.examining(server, "--concurrency", CONCURRENCY))
    wait_until(lambda: server.asked >= 1, "a request")
    time.sleep(0.3)
    going.signal(signal.SIGINT)
    going.ended().exits(130, "viva resume run")


def test_a_signal_while_requests_wait_for_the_budget_sends_no_more_of_them(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.4)
    # The budget is worth some four replies at a time: the other workers wait for what those leave.
    money = ("--price", "0/1000000", "--max-tokens", "10", "--max-cost", "45")
    going = viva.start(*viva.examining(server, "--concurrency", CONCURRENCY, *money))
    wait_until(lambda: server.asked >= 6, "the second round of requests")
    going.signal(signal.SIGINT)
    wait_until(lambda: "finishing" in going.errors(), "word that the signal came")
    asked = server.asked
    going.ended().exits(130)
    assert server.asked <= asked + 4, "those that were under way, which the server may not have counted yet"
    assert len(viva.answered()) == server.asked
