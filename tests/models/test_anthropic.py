"""Anthropic's models: the vendor's own SDK against a local stand-in for the Messages API."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from models.asking import RETRY, answer, ask, refusal, request, summary
from rows import tabled
from servers.fixtures import QUIET, LocalServer, Viva
from viva.contracts import Model
from viva.errors import VivaError
from viva.models import Endpoint, connect
from viva.types import Message, Response, Served, Usage

pytestmark = pytest.mark.peers("anthropic")

Serve = Callable[..., LocalServer]
KEY = "the-good-key"
SERVED = Served("claude-x")


@pytest.fixture
def vendor(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The stand-in, with the address and the key where the SDK looks for them."""
    server = serve("vendors.py")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root)
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    monkeypatch.delenv("ANTHROPIC_AUTH_TOKEN", raising=False)
    return server


@pytest.fixture
def model(vendor: LocalServer) -> Model:
    """A model behind the stand-in."""
    return model_there()


def model_there() -> Model:
    return connect("anthropic/claude-x", Endpoint())


def error(kind: str, text: str = "So it is.") -> str:
    return json.dumps({"type": "error", "error": {"type": kind, "message": text}})


def test_a_reply_with_its_usage(model: Model) -> None:
    assert answer(model) == Response(text="A", usage=Usage(2095, 503), served=SERVED)


def test_what_is_sent(vendor: LocalServer, model: Model) -> None:
    turns = (Message("system", "Be brief."), Message("user", "Which?"), Message("assistant", "A"), Message("user", "?"))
    answer(model, request(turns, temperature=0.3, top_p=0.8, max_tokens=77, stop=("#",), seed=3))
    (event,) = vendor.events("asked")
    assert event["path"] == "/v1/messages"
    assert event["body"] == {
        "model": "claude-x",
        "system": "Be brief.",
        "messages": [{"role": turn.role, "content": turn.content} for turn in turns[1:]],
        "temperature": 0.3,
        "top_p": 0.8,
        "max_tokens": 77,
        "stop_sequences": ["#"],
    }


def test_what_is_left_to_the_server_is_not_sent(vendor: LocalServer, model: Model) -> None:
    answer(model, request(temperature=None, max_tokens=None))
    assert set(vendor.events("asked")[0]["body"]) == {"model", "messages", "max_tokens"}


def test_why_a_reply_ended(vendor: LocalServer) -> None:
    reasons = {
        "end_turn": "stop",
        "stop_sequence": "stop",
        "max_tokens": "length",
        "refusal": "filter",
        "pause_turn": "other",
    }
    for (theirs, ours), row in tabled(*reasons.items()):
        with row:
            vendor.control(stop=theirs)
            assert answer(model_there()).stop_reason == ours


def test_an_empty_reply_is_an_answer(vendor: LocalServer, model: Model) -> None:
    vendor.control(text="", stop="refusal")
    assert answer(model) == Response(text="", stop_reason="filter", usage=Usage(2095, 503), served=SERVED)


def test_thinking_is_not_the_answer(vendor: LocalServer, model: Model) -> None:
    blocks = [{"type": "thinking", "thinking": "B?", "signature": "x"}, {"type": "text", "text": "A"}]
    vendor.control(verbatim=json.dumps({
        "id": "m", "type": "message", "role": "assistant", "model": "claude-x", "content": blocks,
        "stop_reason": "end_turn", "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 2},
    }))  # fmt: skip
    assert answer(model) == Response(text="A", reasoning="B?", usage=Usage(1, 2), served=SERVED)


REFUSALS: dict[int, tuple[str, dict[str, Any]]] = {
    400: ("invalid_request_error", {"kind": "status", "retry": False, "overload": False, "fatal": False}),
    403: ("permission_error", {"kind": "auth", "retry": False, "overload": False, "fatal": True}),
    404: ("not_found_error", {"kind": "status", "retry": False, "overload": False, "fatal": True}),
    429: ("rate_limit_error", {"kind": "status", **RETRY, "overload": True}),
    500: ("api_error", {"kind": "status", **RETRY}),
    529: ("overloaded_error", {"kind": "status", **RETRY, "overload": True}),
}


def test_what_a_status_means_and_that_the_sdk_does_not_try_again(vendor: LocalServer) -> None:
    for (status, (kind, expected)), row in tabled(*REFUSALS.items()):
        with row:
            before = len(vendor.events("asked"))
            vendor.control(status=status, verbatim=error(kind))
            problem = refusal(model_there())
            assert summary(problem) == expected
            assert problem.lasting == (status == 404)
            assert f"HTTP {status}" in problem.message
            assert "So it is." in problem.message
            assert len(vendor.events("asked")) == before + 1


def test_a_bad_key_is_fatal_and_not_shown(vendor: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-bad-0123456789")
    problem = refusal(connect("anthropic/claude-x", Endpoint()))  # the stand-in quotes the key it was sent
    assert summary(problem) == {"kind": "auth", "retry": False, "overload": False, "fatal": True}
    assert problem.message.endswith("is the key in ANTHROPIC_API_KEY right?")
    assert "0123456789" not in problem.message
    assert len(vendor.events("asked")) == 1


def test_the_time_that_the_server_asks_for_is_handed_on(vendor: LocalServer, model: Model) -> None:
    vendor.control(status=429, verbatim=error("rate_limit_error"), headers={"retry-after": "17"})
    assert refusal(model).retry_after == 17


def test_what_is_no_message_is_tried_again(vendor: LocalServer) -> None:
    contents = (
        ("<html>Bad gateway</html>", "text/html"),
        ("<html>Bad gateway</html>", "application/json"),
        ('{"type": "message"', "application/json"),
        ('{"type": "message", "content": null, "usage": null}', "application/json"),
        ("[]", "application/json"),
        ("null", "application/json"),
    )
    for (content, content_type), row in tabled(*contents):
        with row:
            vendor.control(verbatim=content, content_type=content_type)
            assert refusal(model_there()).retry


def test_a_long_reply_may_be_asked_for(vendor: LocalServer, model: Model) -> None:
    # The SDK refuses by itself what it thinks may take longer than ten minutes, unless it is given a time limit.
    assert answer(model, request(max_tokens=64_000)).text == "A"


def test_a_server_that_is_not_there_is_worth_another_try(vendor: LocalServer, model: Model) -> None:
    vendor.stop()
    assert summary(refusal(model)) == {"kind": "connection", **RETRY}


def test_a_connection_that_breaks_is_not_tried_again_behind_the_engines_back(vendor: LocalServer, model: Model) -> None:
    vendor.control(reset=True)
    assert summary(refusal(model)) == {"kind": "connection", **RETRY}
    assert len(vendor.events("asked")) == 1


def test_a_text_to_continue_is_refused_without_asking(vendor: LocalServer, model: Model) -> None:
    problem = refusal(model, request("The answer is"))
    assert problem.fatal
    assert "--form base" in problem.message
    assert vendor.events() == []


def test_a_key_that_is_not_there_is_said_before_anything_is_sent(
    vendor: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    with pytest.raises(VivaError, match="ANTHROPIC_API_KEY"):
        connect("anthropic/claude-x", Endpoint())


def test_several_at_once_are_answered(vendor: LocalServer, model: Model) -> None:
    replies = ask(model, *(request(sample=sample) for sample in range(20)))
    assert [getattr(reply, "text", reply) for reply in replies] == ["A"] * 20


def test_it_sits_an_exam_beside_another_and_judges_both_within_its_own_bound(
    serve: Serve, viva: Viva, vendor: LocalServer
) -> None:
    server = serve(latency=0.05)
    vendor.control(text="VERDICT: 1", latency=0.05)
    viva.environment |= {"ANTHROPIC_BASE_URL": vendor.root, "ANTHROPIC_API_KEY": KEY}
    models = (
        *("--model", "anthropic/claude-x"),
        *("--model", "openai/m"),
        *("--base-url", server.url),
        *("--judge", "anthropic/claude-x"),
    )
    bounds = ("--concurrency", "anthropic=2", "--concurrency", "openai=4", "--limit", 20)
    ended = viva("run", "csbench", *models, *bounds, "--run", "run", "--format", "json", *QUIET, timeout=120)
    assert ended.code == 0, ended.err
    cells = {result["model"]: result["overall"] for result in ended.report["results"]}
    assert {model: cell["n"] for model, cell in cells.items()} == {"anthropic/claude-x": 20, "openai/m": 20}
    assert not any({"ungraded", "error"} & set(cell["outcomes"]) for cell in cells.values())
    assert server.asked == 20
    assert len(vendor.events("asked")) == 20 + len(viva.entries(stage="annotations")) > 20
    assert (vendor.state()["most"], server.state()["most"]) == (2, 4)
