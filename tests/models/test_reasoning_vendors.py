"""Models of Anthropic's and Google's that reason: the real command line against stand-ins that refuse as documented."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from models.asking import answer, ask, refusal, request
from rows import each_row, tabled, tables_beside
from servers.fixtures import QUIET, LocalServer, Serve, Viva
from viva.contracts import Adaptation, AdaptingModel, BatchModel, Model
from viva.errors import ModelError, VivaError
from viva.models.anthropic import AnthropicBatches
from viva.providers import Endpoint, RequestOptions, connect
from viva.types import Response

pytestmark = [pytest.mark.peers("anthropic"), pytest.mark.peers("google.genai")]

KEY = "the-good-key-of-the-tests"
ROOM = 32_768


Put = Callable[..., tuple[Response, dict[str, Any], Adaptation]]


@pytest.fixture
def server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The stand-in, with the address and the key where the SDKs look for them."""
    server = serve("reasoning.py", provider="anthropic", key=KEY, thinking=3000)
    for name in ("GOOGLE_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI", "GOOGLE_CLOUD_PROJECT", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    for name in ("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "A_SECRET"):
        monkeypatch.setenv(name, KEY)
    for name in ("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"):
        monkeypatch.setenv(name, server.root)
    return server


def there(server: LocalServer, name: str, said: dict[str, Any]) -> Model:
    """A model behind the stand-in, which plays its vendor."""
    server.control(provider="gemini" if name.startswith("google") else "anthropic")
    return connect(name, Endpoint(request=RequestOptions(**said)))


@pytest.fixture
def put(server: LocalServer) -> Put:
    """One reply, the body of the last request for it, and what became known of the model."""

    def one(name: str, said: dict[str, Any], **sampling: Any) -> tuple[Response, dict[str, Any], Adaptation]:
        model = there(server, name, said)
        assert isinstance(model, AdaptingModel)
        reply = answer(model, request(**sampling))
        return reply, server.events("asked")[-1]["body"], model.adapting.known

    return one


THOUGHT = {"thinking": {"type": "adaptive", "display": "summarized"}}
ANTHROPIC: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("claude-3-5-haiku-latest", {}, {"temperature": 0, "max_tokens": 2048}),
    ("claude-sonnet-4-5", {}, {"temperature": 0, "max_tokens": 2048}),
    ("claude-opus-4-7", {}, {"max_tokens": 2048}),
    ("claude-opus-5", {}, {"max_tokens": ROOM}),
    ("claude-opus-5-5", {}, {"max_tokens": ROOM}),
    ("claude-sonnet-4-5", {"budget": 2000}, {
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": ROOM + 2000}),
    ("claude-opus-4-5", {"budget": 2000, "effort": "low"}, {
        "thinking": {"type": "enabled", "budget_tokens": 2000}, "output_config": {"effort": "low"},
        "max_tokens": ROOM + 2000}),
    ("claude-sonnet-4-6", {"effort": "low"}, {**THOUGHT, "output_config": {"effort": "low"}, "max_tokens": ROOM}),
    ("claude-opus-5-5", {"effort": "xhigh"}, {**THOUGHT, "output_config": {"effort": "xhigh"}, "max_tokens": ROOM}),
    ("claude-opus-5", {"effort": "none"}, {"thinking": {"type": "disabled"}, "max_tokens": 2048}),
    ("claude-sonnet-4-5", {"fields": (("metadata", '{"user_id":"u"}'), ("top_k", "5"))}, {
        "metadata": {"user_id": "u"}, "top_k": 5, "temperature": 0, "max_tokens": 2048}),
    ("claude-sonnet-4-5", {"fields": (("temperature", "null"),)}, {"max_tokens": 2048}),
]  # fmt: skip


@each_row(*ANTHROPIC)
def test_anthropics_models_are_asked_as_each_of_them_is(
    name: str, said: dict[str, Any], body: dict[str, Any], *, put: Put
) -> None:
    reply, sent, known = put(f"anthropic/{name}", said)
    assert {key: value for key, value in sent.items() if key not in ("model", "messages")} == body
    shown = "thinking" in body and body["thinking"]["type"] != "disabled"
    thinks = body["max_tokens"] >= ROOM
    assert (reply.text, reply.stop_reason) == ("A", "stop")
    assert reply.reasoning.startswith("At first") == shown
    assert bool(reply.usage and reply.usage.reasoning) == bool(known.reasons) == thinks


GEMINI: list[tuple[str, dict[str, Any], dict[str, Any], bool]] = [
    ("gemini-2.0-flash", {}, {"maxOutputTokens": 2048}, False),
    ("gemini-2.5-flash-lite", {}, {"maxOutputTokens": 2048}, False),
    ("gemini-2.5-flash", {}, {"maxOutputTokens": ROOM, "thinkingConfig": {"include_thoughts": True}}, True),
    ("gemini-2.5-flash", {"budget": 500}, {
        "maxOutputTokens": ROOM + 500, "thinkingConfig": {"include_thoughts": True, "thinking_budget": 500}}, True),
    ("gemini-2.5-flash", {"effort": "none"}, {
        "maxOutputTokens": 2048, "thinkingConfig": {"thinking_budget": 0}}, False),
    ("gemini-3-pro-preview", {"effort": "low"}, {
        "maxOutputTokens": ROOM, "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"}}, True),
    ("gemini-2.5-pro", {"keep_reasoning": False}, {"maxOutputTokens": ROOM}, True),
    ("gemini-2.0-flash", {"fields": (("generationConfig", '{"topK":5}'),)}, {
        "maxOutputTokens": 2048, "topK": 5}, False),
]  # fmt: skip


@each_row(*GEMINI)
def test_geminis_are_asked_as_each_of_them_is(
    name: str, said: dict[str, Any], config: dict[str, Any], thinks: bool, *, put: Put
) -> None:
    reply, sent, known = put(f"google/{name}", said)
    assert sent["generationConfig"] == {"temperature": 0, **config}
    assert (reply.text, reply.stop_reason) == ("A", "stop")
    shown = "include_thoughts" in config.get("thinkingConfig", {})
    assert reply.reasoning.startswith("At first") == shown
    assert bool(reply.usage and reply.usage.reasoning) == bool(known.reasons) == thinks


REFUSED = tables_beside(__file__)["refused"]


def error_of(server: LocalServer, name: str, options: dict[str, Any]) -> str:
    """Why nothing is asked, or why no more is."""
    try:
        problem = refusal(there(server, name, options))
    except VivaError as early:
        return str(early)
    return problem.message if problem.fatal else "not fatal"


@each_row(*REFUSED)
def test_what_a_model_does_not_have_is_an_error_at_once(
    name: str, options: dict[str, Any], said: str, *, server: LocalServer
) -> None:
    assert said in error_of(server, name, options)


@each_row(
    ("anthropic/claude-opus-4-5", {"budget": 2000}, {"top_p": 0.5}, ["temperature", "top_p"]),
    ("anthropic/claude-opus-4-5", {"budget": 2000}, {"temperature": 1}, []),
    ("anthropic/claude-haiku-4-5", {}, {"seed": 1}, ["seed"]),
    ("anthropic/claude-haiku-4-5", {}, {"top_p": 0.9}, ["temperature"]),
)
def test_what_is_known_to_be_refused_is_left_out_and_what_is_not_there_done_here(
    name: str, said: dict[str, int], sampling: dict[str, float] | dict[str, int], becomes: list[str], *, put: Put
) -> None:
    _, sent, known = put(name, said, **sampling)
    assert sorted(known.parameters) == becomes
    assert not set(becomes) & set(sent)


def test_room_is_cut_to_what_a_model_writes_at_most(put: Put) -> None:
    _, sent, known = put("anthropic/claude-haiku-4-5", {"budget": 40_000})
    assert sent["max_tokens"] == 64_000
    assert known.parameters["max_tokens"] == "with 64000 at most"


@each_row(
    ("anthropic/claude-sonnet-4-6", {"effort": "medium"}),
    ("anthropic/claude-opus-5", {}),
    ("google/gemini-2.5-pro", {}),
)
def test_cut_off_while_thinking_is_told_apart(name: str, said: dict[str, str], *, put: Put) -> None:
    reply, _, _ = put(name, {**said, "limit_kept": True}, max_tokens=2000)
    assert (reply.text, reply.stop_reason) == ("", "thinking")


def test_a_batch_is_asked_the_same_and_learns_what_is_refused(server: LocalServer) -> None:
    model = there(server, "anthropic/claude-opus-4-7", {"effort": "low"})
    assert isinstance(model, BatchModel)
    batches = model.batches()
    assert isinstance(batches, AnthropicBatches)
    assert json.loads(batches.line("n", request()))["params"]["thinking"] == THOUGHT["thinking"]
    trouble = {"type": "invalid_request_error", "message": "`stop_sequences` is deprecated for this model."}
    line = {"custom_id": "n", "result": {"type": "errored", "error": {"type": "error", "error": trouble}}}
    for _ in range(2):
        found = batches._result(json.dumps(line).encode())
        assert found is not None
        assert isinstance(found[1], ModelError)
        assert found[1].retry
    assert "stop_sequences" not in json.loads(batches.line("n", request(stop=("x",))))["params"]
    whole, cut = ask(model, request(), request(stop=("A",)))
    assert isinstance(whole, Response)
    assert isinstance(cut, Response)
    assert (whole.text, cut.text) == ("A", ""), "what is left out there is done here"


def test_a_run_says_what_is_left_out_keeps_thoughts_and_writes_no_secret_down(viva: Viva, server: LocalServer) -> None:
    viva.environment |= dict.fromkeys(("ANTHROPIC_API_KEY", "GEMINI_API_KEY", "A_SECRET"), KEY)
    viva.environment |= dict.fromkeys(("ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"), server.root)
    more = ("--header", "X-Gateway=$A_SECRET", "--system", "Be brief.", "--limit", 2, *QUIET)
    for (provider, model), row in tabled(
        ("anthropic", "anthropic/claude-opus-5-5"),
        ("gemini", "google/gemini-3-flash-preview"),
    ):
        with row:
            server.control(provider=provider)
            ended = viva("run", "cmmlu", "--model", model, "--reasoning-effort", "low", "--run", provider, *more)
            assert ended.code == 0, ended.err
            asked = server.events("asked")[-1]
            assert asked["headers"]["x-gateway"] == KEY
            assert "Be brief." in json.dumps(asked["body"].get("system") or asked["body"]["systemInstruction"])
            entries = viva.entries(provider)
            assert [entry["text"] for entry in entries] == ["A", "A"]
            assert all(entry["reasoning"].startswith("At first sight") for entry in entries)
            assert ended.err.count("refuses temperature") == (provider == "anthropic")
            written = [path.read_text(errors="replace") for path in (viva.folder / provider).rglob("*.json*")]
            assert written
            assert not any(KEY in text for text in (*written, ended.out, ended.err))
