"""A budget is never exceeded, with any number of requests in flight, and no request waits for ever."""

import asyncio
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import viva as library
from servers.fixtures import SAMPLE, LocalServer, Serve, Viva
from viva import UnansweredWarning
from viva.engine.budget import Budget, Hold, Price, RunLimits, worst_case
from viva.engine.folder import RunFolder
from viva.errors import VivaError
from viva.runs.config import LimitOptions, ResumePlan
from viva.types import Generate, Sampling, Usage

PRICE = Price(1000.0, 2000.0)


def request(prompt: str = "Which?", max_tokens: int = 10) -> Generate:
    return Generate(question="1", sample=0, prompt=prompt, sampling=Sampling(max_tokens=max_tokens))


def spend(budget: Budget, shares: list[float], workers: int) -> tuple[int, int]:
    """Send one request after the other, `workers` at once; each comes to its share of the worst case.

    Returns how many were sent, and how many were in flight at most.
    """
    waiting = list(shares)
    sent = flying = most = 0

    async def work() -> None:
        nonlocal sent, flying, most
        while waiting:
            share = waiting.pop()
            reserved = await budget.reserve(request(), PRICE)
            if reserved is None:
                return
            sent += 1
            flying += 1
            most = max(most, flying)
            if budget.max_requests is not None:
                assert budget.requests <= budget.max_requests
            for _ in range(int(share * 5)):
                await asyncio.sleep(0)
            flying -= 1
            budget.settle(reserved, share * PRICE.cost(worst_case(request())))

    async def all_of_them() -> None:
        await asyncio.wait_for(asyncio.gather(*(work() for _ in range(workers))), 240)

    asyncio.run(all_of_them())
    return sent, most


SHARES = st.lists(st.floats(0.0, 1.0), max_size=60)


@given(SHARES, st.integers(1, 20), st.integers(1, 80))
def test_no_more_requests_are_sent_than_allowed(shares: list[float], workers: int, most: int) -> None:
    budget = Budget(max_requests=most)
    sent, _ = spend(budget, shares, workers)
    assert sent == min(most, len(shares)) == budget.requests


@given(SHARES, st.integers(1, 20), st.floats(0.5, 40.0))
def test_no_more_money_is_spent_than_allowed_and_none_is_left_that_would_do(
    shares: list[float], workers: int, worth: float
) -> None:
    worst = PRICE.cost(worst_case(request()))
    budget = Budget(max_cost=worth * worst)
    sent, most_in_flight = spend(budget, shares, workers)
    assert budget.cost <= worth * worst * (1 + 1e-9)
    assert most_in_flight <= worth
    assert sent == len(shares) or budget.cost + worst > worth * worst * (1 - 1e-9)


@given(SHARES, st.integers(1, 20), st.floats(0.5, 40.0))
@example([1.0, 1.0], 2, 2.5)
def test_requests_that_turn_out_to_need_another_stay_within_the_money_and_never_wait_for_each_other(
    shares: list[float], workers: int, worth: float
) -> None:
    worst = PRICE.cost(worst_case(request()))
    budget = Budget(max_cost=worth * worst)
    waiting = iter(shares)

    async def work() -> None:
        for share in waiting:
            amount = await budget.reserve(request(), PRICE)
            if amount is None:
                return
            hold = Hold(budget, request(), PRICE, None, amount)
            await asyncio.sleep(0)
            if share > 0.5:
                assert await hold.more(request().sampling.max_tokens or 0) is (not hold.refused)
            budget.settle(hold.amount, share * hold.amount)

    async def everybody() -> None:
        await asyncio.wait_for(asyncio.gather(*(work() for _ in range(workers))), 240)

    asyncio.run(everybody())
    assert budget.cost <= worth * worst * (1 + 1e-9)


def test_a_model_without_a_price_is_bounded_by_requests_alone() -> None:
    async def reserve() -> list[float | None]:
        budget = Budget(max_requests=3, max_cost=1e-9)
        return [await budget.reserve(request(), None) for _ in range(4)]

    assert asyncio.run(reserve()) == [0.0, 0.0, 0.0, None]


@given(st.text(max_size=200), st.integers(1, 5000))
def test_the_worst_case_covers_the_longest_reply_and_the_prompt(prompt: str, max_tokens: int) -> None:
    usage = worst_case(request(prompt, max_tokens))
    assert usage.output == max_tokens
    assert usage.input >= len(prompt) / 4


def test_max_requests_counts_retries_and_is_never_exceeded(serve: Serve, viva: Viva) -> None:
    server = serve(faults={"500": 0.2}, latency=0.01)
    ended = viva.examine(server, "--max-requests", 40, "--concurrency", 32).exits(3)
    assert server.asked == 40
    assert "viva resume run" in ended.err
    assert len(viva.answered()) == 40 - len(server.events("fault"))
    assert ended.overall["n"] == SAMPLE
    viva.resume().exits(2, "40 of 40 requests made (--max-requests)")  # a cap counts all that the run ever asked
    assert server.asked == 40
    assert viva.resume("--max-requests", 400).code == 0


def billed(server: LocalServer) -> float:
    """What the server's answers cost at PRICE."""
    return sum(PRICE.cost(Usage(len(event["prompt"]) // 4, 1)) for event in server.answered())


def test_a_cap_holds_over_the_whole_life_of_a_run_also_where_it_was_killed(serve: Serve, viva: Viva) -> None:
    server = serve(latency=0.02)
    price = ("--price", "1000/2000", "--max-tokens", 10)
    viva.examine(server, *price, "--max-cost", 3, "--concurrency", 64).exits(3)
    assert 1.0 < billed(server) <= 3.0, "with many requests in flight"
    asked = server.asked
    assert asked == len(viva.answered()) < SAMPLE
    record = viva.folder / "run" / "run.json"
    for spent in ("as it ended", "as if it had been killed"):
        if spent != "as it ended":
            known = json.loads(record.read_bytes())
            record.write_text(json.dumps(known | {"spent": {}}))
        ended = viva.resume()
        assert (ended.code, server.asked) == (2, asked), spent
        assert re.search(r"spent \$2\.\d\d of \$3\.00 \(--max-cost\), \d+ not answered yet; one more", ended.err)
    larger = re.search(r"viva resume run (--max-cost) ([0-9.]+)", ended.err)
    assert larger, ended.err
    assert viva.resume(*larger.groups()).code in (0, 3)
    assert server.asked > asked
    assert billed(server) <= float(larger[2])


def test_a_resumed_run_has_its_own_limits_but_those_that_are_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every limit of a run, each with another value than by default."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    own: dict[str, Any] = {
        "concurrency": ("3",), "requests_per_minute": ("600",), "tokens_per_minute": ("none",), "timeout": 7.0,
        "question_timeout": 70.0, "max_attempts": 2, "wait_for_server": 0.5, "max_requests": 5, "max_cost": 4.0,
        "batch": False,
    }  # fmt: skip
    assert own.keys() == set(RunLimits.__struct_fields__)
    with pytest.warns(UnansweredWarning, match="5 of 5 requests"):
        library.run("cmmlu", model="baseline/first", run="run", **own)
    record = RunFolder.open(Path("run")).record
    assert ResumePlan.of({}).limits_after(record.limits) == LimitOptions(**own)
    with pytest.warns(UnansweredWarning, match="7 of 7 requests"):
        library.resume("run", max_requests=7, timeout=9)
    assert RunFolder.open(Path("run")).record.limits == RunLimits(**{**own, "max_requests": 7, "timeout": 9.0})
    with pytest.raises(VivaError, match="7 of 7 requests made"):
        library.resume("run")


def test_what_does_not_say_what_it_used_or_timed_out_is_booked_at_its_worst(serve: Serve, viva: Viva) -> None:
    money = ("--price", "0/1000000", "--max-tokens", 10, "--concurrency", 2, "--max-cost")
    silent = serve(usage=False)
    ended = viva.examine(silent, *money, 50, run="silent")
    assert (ended.code, silent.asked) == (3, 5)
    assert "5 replies came without a count of tokens, and the budget takes the most that each may have" in ended.err
    late = serve(faults={"hang": 1.0})
    assert viva.examine(late, *money, 20, "--timeout", 0.2, "--max-attempts", 1, "--limit", 12, run="late").code == 3
    assert late.asked == 2


def test_a_budget_without_a_price_is_refused_before_anything_is_asked(server: LocalServer, viva: Viva) -> None:
    viva.examine(server, "--max-cost", 1).exits(2, "--price")
    assert server.asked == 0
    assert not (viva.folder / "run").exists()
