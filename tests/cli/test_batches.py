"""--batch as a user meets it: real processes, killed at every moment, against the vendors' documented protocols."""

from __future__ import annotations

import json
import signal
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from cli.collected import questions, write_jsonl
from engine.batched import LIMIT, POLL, answered_once, arguments, batches, examine, log, resume
from rows import each_row
from servers.fixtures import QUIET, LocalServer, Serve, Viva

KEY = "sk-of-the-tests"
KILL, INTERRUPT = signal.SIGKILL, signal.SIGINT


@pytest.fixture
def vendor(serve: Serve) -> LocalServer:
    """Both vendors' batch APIs."""
    return serve("batchapi.py", key=KEY)


def happened(server: LocalServer, event: str, times: int = 1) -> Callable[[], bool]:
    return lambda: len(server.events(event)) >= times


def again(*more: object) -> list[object]:
    return ["resume", "run", "--format", "json", *QUIET, *POLL, *more]


def test_killed_at_every_moment_a_batch_is_handed_in_once_and_read_whole(vendor: LocalServer, viva: Viva) -> None:
    vendor.control(hold={"upload": 5.0}, looks=3)
    assert viva.struck(KILL, happened(vendor, "uploaded"), *arguments(vendor)).code == -KILL  # the file is there
    assert [line["event"] for line in log(viva)] == ["intended"]
    vendor.control(hold={"create": 5.0})
    assert viva.struck(KILL, happened(vendor, "created"), *again()).code == -KILL  # the batch is there
    assert [line["event"] for line in log(viva)] == ["intended", "dropped", "intended"]
    assert len(vendor.events("deleted")) == 1, "the file that no batch was made of stays"
    vendor.control(hold={"look": 5.0})
    assert viva.struck(KILL, happened(vendor, "looked"), *again()).code == -KILL  # while it waits
    assert log(viva)[-1]["event"] == "submitted"
    vendor.control(hold={}, drip=0.2)
    journal = viva.folder / "run" / "responses.jsonl"
    assert viva.struck(KILL, lambda: journal.read_bytes().count(b"\n") >= 3, *again()).code == -KILL  # while it reads
    assert 3 <= len(viva.entries()) < LIMIT
    vendor.control(drip=0.0)
    resume(viva).exits()
    assert len(batches(vendor)) == 1
    answered_once(viva, vendor)
    assert [line["event"] for line in log(viva)][-2:] == ["submitted", "read"]


@pytest.mark.slow
@pytest.mark.peers("anthropic")
def test_anthropics_batch_is_found_again_by_its_results_alone(vendor: LocalServer, viva: Viva) -> None:
    viva.environment |= {"ANTHROPIC_BASE_URL": vendor.root, "ANTHROPIC_API_KEY": KEY}
    model = ("run", "cmmlu", "--model", "anthropic/claude-3-5-haiku-latest", "--limit", LIMIT, "--batch")
    vendor.control(hold={"create": 5.0})
    tail = ("--run", "run", "--format", "json", *QUIET, *POLL)
    assert viva.struck(KILL, happened(vendor, "created"), *model, *tail).code == -KILL
    assert [line["event"] for line in log(viva)] == ["intended"]
    vendor.control(hold={})
    somebody_else(vendor)
    ended = resume(viva)
    assert ended.code == 0, ended.err
    mine, other = vendor.events("created")
    assert other["names"][0] == "other-0"
    assert [line["batch"] for line in log(viva) if line["event"] == "submitted"] == [mine["batch"]]
    assert len(viva.answered()) == LIMIT
    assert {entry["batch"] for entry in viva.entries()} == {mine["batch"]}


def somebody_else(vendor: LocalServer) -> None:
    """With the same key, hands in a batch of as many requests."""
    params = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "What else?"}]}
    body = {"requests": [{"custom_id": f"other-{number}", "params": params} for number in range(LIMIT)]}
    headers = {"x-api-key": KEY, "anthropic-version": "2023-06-01", "Content-Type": "application/json"}
    other = urllib.request.Request(f"{vendor.url}/messages/batches", json.dumps(body).encode(), headers, method="POST")
    urllib.request.build_opener(urllib.request.ProxyHandler({})).open(other, timeout=20).close()


def test_a_batch_is_found_by_its_file_where_a_server_keeps_no_metadata(vendor: LocalServer, viva: Viva) -> None:
    vendor.control(hold={"create": 5.0}, metadata=False)
    assert viva.struck(KILL, happened(vendor, "created"), *arguments(vendor)).code == -KILL
    vendor.control(hold={})
    assert resume(viva).code == 0
    assert len(batches(vendor)) == 1


def test_ctrl_c_leaves_the_batch_and_says_how_to_go_on(vendor: LocalServer, viva: Viva) -> None:
    vendor.control(looks=10_000)
    live = arguments(vendor, "--progress", "live")
    ended = viva.struck(INTERRUPT, happened(vendor, "looked", 15), *live).exits(130)
    name = vendor.events("created")[0]["batch"]
    assert f"interrupted, {LIMIT} not answered yet; go on with: viva resume run" in ended.err
    assert f"1 batch of {LIMIT} requests stays with the provider ({name})" in ended.err
    assert f"1 batch: 0/{LIMIT} done" in ended.err  # the progress line
    vendor.control(looks=1)
    resume(viva).exits()
    assert len(batches(vendor)) == 1


def answers_file(viva: Viva) -> Path:
    """Answers to open-ended questions of CS-Bench's sample, which a judge must read."""
    asked = [question.id for question in questions("csbench", "en") if question.kind == "open"][:4]
    rows = ({"question": name, "text": f"The answer to {name}."} for name in asked)
    return write_jsonl(viva.folder / "answers.jsonl", rows)


def test_verdicts_of_a_batch_are_read_by_whoever_goes_on_with_the_run(
    vendor: LocalServer, viva: Viva, tmp_path: Path
) -> None:
    vendor.control(looks=1, text="VERDICT: 10")
    grade = ("grade", "csbench", answers_file(viva), "--judge", "openai/j", "--judge-base-url", vendor.url, "--batch")
    first = viva(*grade, "--run", "run", "--no-wait", *POLL)
    assert "stays with the provider" in first.err
    assert (first.code, "is asked the normal way, having no batch API" in first.err) == (3, True)
    (handed_in, *_) = [line for line in viva.entries(stage="batches") if line["event"] == "intended"]
    viva.environment["HOME"] = str(tmp_path)  # another user's: the nonces are not those that were handed in
    viva.resume(*POLL)
    assert [len(batch) for batch in batches(vendor)] == [4]
    verdicts = {entry["key"]: entry for entry in viva.entries(stage="annotations")}
    assert {key: entry["nonce"] for key, entry in verdicts.items()} == dict(
        zip(handed_in["keys"], handed_in["nonces"], strict=True)
    )
    assert not [entry for entry in verdicts.values() if "error" in entry]


@each_row(
    ("baseline/random has no batch API", ("--model", "baseline/random", "--batch")),
    ("it goes with --batch", ("--model", "baseline/random", "--no-wait")),
    ("batches carry texts only", ("--model", "openai/m@http://127.0.0.1:9/v1", "--answer-by", "next-token", "--batch")),
)
def test_what_batches_cannot_do_is_said_before_anything_is_asked(
    said: str, given: tuple[str, ...], *, viva: Viva
) -> None:
    viva("run", "cmmlu", *given, "--run", "run").exits(2, said)
    assert not (viva.folder / "run").exists()


def test_list_prices_are_halved_and_given_ones_are_not(viva: Viva) -> None:
    def most(*more: str) -> float:
        ended = viva("run", "cmmlu", "--model", "openai/gpt-4o", "--estimate", *more).exits()
        return float(ended.out.rstrip().rpartition("$")[2])

    normal = most()
    assert most("--batch") == pytest.approx(normal / 2, abs=0.01)
    assert most("--batch", "--price", "2.5/10") == pytest.approx(normal, abs=0.01)


def test_a_run_can_leave_its_batches(vendor: LocalServer, viva: Viva) -> None:
    assert examine(viva, vendor, "--no-wait").code == 3
    viva.resume("--no-batch", *POLL).exits()
    assert len(vendor.events("cancelled")) == len(batches(vendor)) == 1
    entries = viva.entries()
    assert len(entries) == LIMIT
    assert not [entry for entry in entries if "batch" in entry]  # all were asked one by one
    assert log(viva)[-1]["event"] == "left"
    vendor.control(looks=1)
    assert viva.resume().code == 0
    assert len(vendor.events("created")) == 1


def test_what_may_still_be_in_a_batch_is_not_asked_while_batches_are_left(
    vendor: LocalServer, viva: Viva, tmp_path: Path
) -> None:
    vendor.control(looks=10_000)
    assert examine(viva, vendor, "--no-wait").code == 3
    assert viva.struck(INTERRUPT, happened(vendor, "cancelled"), *again("--no-batch")).code == 130
    assert not vendor.events("answered")
    vendor.begin(tmp_path / "new.log", {"key": KEY, "looks": 1})  # a server that has forgotten everything
    viva.resume("--no-batch", *POLL).exits(4, "remove the line `submitted` of batch_2 from batches.jsonl")
    assert not vendor.events("answered")
    kept = viva.folder / "run" / "batches.jsonl"
    kept.write_bytes(b"".join(line for line in kept.read_bytes().splitlines(True) if b'"submitted"' not in line))
    assert viva.resume("--no-batch", *POLL).code == 0
    answered_once(viva, vendor)
