"""Reasoning models of Anthropic, Google and OpenAI's Responses API: the real command line and adapters against
stand-ins that refuse as documented."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from models.asking import ADDRESSES, CHAT, KEY, KEYS, answer, ask, lead_vendors_to, of_each_vendor, refusal, request
from rows import tabled, tables_beside
from servers.fixtures import QUIET, LocalServer, Serve, Viva
from viva.contracts import Adaptation, Model
from viva.errors import VivaError
from viva.providers import Endpoint, RequestOptions, connect
from viva.runs.open import price_of
from viva.types import Choose, Message, Response

ROOM = 32_768
STAND_INS = {"anthropic": "anthropic", "google": "gemini", "openai-responses": "openai"}
Row = tuple[str, dict[str, Any], dict[str, Any]]
"""A model, what the user says of requests, and what of it is sent."""
Put = Callable[..., tuple[Response, dict[str, Any], Adaptation]]


@pytest.fixture
def server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    """The stand-in, with the address and the key where the SDKs look for them."""
    server = serve("reasoning.py", provider="openai", key=KEY)
    lead_vendors_to(server.root, monkeypatch)
    return server


def there(server: LocalServer, name: str, said: dict[str, Any]) -> Model:
    """A model behind the stand-in, which plays its vendor."""
    provider = name.partition("/")[0]
    server.control(provider=STAND_INS[provider])
    url = server.url if provider == "openai-responses" else None
    return connect(name, Endpoint(base_url=url, request=RequestOptions(**said)))


@pytest.fixture
def put(server: LocalServer) -> Put:
    """One reply, the body of the last request for it, and what became known of the model."""

    def one(name: str, said: dict[str, Any], **sampling: Any) -> tuple[Response, dict[str, Any], Adaptation]:
        model = there(server, name, said)
        reply = answer(model, request(**sampling))
        return reply, server.events("asked")[-1]["body"], model.adapting.known

    return one


THOUGHT = {"thinking": {"type": "adaptive", "display": "summarized"}}
OF_ANTHROPIC: list[Row] = [
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


OF_GOOGLE: list[Row] = [
    ("gemini-2.0-flash", {}, {"maxOutputTokens": 2048}),
    ("gemini-2.5-flash-lite", {}, {"maxOutputTokens": 2048}),
    ("gemini-2.5-flash", {}, {"maxOutputTokens": ROOM, "thinkingConfig": {"include_thoughts": True}}),
    ("gemini-2.5-flash", {"budget": 500}, {
        "maxOutputTokens": ROOM + 500, "thinkingConfig": {"include_thoughts": True, "thinking_budget": 500}}),
    ("gemini-2.5-flash", {"effort": "none"}, {
        "maxOutputTokens": 2048, "thinkingConfig": {"thinking_budget": 0}}),
    ("gemini-3-pro-preview", {"effort": "low"}, {
        "maxOutputTokens": ROOM, "thinkingConfig": {"include_thoughts": True, "thinking_level": "LOW"}}),
    ("gemini-2.5-pro", {"keep_reasoning": False}, {"maxOutputTokens": ROOM}),
    ("gemini-2.0-flash", {"fields": (("generationConfig", '{"topK":5}'),)}, {
        "maxOutputTokens": 2048, "topK": 5}),
]  # fmt: skip


SUMMARY = {"summary": "auto"}
OF_OPENAI: list[Row] = [
    ("gpt-4.1", {}, {"temperature": 0, "max_output_tokens": 2048}),
    ("gpt-5", {}, {"max_output_tokens": ROOM, "reasoning": SUMMARY}),
    ("gpt-5-pro", {}, {"max_output_tokens": ROOM, "reasoning": SUMMARY}),
    ("gpt-5", {"effort": "minimal"}, {"max_output_tokens": ROOM, "reasoning": {"effort": "minimal", **SUMMARY}}),
    ("gpt-5", {"keep_reasoning": False}, {"max_output_tokens": ROOM}),
    ("gpt-5.1", {"effort": "none"}, {"temperature": 0, "max_output_tokens": 2048, "reasoning": {"effort": "none"}}),
    ("o1-mini", {}, {"max_output_tokens": ROOM}),
    ("o3-mini", {"stream": "always"}, {"max_output_tokens": ROOM, "reasoning": SUMMARY, "stream": True}),
    ("gpt-4.1", {"fields": (("user", '"u"'), ("store", "null"))}, {
        "temperature": 0, "max_output_tokens": 2048, "user": "u", "store": None}),
]  # fmt: skip


ALWAYS: dict[str, dict[str, Any]] = {"google": {"temperature": 0}, "openai-responses": {"store": False}}
"""What is sent besides, unless the user wants nothing there (None)."""


@of_each_vendor(openai_responses=OF_OPENAI, anthropic=OF_ANTHROPIC, google=OF_GOOGLE)
def test_models_are_asked_as_each_of_them_is(vendor: str, rows: list[Row], put: Put, server: LocalServer) -> None:
    for (name, said, body), row in tabled(*rows):
        with row:
            before = len(server.events("answered"))
            reply, sent, known = put(f"{vendor}/{name}", said)
            given = sent.get("generationConfig") or {
                key: value for key, value in sent.items() if key not in ("model", "messages", "input")
            }
            wanted = ALWAYS.get(vendor, {}) | body
            assert given == {key: value for key, value in wanted.items() if value is not None}
            limit = max(body.get(name, 0) for name in ("max_tokens", "maxOutputTokens", "max_output_tokens"))
            assert (reply.text, reply.stop_reason) == ("A", "stop")
            shown = re.search("'summar|include_thoughts|enabled|adaptive", str(body))
            assert reply.reasoning.startswith("At first") == bool(shown)
            thought = sum(event["thinking"] for event in server.answered()[before:])
            assert (reply.usage.reasoning or 0, reply.usage.output) == (thought, thought + 1)
            assert bool(thought) == bool(known.reasons) == (limit >= ROOM)


REFUSED_BY_OPENAI: list[tuple[str, dict[str, Any], str]] = [
    ("openai-responses/gpt-5", {"effort": "xhigh"}, "refuses reasoning, which your options ask for"),
    ("openai-responses/gpt-4.1", {"effort": "low"}, "refuses reasoning, which your options ask for"),
    ("openai-responses/gpt-5", {"budget": 1000}, "takes no budget"),
    ("openai-responses/gpt-5", {"strict": True}, "--strict-parameters"),
    ("openai-responses/gpt-5", {"template_options": (("x", "1"),)}, "no use for --template-option"),
    ("openai-responses/gpt-5", {"fields": (("top_j", "1"),)}, "refuses top_j, which your options ask for"),
    ("openai-responses/gpt-9", {}, "does not exist"),
]


REFUSED = tables_beside(__file__)["refused"]


@of_each_vendor(
    openai_responses=REFUSED_BY_OPENAI,
    anthropic=[row for row in REFUSED if row[0].startswith("anthropic")],
    google=[row for row in REFUSED if row[0].startswith("google")],
)
def test_what_a_model_does_not_have_is_an_error_at_once(
    vendor: str, rows: list[tuple[str, dict[str, Any], str]], server: LocalServer
) -> None:
    for (name, options, said), row in tabled(*rows):
        with row:
            assert said in error_of(server, name, options)


def error_of(server: LocalServer, name: str, options: dict[str, Any]) -> str:
    """Why nothing is asked, or why no more is."""
    try:
        problem = refusal(there(server, name, options))
    except VivaError as early:
        return str(early)
    return problem.message if problem.fatal else "not fatal"


HERE, OUT, MOST = "cut here", "left out", "with 64000 at most"
SAMPLINGS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, str]]] = [
    ("claude-opus-4-5", {"budget": 2000}, {"top_p": 0.5}, {"temperature": OUT, "top_p": OUT}),
    ("claude-opus-4-5", {"budget": 2000}, {"temperature": 1}, {}),
    ("claude-haiku-4-5", {}, {"seed": 1}, {"seed": OUT}),
    ("claude-haiku-4-5", {}, {"top_p": 0.9}, {"temperature": OUT}),
    ("claude-haiku-4-5", {"budget": 40_000}, {}, {"temperature": OUT, "max_tokens": MOST}),
]


@of_each_vendor(
    openai_responses=[("gpt-5", {}, {"stop": ("#",), "seed": 3, "temperature": None}, {"stop": HERE, "seed": OUT})],
    anthropic=SAMPLINGS,
)
def test_what_is_known_to_be_refused_is_left_out_and_what_is_not_there_done_here(
    vendor: str, rows: list[Any], server: LocalServer, put: Put
) -> None:
    server.control(text="AB#C")
    for (name, said, sampling, becomes), row in tabled(*rows):
        with row:
            reply, sent, known = put(f"{vendor}/{name}", said, **sampling)
            assert dict(known.parameters) == becomes
            assert not becomes.keys() & sent.keys() - {"max_tokens"}
            assert sent.get("max_tokens", 0) <= 64_000
            assert (reply.text, reply.stop_reason) == ("AB" if "stop" in sampling else "AB#C", "stop")


@of_each_vendor(
    openai_responses=[("gpt-5", {})],
    anthropic=[("claude-sonnet-4-6", {"effort": "medium"}), ("claude-opus-5", {})],
    google=[("gemini-2.5-pro", {})],
)
def test_cut_off_while_thinking_is_told_apart(vendor: str, rows: list[tuple[str, dict[str, str]]], put: Put) -> None:
    for (name, said), row in tabled(*rows):
        with row:
            reply, _, _ = put(f"{vendor}/{name}", {**said, "limit_kept": True}, max_tokens=2000)
            assert (reply.text, reply.stop_reason) == ("", "thinking")


@pytest.mark.peers("anthropic")
def test_a_batch_is_asked_the_same_and_learns_what_is_refused(server: LocalServer) -> None:
    model = there(server, "anthropic/claude-opus-4-7", {"effort": "low"})
    batches = model.batches()
    assert json.loads(batches.line("n", request()))["params"]["thinking"] == THOUGHT["thinking"]
    trouble = {"type": "invalid_request_error", "message": "`stop_sequences` is deprecated for this model."}
    line = {"custom_id": "n", "result": {"type": "errored", "error": {"type": "error", "error": trouble}}}
    for _ in range(2):
        found = batches._result(json.dumps(line).encode(), lambda _: None)
        assert found[1].retry
    assert "stop_sequences" not in json.loads(batches.line("n", request(stop=("x",))))["params"]
    whole, cut = ask(model, request(), request(stop=("A",)))
    assert (whole.text, cut.text) == ("A", ""), "what is left out there is done here"


@of_each_vendor(openai_responses="gpt-5", anthropic="claude-opus-5-5", google="gemini-3-flash-preview")
def test_a_run_says_what_is_left_out_keeps_thoughts_and_writes_no_secret_down(
    viva: Viva, server: LocalServer, vendor: str, rows: str
) -> None:
    viva.environment |= KEYS | {"A_SECRET": KEY} | dict.fromkeys(ADDRESSES, server.root)
    server.control(provider=STAND_INS[vendor])
    more = ("--header", "X-Gateway=$A_SECRET", "--system", "Be brief.", "--limit", 2, "--concurrency", 1, *QUIET)
    where = ("--base-url", server.url) if vendor == "openai-responses" else ()
    ended = viva(
        "run", "cmmlu", "--model", f"{vendor}/{rows}", "--reasoning-effort", "low", "--run", "run", *more, *where
    )
    assert ended.code == 0, ended.err
    asked = server.events("asked")[-1]
    assert asked["headers"]["x-gateway"] == KEY
    body = asked["body"]
    assert "Be brief." in json.dumps(body.get("system") or body.get("instructions") or body["systemInstruction"])
    entries = viva.entries()
    assert [entry["text"] for entry in entries] == ["A", "A"]
    assert all(entry["reasoning"].startswith("At first sight") for entry in entries)
    assert ended.err.count("refuses temperature") == (vendor != "google")
    written = [path.read_text(errors="replace") for path in (viva.folder / "run").rglob("*.json*")]
    assert written
    assert not any(KEY in text for text in (*written, ended.out, ended.err))


# --- OpenAI's Responses API alone


def test_what_responses_are_sent_and_at_least(server: LocalServer) -> None:
    server.control(text="word " * 100)
    cut = answer(
        there(server, "openai-responses/gpt-4.1", {"limit_kept": True}),
        request((Message("system", "Be brief."), *CHAT), max_tokens=1),
    )
    asked = server.events("asked")[-1]
    assert asked["path"] == "/v1/responses"
    assert (asked["body"]["instructions"], asked["body"]["input"]) == (
        "Be brief.", [{"role": "user", "content": CHAT[0].content}],
    )  # fmt: skip
    assert asked["body"]["max_output_tokens"] == 16
    assert (cut.stop_reason, cut.text[:4]) == ("length", "word")


def test_responses_that_are_none_are_tried_again(server: LocalServer) -> None:
    for content, row in tabled(
        "<html>",
        "{}",
        '{"output": null, "status": "failed", "error": {"code": "server_error", "message": "So it is."}}',
        'data: {"type": "response.created"}\n\n',
        'data: {"type": "error", "message": "So it is."}\n\n',
        '{"output": 7}',
    ):
        with row:
            server.control(status=200, verbatim=content)
            assert refusal(there(server, "openai-responses/gpt-5", {})).retry


def test_azure_has_the_deployment_in_the_body(server: LocalServer) -> None:
    server.control(provider="azure")
    said = RequestOptions(api_version="2025-04-01-preview")
    refusal(connect("openai-responses/mine", Endpoint(base_url=server.root, request=said)))  # it has the chat alone
    asked = server.events("asked")[-1]
    assert (asked["path"], asked["query"]) == ("/openai/responses", {"api-version": "2025-04-01-preview"})
    assert (asked["headers"]["api-key"], asked["body"]["model"]) == (KEY, "mine")


def test_prices_and_choices_are_as_of_a_model_of_openais(server: LocalServer) -> None:
    here, chat = connect("openai-responses/gpt-4.1", Endpoint()), connect("openai/gpt-4.1", Endpoint())
    assert price_of(here, None) == price_of(chat, None) is not None
    choice = Choose(question="q", sample=0, prompt=CHAT, continuations=("A", "B"), by="next-token")
    with pytest.raises(VivaError, match="answer-by"):
        here.check_supported(choice)
    with pytest.raises(VivaError, match="form base"):
        here.check_supported(request("The answer is"))
