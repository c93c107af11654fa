"""`viva limits`: a run's limits are shown and changed from another terminal, and in no other way."""

import os

import msgspec
import pytest

from rows import tabled
from servers.fixtures import QUIET, SAMPLE, Serve, Viva, wait_until
from viva.runs.ask import ASKED, LimitRequest


@pytest.mark.parametrize("kinds", [2, pytest.param(5, marks=pytest.mark.slow, id="all")])
def test_limits_of_a_running_run_are_shown_and_changed(serve: Serve, viva: Viva, kinds: int) -> None:
    server = serve(latency=1.0)
    going = viva.start(*viva.examining(server, "--concurrency", 2))
    wait_until(lambda: server.asked > 0, "the run")
    shown = viva("limits", "run").exits()
    assert f"openai {server.url}: 2 at once (fixed)" in shown.out
    asked = viva.folder / "run" / ASKED
    wrong = {
        "out of bounds": lambda: asked.write_bytes(
            msgspec.json.encode(LimitRequest(pid=going.process.pid, number="1", concurrency={"": 10**9}))
        ),
        "a pipe": lambda: os.mkfifo(asked),
        "a link": lambda: asked.symlink_to("/etc/passwd"),
        "no JSON": lambda: asked.write_text("{"),
        "too much": lambda: asked.write_bytes(b" " * (1 << 20)),
    }
    for (number, (_name, write)), row in tabled(*enumerate([*wrong.items()][:kinds], 1)):
        with row:
            write()
            wait_until(lambda n=number: going.errors().count("limits were not changed") == n, "a word of it")
            assert not os.path.lexists(asked)
    assert server.state()["most"] == 2
    server.control(latency=0.4)
    for wrong in (("--concurrency", "many"), ("--tokens-per-minute", "-5"), ("--requests-per-minute", "opneai=3")):
        viva("limits", "run", *wrong).exits(2, wrong[0])
    changed = viva("limits", "run", "--concurrency", "openai=40", "--requests-per-minute", "60000")
    assert "40 at once (fixed)" in changed.out
    assert "60000 requests a minute" in changed.out
    going.ended().exits()
    assert 20 < server.state()["most"] <= 40
    assert server.asked == SAMPLE
    assert not list((viva.folder / "run").glob(".limits*"))


@pytest.mark.slow
def test_limits_of_a_run_that_does_not_run_say_what_to_do_and_a_stale_request_is_not_followed(
    serve: Serve, viva: Viva
) -> None:
    server = serve(latency=0.3)
    assert viva.examine(server, "--max-requests", 10, "--concurrency", 3).code == 3
    ended = viva("limits", "run", "--concurrency", "64")
    assert ended.code == 2
    assert "viva resume run --concurrency 64" in ended.err
    assert not (viva.folder / "run" / ASKED).exists()
    stale = LimitRequest(pid=1, number="1", concurrency={"": 90})
    (viva.folder / "run" / ASKED).write_bytes(msgspec.json.encode(stale))
    ended = viva("resume", "run", "--concurrency", "3", "--max-requests", 100, *QUIET)
    assert ended.code == 0, ended.err
    assert server.state()["most"] == 3
