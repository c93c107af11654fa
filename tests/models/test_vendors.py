"""Anthropic's and Google's models: the vendors' own SDKs against a local stand-in for their APIs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

from models.asking import ADDRESSES, KEY, KEYS, RETRY, answer, lead_vendors_to, refusal, request, summary
from rows import tabled
from servers.fixtures import QUIET, LocalServer, Serve, Viva
from viva.contracts import Model
from viva.errors import VivaError
from viva.providers import Endpoint, connect
from viva.types import Message, Response, Served, Usage

BAD = {"kind": "auth", "retry": False, "overload": False, "fatal": True}
REFUSED = {"kind": "status", "retry": False, "overload": False, "fatal": False}
BUSY = {"kind": "status", **RETRY, "overload": True}
TURNS = (Message("system", "Be brief."), Message("user", "Which?"), Message("assistant", "A"), Message("user", "?"))


@dataclass(frozen=True)
class Vendor:
    """What differs between them."""

    model: str
    key: str
    reasons: dict[str, str]
    """Why a reply ended, in their words and in ours."""
    refusals: dict[int, tuple[str, dict[str, Any]]]
    """Status → the kind of error that they call it, and what it is to us."""
    broken: tuple[tuple[str, str], ...]
    """What is no reply, and its content type."""

    @property
    def name(self) -> str:
        return self.model.partition("/")[0]

    def there(self) -> Model:
        return connect(self.model, Endpoint())

    def error(self, status: int, *details: dict[str, Any]) -> str:
        """The body of an error."""
        kind, text = self.refusals[status][0], "So it is."
        if self.name == "anthropic":
            return json.dumps({"type": "error", "error": {"type": kind, "message": text}})
        return json.dumps({"error": {"code": status, "message": text, "status": kind, "details": details}})


HTML, JSON = "text/html", "application/json"
ANTHROPIC = Vendor(
    model="anthropic/claude-x",
    key="ANTHROPIC_API_KEY",
    reasons={
        "end_turn": "stop", "stop_sequence": "stop", "max_tokens": "length", "refusal": "filter", "pause_turn": "other",
    },
    refusals={
        400: ("invalid_request_error", REFUSED),
        403: ("permission_error", BAD),
        404: ("not_found_error", REFUSED | {"fatal": True}),
        429: ("rate_limit_error", BUSY),
        500: ("api_error", {"kind": "status", **RETRY}),
        529: ("overloaded_error", BUSY),
    },
    broken=(
        ("<html>Bad gateway</html>", HTML), ("<html>Bad gateway</html>", JSON), ('{"type": "message"', JSON),
        ('{"type": "message", "content": null, "usage": null}', JSON), ("[]", JSON), ("null", JSON),
    ),
)  # fmt: skip
GOOGLE = Vendor(
    model="google/gemini-x",
    key="GEMINI_API_KEY",
    reasons={"STOP": "stop", "MAX_TOKENS": "length", "SAFETY": "filter", "RECITATION": "filter", "OTHER": "other"},
    refusals={
        400: ("INVALID_ARGUMENT", REFUSED),
        401: ("UNAUTHENTICATED", BAD),
        403: ("PERMISSION_DENIED", BAD),
        404: ("NOT_FOUND", REFUSED | {"fatal": True}),
        429: ("RESOURCE_EXHAUSTED", BUSY),
        500: ("INTERNAL", {"kind": "status", **RETRY}),
        503: ("UNAVAILABLE", BUSY),
    },
    broken=(
        ("<html>Bad gateway</html>", HTML), ('{"candidates": [', JSON), ('{"candidates": 7}', JSON), ("[]", JSON),
        ("{}", JSON),
    ),
)  # fmt: skip
OF_ANTHROPIC = pytest.param(ANTHROPIC, marks=pytest.mark.peers("anthropic"), id="anthropic")
OF_GOOGLE = pytest.param(GOOGLE, marks=pytest.mark.peers("google.genai"), id="google")
anthropic_alone, google_alone = (
    pytest.mark.parametrize("vendor", [one], indirect=True) for one in (OF_ANTHROPIC, OF_GOOGLE)
)


@pytest.fixture(params=[OF_ANTHROPIC, OF_GOOGLE])
def vendor(request: pytest.FixtureRequest) -> Vendor:
    one: Vendor = request.param
    return one


@pytest.fixture
def server(vendor: Vendor, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The stand-in, with the address and the key where the SDK looks for them."""
    server = serve("reasoning.py", provider="gemini" if vendor is GOOGLE else "anthropic", key=KEY)
    lead_vendors_to(server.root, monkeypatch)
    return server


@pytest.fixture
def model(vendor: Vendor, server: LocalServer) -> Model:
    """A model behind the stand-in."""
    return vendor.there()


@anthropic_alone
def test_what_anthropic_is_sent_and_says(server: LocalServer, model: Model) -> None:
    asked = request(TURNS, temperature=0.3, top_p=0.8, max_tokens=77, stop=("#",), seed=3)
    assert answer(model, asked) == Response(text="A", usage=Usage(5, 1), served=Served("claude-x"))
    (event,) = server.events("asked")
    assert event["path"] == "/v1/messages"
    assert event["body"] == {
        "model": "claude-x",
        "system": "Be brief.",
        "messages": [{"role": turn.role, "content": turn.content} for turn in TURNS[1:]],
        "temperature": 0.3,
        "top_p": 0.8,
        "max_tokens": 77,
        "stop_sequences": ["#"],
    }


@google_alone
def test_what_google_is_sent_and_says(server: LocalServer, model: Model) -> None:
    asked = request(TURNS, sample=2, temperature=0.3, top_p=0.8, max_tokens=77, stop=("#",), seed=3)
    assert answer(model, asked) == Response(text="A", usage=Usage(5, 1), served=Served("gemini-x"))
    (event,) = server.events("asked")
    assert event["path"].endswith("/models/gemini-x:generateContent")
    body = event["body"]
    assert body["contents"] == [
        {"role": role, "parts": [{"text": text}]} for role, text in (("user", "Which?"), ("model", "A"), ("user", "?"))
    ]
    assert body["systemInstruction"]["parts"] == [{"text": "Be brief."}]
    sampling = {"temperature": 0.3, "topP": 0.8, "maxOutputTokens": 77, "stopSequences": ["#"], "seed": 5}
    assert body["generationConfig"] == sampling


def test_what_is_left_to_the_server_is_not_sent(vendor: Vendor, server: LocalServer, model: Model) -> None:
    answer(model, request(temperature=None, max_tokens=None))
    (event,) = server.events("asked")
    if vendor is ANTHROPIC:
        assert set(event["body"]) == {"model", "messages", "max_tokens"}
    else:
        assert not event["body"].get("generationConfig")


def test_an_empty_reply_is_an_answer_that_says_why_it_ended(vendor: Vendor, server: LocalServer) -> None:
    served = Served(vendor.model.partition("/")[2])
    for (theirs, ours), row in tabled(*vendor.reasons.items()):
        with row:
            server.control(text="", stop=theirs)
            usage = Usage(12 if ours == "length" else 6, 0)  # what was cut off is asked once more, with more room
            assert answer(vendor.there()) == Response(text="", stop_reason=ours, usage=usage, served=served)


@google_alone
def test_a_prompt_that_is_blocked_is_filtered_and_no_outage(server: LocalServer, model: Model) -> None:
    server.control(status=200, verbatim=json.dumps({"promptFeedback": {"blockReason": "SAFETY"}}))
    assert answer(model) == Response(text="", stop_reason="filter")


def test_what_a_status_means_and_that_the_sdk_does_not_try_again(vendor: Vendor, server: LocalServer) -> None:
    for (status, (_, expected)), row in tabled(*vendor.refusals.items()):
        with row:
            before = len(server.events("asked"))
            server.control(status=status, verbatim=vendor.error(status))
            problem = refusal(vendor.there())
            assert summary(problem) == expected
            assert problem.lasting == (status == 404)
            assert f"HTTP {status}" in problem.message
            assert "So it is." in problem.message
            assert len(server.events("asked")) == before + 1
    server.control(status=307, headers={"Location": server.root.replace("127.0.0.1", "localhost")})
    assert "localhost" in refusal(vendor.there()).message, "it was followed, to a host that gets the key"


def test_a_bad_key_is_fatal_and_not_shown(vendor: Vendor, server: LocalServer, monkeypatch: pytest.MonkeyPatch) -> None:
    prefix = "sk-ant-bad" if vendor is ANTHROPIC else "AIza-bad"
    monkeypatch.setenv(vendor.key, f"{prefix}-0123456789")
    problem = refusal(vendor.there())  # the stand-in quotes the key it was sent
    assert summary(problem) == BAD
    assert problem.message.endswith(f"is the key in {vendor.key} right?")
    assert "0123456789" not in problem.message
    assert len(server.events("asked")) == 1


def test_the_time_that_the_server_asks_for_is_handed_on(vendor: Vendor, server: LocalServer, model: Model) -> None:
    server.control(status=429, verbatim=vendor.error(429), headers={"retry-after": "17"})
    assert refusal(model).retry_after == 17
    if vendor is GOOGLE:  # its own way of saying it: google.rpc.RetryInfo among the details
        told = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "18s"}
        server.control(verbatim=vendor.error(429, told), headers={})
        assert refusal(vendor.there()).retry_after == 18


def test_what_is_no_reply_is_tried_again(vendor: Vendor, server: LocalServer) -> None:
    for (content, content_type), row in tabled(*vendor.broken):
        with row:
            server.control(status=200, verbatim=content, content_type=content_type)
            assert refusal(vendor.there()).retry


def test_a_connection_that_breaks_or_is_not_to_be_had_is_tried_again_by_the_engine_alone(
    vendor: Vendor, server: LocalServer, model: Model
) -> None:
    server.control(reset=True)
    assert summary(refusal(model)) == {"kind": "connection", **RETRY}
    assert len(server.events("asked")) == 1
    server.stop()
    assert summary(refusal(vendor.there())) == {"kind": "connection", **RETRY}


def test_a_text_to_continue_is_refused_without_asking(server: LocalServer, model: Model) -> None:
    problem = refusal(model, request("The answer is"))
    assert problem.fatal
    assert "--form base" in problem.message
    assert server.events() == []


def test_a_key_that_is_not_there_is_said_before_anything_is_sent(
    vendor: Vendor, server: LocalServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(vendor.key)
    with pytest.raises(VivaError, match=vendor.key):
        vendor.there()
    assert server.events() == []


@anthropic_alone
def test_it_sits_an_exam_beside_another_and_judges_both_within_its_own_bound(
    serve: Serve, viva: Viva, vendor: Vendor, server: LocalServer
) -> None:
    other = serve(latency=0.05)
    server.control(text="VERDICT: 1", latency=0.05)
    viva.environment |= KEYS | dict.fromkeys(ADDRESSES, server.root)
    models = ("--model", vendor.model, "--model", "openai/m", "--base-url", other.url, "--judge", vendor.model)
    bounds = ("--concurrency", f"{vendor.name}=2", "--concurrency", "openai=4", "--limit", 20)
    ended = viva("run", "csbench", *models, *bounds, "--run", "run", "--format", "json", *QUIET)
    assert ended.code == 0, ended.err
    cells = {result["model"]: result["overall"] for result in ended.report["results"]}
    assert {model: cell["n"] for model, cell in cells.items()} == {vendor.model: 20, "openai/m": 20}
    assert not any({"ungraded", "error"} & set(cell["outcomes"]) for cell in cells.values())
    assert other.asked == 20
    assert len(server.events("asked")) == 20 + len(viva.entries(stage="annotations")) > 20
    assert (server.state()["most"], other.state()["most"]) == (2, 4)
