"""Google's models: the vendor's own SDK against a local stand-in for generateContent."""

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

pytestmark = pytest.mark.peers("google.genai")

Serve = Callable[..., LocalServer]
KEY = "the-good-key"


@pytest.fixture
def vendor(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The stand-in, with the address and the key where the SDK looks for them."""
    server = serve("vendors.py")
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", server.root)
    monkeypatch.setenv("GEMINI_API_KEY", KEY)
    return server


@pytest.fixture
def model(vendor: LocalServer) -> Model:
    """A model behind the stand-in."""
    return model_there()


def model_there() -> Model:
    return connect("google/gemini-x", Endpoint())


def error(code: int, status: str, *details: dict[str, Any]) -> str:
    return json.dumps({"error": {"code": code, "message": "So it is.", "status": status, "details": details}})


def test_a_reply_with_its_usage_thoughts_included(model: Model) -> None:
    assert answer(model) == Response(text="A", usage=Usage(4, 9 + 7, 7), served=Served("g"))


def test_what_is_sent(vendor: LocalServer, model: Model) -> None:
    turns = (Message("system", "Be brief."), Message("user", "Which?"), Message("assistant", "A"), Message("user", "?"))
    answer(model, request(turns, sample=2, temperature=0.3, top_p=0.8, max_tokens=77, stop=("#",), seed=3))
    (event,) = vendor.events("asked")
    assert event["path"].endswith("/models/gemini-x:generateContent")
    body = event["body"]
    assert body["contents"] == [
        {"role": "user", "parts": [{"text": "Which?"}]},
        {"role": "model", "parts": [{"text": "A"}]},
        {"role": "user", "parts": [{"text": "?"}]},
    ]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    assert body["generationConfig"] == {
        "temperature": 0.3,
        "topP": 0.8,
        "maxOutputTokens": 77,
        "stopSequences": ["#"],
        "seed": 5,
    }


def test_what_is_left_to_the_server_is_not_sent(vendor: LocalServer, model: Model) -> None:
    answer(model, request(temperature=None, max_tokens=None))
    (event,) = vendor.events("asked")
    assert not event["body"].get("generationConfig")


def test_why_a_reply_ended(vendor: LocalServer) -> None:
    reasons = {
        "STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter", "RECITATION": "filter", "OTHER": "other",
    }  # fmt: skip
    for (theirs, ours), row in tabled(*reasons.items()):
        with row:
            vendor.control(stop=theirs)
            assert answer(model_there()).stop_reason == ours


def test_a_reply_without_content_is_an_answer(vendor: LocalServer, model: Model) -> None:
    vendor.control(text="", stop="SAFETY")
    reply = answer(model)
    assert (reply.text, reply.stop_reason) == ("", "filter")


def test_a_prompt_that_is_blocked_is_filtered_and_no_outage(vendor: LocalServer, model: Model) -> None:
    vendor.control(verbatim=json.dumps({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert answer(model) == Response(text="", stop_reason="filter")


def test_a_thought_is_not_the_answer(vendor: LocalServer, model: Model) -> None:
    parts = [{"text": "B?", "thought": True}, {"text": "A"}]
    candidate = {"content": {"parts": parts, "role": "model"}, "finishReason": "STOP"}
    vendor.control(verbatim=json.dumps({"candidates": [candidate]}))
    assert answer(model) == Response(text="A", reasoning="B?")


REFUSALS: dict[int, tuple[str, dict[str, Any]]] = {
    400: ("INVALID_ARGUMENT", {"kind": "status", "retry": False, "overload": False, "fatal": False}),
    401: ("UNAUTHENTICATED", {"kind": "auth", "retry": False, "overload": False, "fatal": True}),
    403: ("PERMISSION_DENIED", {"kind": "auth", "retry": False, "overload": False, "fatal": True}),
    404: ("NOT_FOUND", {"kind": "status", "retry": False, "overload": False, "fatal": True}),
    429: ("RESOURCE_EXHAUSTED", {"kind": "status", **RETRY, "overload": True}),
    500: ("INTERNAL", {"kind": "status", **RETRY}),
    503: ("UNAVAILABLE", {"kind": "status", **RETRY, "overload": True}),
}


def test_what_a_status_means_and_that_the_sdk_does_not_try_again(vendor: LocalServer) -> None:
    for (status, (kind, expected)), row in tabled(*REFUSALS.items()):
        with row:
            before = len(vendor.events("asked"))
            vendor.control(status=status, verbatim=error(status, kind))
            problem = refusal(model_there())
            assert summary(problem) == expected
            assert problem.lasting == (status == 404)
            assert f"HTTP {status}" in problem.message
            assert "So it is." in problem.message
            assert len(vendor.events("asked")) == before + 1


def test_a_bad_key_is_fatal_and_not_shown(vendor: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-bad-0123456789")
    problem = refusal(connect("google/gemini-x", Endpoint()))
    assert summary(problem) == {"kind": "auth", "retry": False, "overload": False, "fatal": True}
    assert problem.message.endswith("is the key in GEMINI_API_KEY right?")
    assert "0123456789" not in problem.message
    assert len(vendor.events("asked")) == 1


def test_the_time_that_the_server_asks_for_is_handed_on(vendor: LocalServer, model: Model) -> None:
    vendor.control(status=429, verbatim=error(429, "RESOURCE_EXHAUSTED"), headers={"retry-after": "17"})
    assert refusal(model).retry_after == 17


def test_the_time_that_stands_in_the_error_itself_is_handed_on(vendor: LocalServer, model: Model) -> None:
    # Google's own way of saying it: google.rpc.RetryInfo among the details.
    told = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "17s"}
    vendor.control(status=429, verbatim=error(429, "RESOURCE_EXHAUSTED", told))
    assert refusal(model).retry_after == 17


def test_what_is_no_reply_is_tried_again(vendor: LocalServer) -> None:
    contents = (
        ("<html>Bad gateway</html>", "text/html"),
        ('{"candidates": [', "application/json"),
        ('{"candidates": 7}', "application/json"),
        ("[]", "application/json"),
        ("{}", "application/json"),
    )
    for (content, content_type), row in tabled(*contents):
        with row:
            vendor.control(verbatim=content, content_type=content_type)
            assert refusal(model_there()).retry


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
    monkeypatch.delenv("GEMINI_API_KEY")
    with pytest.raises(VivaError, match="GEMINI_API_KEY"):
        connect("google/gemini-x", Endpoint())


def test_several_at_once_are_answered(vendor: LocalServer, model: Model) -> None:
    replies = ask(model, *(request(sample=sample) for sample in range(20)))
    assert [getattr(reply, "text", reply) for reply in replies] == ["A"] * 20


def test_it_sits_an_exam_beside_another_and_judges_both_within_its_own_bound(
    serve: Serve, viva: Viva, vendor: LocalServer
) -> None:
    server = serve(latency=0.05)
    vendor.control(text="VERDICT: 1", latency=0.05)
    viva.environment |= {"GOOGLE_GEMINI_BASE_URL": vendor.root, "GEMINI_API_KEY": KEY}
    models = (
        *("--model", "google/gemini-x"),
        *("--model", "openai/m"),
        *("--base-url", server.url),
        *("--judge", "google/gemini-x"),
    )
    bounds = ("--concurrency", "google=2", "--concurrency", "openai=4", "--limit", 20)
    ended = viva("run", "csbench", *models, *bounds, "--run", "run", "--format", "json", *QUIET, timeout=120)
    assert ended.code == 0, ended.err
    cells = {result["model"]: result["overall"] for result in ended.report["results"]}
    assert {model: cell["n"] for model, cell in cells.items()} == {"google/gemini-x": 20, "openai/m": 20}
    assert not any({"ungraded", "error"} & set(cell["outcomes"]) for cell in cells.values())
    assert server.asked == 20
    assert len(vendor.events("asked")) == 20 + len(viva.entries(stage="annotations")) > 20
    assert (vendor.state()["most"], server.state()["most"]) == (2, 4)
