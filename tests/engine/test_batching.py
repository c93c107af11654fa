"""The engine's part of batches, against a local server that follows the vendors' documented protocols."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.batched import LIMIT, RequestScheduler, batches, words
from rows import each_row
from servers.fixtures import LocalServer, Serve
from viva.engine.batchlog import BatchLog, Dropped, Intended, Submitted
from viva.engine.budget import Budget, Price
from viva.engine.folder import BATCHES
from viva.engine.sendingslots import Policy
from viva.errors import StorageError

KEY = "sk-of-the-tests"
ALL = [words(number) for number in range(LIMIT)]


@pytest.fixture
def vendor(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """Both vendors' batch APIs, whose batches end at the first look."""
    server = serve("batchapi.py", key=KEY, looks=1)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    return server


@pytest.fixture
def scheduler(vendor: LocalServer, tmp_path: Path) -> RequestScheduler:
    """A model behind OpenAI's."""
    return RequestScheduler(tmp_path, "openai/m", vendor.url)


@pytest.fixture
def other_scheduler(vendor: LocalServer, tmp_path: Path) -> RequestScheduler:
    """A model behind Anthropic's."""
    return RequestScheduler(tmp_path, "anthropic/m")


@pytest.fixture(params=["openai", pytest.param("anthropic", marks=pytest.mark.peers("anthropic"))])
def either(request: pytest.FixtureRequest) -> RequestScheduler:
    """Both, one after the other."""
    return request.getfixturevalue("scheduler" if request.param == "openai" else "other_scheduler")


def test_what_failed_is_asked_again_in_the_next_batch_and_nothing_else(
    vendor: LocalServer, either: RequestScheduler
) -> None:
    outcomes = ("expired", "500", "missing", "429", "cancelled")
    vendor.control(outcomes=[[words(number), [outcome]] for number, outcome in enumerate(outcomes)])
    run = either.work()
    assert batches(vendor) == [ALL, ALL[: len(outcomes)]]
    assert either.answers() == {f"q{number}": "A" for number in range(LIMIT)}
    assert {entry["question"]: entry.get("attempts", 1) for entry in either.entries()} == {
        f"q{number}": 2 if number < len(outcomes) else 1 for number in range(LIMIT)
    }
    assert (run.tally.answered, run.tally.failed, run.tally.retries) == (LIMIT, 0, len(outcomes))
    assert run.tally.input_tokens == 1000 * LIMIT
    assert not run.refused


def test_after_three_batches_a_failure_is_journaled_and_asked_again_by_the_next_process(
    vendor: LocalServer, either: RequestScheduler
) -> None:
    vendor.control(outcomes=[[words(0), ["500"] * 4], [words(1), ["400"]]])
    either.work()
    assert batches(vendor) == [ALL, ALL[:1], ALL[:1]]  # what was refused for good is not among them
    assert set(either.failed()) == {"q0", "q1"}
    either.work()
    assert batches(vendor)[3:] == [ALL[:2], ALL[:1]]
    assert not either.failed()


def test_an_unreadable_verdict_is_asked_for_again_three_times_at_most(
    vendor: LocalServer, scheduler: RequestScheduler
) -> None:
    scheduler.accept = lambda text, _: text.startswith("7")
    vendor.control(texts=[[words(0), ["never"]], [words(1), ["not yet", "7 of 10"]], ["", ["7"]]])
    scheduler.work()
    assert batches(vendor) == [ALL, ALL[:2], ALL[:1]]
    assert scheduler.failed() == {"q0": "unreadable"}
    assert scheduler.answers()["q1"] == "7 of 10"


def test_tries_are_counted_over_processes(vendor: LocalServer, scheduler: RequestScheduler) -> None:
    vendor.control(outcomes=[[words(0), ["500"] * 9]])
    for _ in range(3):
        scheduler.work(wait=False)
        assert not scheduler.failed()
    scheduler.work(wait=False)
    assert batches(vendor) == [ALL, ALL[:1], ALL[:1]]
    assert set(scheduler.failed()) == {"q0"}


@pytest.mark.parametrize("step", ["upload", "create"])
def test_a_busy_or_broken_vendor_gets_one_batch(vendor: LocalServer, either: RequestScheduler, step: str) -> None:
    vendor.control(
        refuse={step: [503, 429], "list": [500], "look": [502, 503], "results": [500]}, lose={step: 1}, cut=1
    )
    run = either.work()
    assert batches(vendor) == [ALL]
    assert len(either.answers()) == LIMIT
    assert run.tally.retries
    assert not run.refused


def test_results_that_do_not_belong_there_change_nothing(vendor: LocalServer, either: RequestScheduler) -> None:
    forged = {
        "response": {"status_code": 200, "body": {"choices": [{"message": {"content": "forged"}}]}},
        "result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": "forged"}]}},
    }
    key = "0" * 32
    names = ["", f"LABEL-{key}", f"0123456789abcdef-{key}", "../../etc/passwd", "LABEL-\u0000", "x" * 100_000]
    junk = [json.dumps({"custom_id": name, **forged}) for name in names]
    junk += ["", "null", "{", "[" * 100_000, '{"custom_id": 5}', '"\\ud800"', "\x00\x00", json.dumps(forged)]
    vendor.control(junk=junk, twice=True)
    either.work()
    assert batches(vendor) == [ALL]
    assert either.answers() == {f"q{number}": "A" for number in range(LIMIT)}
    read = either.log()[-1]
    assert (read["answered"], read["failed"]) == (LIMIT, 0)
    assert read["strangers"] >= LIMIT + len(names)


@pytest.mark.parametrize("name", ["../files/x", "\u202e", "a" * 300])
def test_what_can_be_no_name_of_a_batch_is_no_part_of_an_address(
    vendor: LocalServer, either: RequestScheduler, name: str
) -> None:
    vendor.control(name=name)
    assert "that is no name" in either.work().refused[either.name]
    assert either.log()[-1]["event"] == "intended", "it may be there: the next process searches for it"
    assert not vendor.events("looked")


def test_a_batch_refused_as_a_whole_is_the_models_end_or_halved_or_mended(
    vendor: LocalServer, scheduler: RequestScheduler
) -> None:
    vendor.control(models=["another"])
    run = scheduler.work()
    assert "there is no such model" in run.refused[scheduler.name]
    assert run.lasting == {scheduler.name}
    assert not scheduler.entries()
    much = {"code": "token_limit_exceeded", "message": "Enqueued token limit reached", "line": None}
    bad = {"code": "invalid_request", "message": "line 2 is bad", "line": 2}
    vendor.control(models=[], failed=[[much], [bad], []])
    scheduler.work()
    assert batches(vendor)[1:] == [ALL, ALL[:4], ALL[4:], [ALL[0], *ALL[2:4]]]
    assert scheduler.failed() == {"q1": "rejected"}


def test_a_key_that_is_refused_between_two_batches_is_no_questions_failure(
    vendor: LocalServer, scheduler: RequestScheduler
) -> None:
    scheduler.most = (3, 1 << 20)
    vendor.control(refuse={"create": [401]})
    assert "HTTP 401" in scheduler.work().refused[scheduler.name]
    assert not scheduler.entries()
    assert not batches(vendor)


def test_a_request_that_fits_no_batch_fails_alone(vendor: LocalServer, scheduler: RequestScheduler) -> None:
    scheduler.most = (50, 100)
    scheduler.work()
    assert set(scheduler.failed().values()) == {"too long"}
    assert not batches(vendor)


def test_a_key_that_is_refused_stops_at_once(vendor: LocalServer, either: RequestScheduler) -> None:
    vendor.control(key="another")
    run = either.work()
    assert "HTTP 401" in run.refused[either.name]
    assert KEY not in run.refused[either.name]
    assert (run.unreached, either.entries()) == (set(), [])
    vendor.control(key=KEY)
    either.work()
    assert len(either.answers()) == LIMIT


def test_results_that_are_gone_are_asked_for_again(vendor: LocalServer, either: RequestScheduler) -> None:
    either.policy = Policy(attempts=1)
    vendor.control(archived=True)
    either.work()
    assert set(either.failed().values()) == {"gone"}
    vendor.control(archived=False)
    either.work()
    assert batches(vendor) == [ALL, ALL]
    assert len(either.answers()) == LIMIT


def test_a_batch_that_this_key_does_not_know_is_not_made_again(vendor: LocalServer, either: RequestScheduler) -> None:
    vendor.control(looks=2)
    either.work(wait=False)
    vendor.control(refuse={"look": [404]})
    assert "is not known to this key" in either.work().refused[either.name]
    either.work()
    assert batches(vendor) == [ALL]
    assert len(either.answers()) == LIMIT


def test_a_server_without_the_api_is_named(serve: Serve, vendor: LocalServer, tmp_path: Path) -> None:
    scheduler = RequestScheduler(tmp_path, "openai/m", serve().url)
    assert "has no batch API (HTTP 404 from /files): leave --batch out" in scheduler.work().refused["openai/m"]


def test_a_server_that_is_not_there_is_no_refusal(vendor: LocalServer, tmp_path: Path) -> None:
    scheduler = RequestScheduler(tmp_path, "openai/m", "http://127.0.0.1:9/v1")
    scheduler.policy = Policy(attempts=2, longest_pause=0.05)
    run = scheduler.work()
    assert run.unreached == run.refused.keys() == {"openai/m"}


def test_a_server_that_wants_the_newer_limit_gets_it_in_the_next_batch(
    vendor: LocalServer, scheduler: RequestScheduler
) -> None:
    scheduler.policy = Policy(attempts=1)
    vendor.control(newer_limit=True)
    scheduler.work()
    assert batches(vendor) == [ALL, ALL]
    assert len(scheduler.answers()) == LIMIT


def test_the_budget_holds_and_the_rest_is_for_later(vendor: LocalServer, scheduler: RequestScheduler) -> None:
    scheduler.budget = Budget(max_requests=3)
    assert scheduler.work().stop == "budget"
    assert batches(vendor) == [ALL[:3]]
    # A reply may have 100 tokens at $1000 a million: the worst is $0.10, the truth $0.01.
    scheduler.price, scheduler.budget = Price(0, 1000), Budget(max_cost=0.35)
    run = scheduler.work()
    assert batches(vendor)[1:] == [ALL[3:6], ALL[6:]]  # what the worst case allows; what came back allows more
    assert run.tally.cost == scheduler.budget.cost == pytest.approx(0.05)
    assert run.stop == ""


def test_a_reply_that_counts_no_tokens_costs_its_worst_case(vendor: LocalServer, scheduler: RequestScheduler) -> None:
    vendor.control(usage=False)
    scheduler.price, scheduler.budget = Price(0, 1000), Budget(max_cost=0.35)
    assert scheduler.work().stop == "budget"
    assert batches(vendor) == [ALL[:3]]


def test_what_an_earlier_process_handed_in_counts_in_the_budget(
    vendor: LocalServer, scheduler: RequestScheduler
) -> None:
    vendor.control(looks=3)
    scheduler.price, scheduler.budget = Price(0, 1000), Budget(max_cost=0.35)
    scheduler.work(wait=False)
    scheduler.budget = Budget(max_cost=0.35)
    scheduler.work(wait=False)
    assert batches(vendor) == [ALL[:3]]


@pytest.mark.parametrize(("most", "sizes"), [((3, 1 << 20), [3, 3, 2]), ((50, 580), [2, 2, 2, 2])])
def test_batches_are_as_large_as_the_provider_takes_them(
    vendor: LocalServer, scheduler: RequestScheduler, most: tuple[int, int], sizes: list[int]
) -> None:
    scheduler.most = most
    scheduler.work()
    assert [len(batch) for batch in batches(vendor)] == sizes
    assert [prompt for batch in batches(vendor) for prompt in batch] == ALL


LABEL = "0123456789abcdef"
IDENTITY = {"provider": "openai", "model": "m", "endpoint": "x"}


def filled(folder: Path) -> bytes:
    """A log with a batch that was handed in."""
    log = BatchLog(folder)
    about = {"stage": "responses", "model": "openai/m", "identity": IDENTITY, "kind": "", "after": ""}
    keys = tuple(os.urandom(16).hex() for _ in range(3))
    log.note(Intended(label=LABEL, keys=keys, at=0.0, **about))  # type: ignore[arg-type]
    log.note(Submitted(label=LABEL, batch="batch_1", at=time.time()))
    log.close()
    return (folder / BATCHES).read_bytes()


@given(cut=st.integers(1, 400))
def test_a_torn_line_is_set_aside_and_the_batch_is_searched_for(
    tmp_path_factory: pytest.TempPathFactory, cut: int
) -> None:
    folder = tmp_path_factory.mktemp("log")
    content = filled(folder)
    (folder / BATCHES).write_bytes(content[:-cut])
    log = BatchLog(folder)
    batches = list(log.waiting())
    first = content.index(b"\n") + 1
    assert [batch.name for batch in batches] == ([""] if len(content) - cut >= first else [])
    log.note(Dropped(label=LABEL, why="it never arrived", at=0.0))
    log.close()
    assert not list(BatchLog(folder).waiting())


@each_row(
    b"{}",
    b"null",
    b"[" * 100_000,
    b'{"event":"unheard of"}',
    b'{"event":"submitted","label":"0123456789abcdef","batch":"../x","at":1}',
    b'{"event":"intended","label":"../../x","stage":"s","model":"m","identity":{},"kind":"","after":"","keys":[],"at":1}',
)
def test_a_damaged_line_is_named_and_nothing_is_asked(line: bytes, *, tmp_path: Path) -> None:
    with (tmp_path / BATCHES).open("wb") as file:
        file.write(filled(tmp_path) + line + b"\n")
    with pytest.raises(StorageError, match="line 3 is damaged"):
        BatchLog(tmp_path)
