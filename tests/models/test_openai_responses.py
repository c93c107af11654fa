"""OpenAI's Responses API: the real adapter and command line against a stand-in that refuses as documented."""

import json
from typing import Any

import pytest

from models.asking import CHAT, answer, refusal, request
from rows import each_row, tabled
from servers.fixtures import QUIET, LocalServer, Serve, Viva
from viva.contracts import AdaptingModel, Model
from viva.errors import VivaError
from viva.providers import Endpoint, RequestOptions, connect
from viva.runs.open import price_of
from viva.types import Choose, Message

KEY = "the-good-key-of-the-tests"
ROOM = 32_768


@pytest.fixture
def server(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LocalServer:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("A_SECRET", KEY)
    return serve("reasoning.py", provider="openai", key=KEY, thinking=3000)


def there(server: LocalServer, name: str, said: dict[str, Any]) -> Model:
    return connect(f"openai-responses/{name}", Endpoint(base_url=server.url, request=RequestOptions(**said)))


SUMMARY = {"summary": "auto"}
MODELS: list[tuple[str, dict[str, Any], dict[str, Any]]] = [
    ("gpt-4.1", {}, {"temperature": 0, "max_output_tokens": 2048}),
    ("gpt-5", {}, {"max_output_tokens": ROOM, "reasoning": SUMMARY}),
    ("gpt-5-pro", {}, {"max_output_tokens": ROOM, "reasoning": SUMMARY}),
    ("gpt-5", {"effort": "minimal"}, {"max_output_tokens": ROOM, "reasoning": {"effort": "minimal", **SUMMARY}}),
    ("gpt-5", {"keep_reasoning": False}, {"max_output_tokens": ROOM}),
    ("gpt-5.1", {"effort": "none"}, {"temperature": 0, "max_output_tokens": 2048, "reasoning": {"effort": "none"}}),
    ("o1-mini", {}, {"max_output_tokens": ROOM}),
    ("o3-mini", {"stream": "always"}, {"max_output_tokens": ROOM, "reasoning": SUMMARY, "stream": True}),
    ("gpt-4.1", {"fields": (("user", '"u"'), ("store", "null"))}, {
        "temperature": 0, "max_output_tokens": 2048, "user": "u"}),
]  # fmt: skip


@each_row(*MODELS)
def test_models_are_asked_as_each_of_them_is(
    name: str, said: dict[str, Any], body: dict[str, Any], *, server: LocalServer
) -> None:
    model = there(server, name, said)
    assert isinstance(model, AdaptingModel)
    reply = answer(model, request((Message("system", "Be brief."), *CHAT)))
    asked = server.events("asked")[-1]
    assert asked["path"] == "/v1/responses"
    sent = {key: value for key, value in asked["body"].items() if key not in ("model", "input")}
    store = {} if "fields" in said else {"store": False}
    assert sent == {"instructions": "Be brief.", **store, **body}
    assert asked["body"]["input"] == [{"role": "user", "content": CHAT[0].content}]
    thinks = body["max_output_tokens"] == ROOM
    assert (reply.text, reply.stop_reason) == ("A", "stop")
    assert reply.reasoning.startswith("At first") == ("summary" in body.get("reasoning", {}))
    assert bool(reply.usage and reply.usage.reasoning) == bool(model.adapting.known.reasons) == thinks


def test_what_the_api_does_not_have_is_done_here_or_said(server: LocalServer) -> None:
    server.control(text="AB#C")
    model = there(server, "gpt-5", {})
    assert isinstance(model, AdaptingModel)
    reply = answer(model, request(stop=("#",), seed=3, temperature=None))
    assert (reply.text, reply.stop_reason) == ("AB", "stop")
    assert model.adapting.known.parameters == {"stop": "cut here", "seed": "left out"}
    model = there(server, "gpt-4.1", {"limit_kept": True})
    answer(model, request(max_tokens=1))
    assert server.events("asked")[-1]["body"]["max_output_tokens"] == 16


def test_why_a_reply_ended(server: LocalServer) -> None:
    kept = {"limit_kept": True}
    cut = answer(there(server, "gpt-5", kept), request(max_tokens=1000))
    assert (cut.text, cut.stop_reason) == ("", "thinking")
    server.control(text="word " * 100)
    cut = answer(there(server, "gpt-4.1", kept), request(max_tokens=20))
    assert (cut.stop_reason, cut.text[:4]) == ("length", "word")


REFUSED: list[tuple[str, dict[str, Any], str]] = [
    ("gpt-5", {"effort": "xhigh"}, "refuses reasoning, which your options ask for"),
    ("gpt-4.1", {"effort": "low"}, "refuses reasoning, which your options ask for"),
    ("gpt-5", {"budget": 1000}, "takes no budget"),
    ("gpt-5", {"strict": True}, "--strict-parameters"),
    ("gpt-5", {"template_options": (("x", "1"),)}, "no use for --template-option"),
    ("gpt-5", {"fields": (("top_j", "1"),)}, "refuses top_j, which your options ask for"),
    ("gpt-9", {}, "does not exist"),
]


@each_row(*REFUSED)
def test_what_it_does_not_have_is_an_error_at_once(
    name: str, said: dict[str, Any], words: str, *, server: LocalServer
) -> None:
    assert words in error_of(server, name, said)


def error_of(server: LocalServer, name: str, said: dict[str, Any]) -> str:
    """Why nothing is asked, or why no more is."""
    try:
        problem = refusal(there(server, name, said))
    except VivaError as early:
        return str(early)
    return problem.message if problem.fatal else "not fatal"


def test_replies_that_are_none(server: LocalServer) -> None:
    rows = {
        "<html>": True,
        "{}": True,
        '{"output": null, "status": "failed", "error": {"code": "server_error", "message": "So it is."}}': True,
        'data: {"type": "response.created"}\n\n': True,
        'data: {"type": "error", "message": "So it is."}\n\n': True,
        '{"output": 7}': True,
    }
    for (content, again), row in tabled(*rows.items()):
        with row:
            server.control(status=200, verbatim=content)
            assert refusal(there(server, "gpt-5", {})).retry == again


def test_azure_has_the_deployment_in_the_body(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    server = serve("reasoning.py", provider="azure")
    model = connect(
        "openai-responses/mine",
        Endpoint(base_url=server.root, request=RequestOptions(api_version="2025-04-01-preview")),
    )
    refusal(model)  # the stand-in has the chat alone
    asked = server.events("asked")[-1]
    assert (asked["path"], asked["query"]) == ("/openai/responses", {"api-version": "2025-04-01-preview"})
    assert (asked["headers"]["api-key"], asked["body"]["model"]) == (KEY, "mine")


def test_prices_and_choices_are_as_of_a_model_of_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    here, there = connect("openai-responses/gpt-4.1", Endpoint()), connect("openai/gpt-4.1", Endpoint())
    assert price_of(here, None) == price_of(there, None) is not None
    choice = Choose(question="q", sample=0, prompt=CHAT, continuations=("A", "B"), by="next-token")
    with pytest.raises(VivaError, match="answer-by"):
        here.check_supported(choice)
    with pytest.raises(VivaError, match="form base"):
        here.check_supported(request("The answer is"))


def test_a_run_says_what_is_left_out_and_keeps_thoughts(viva: Viva, server: LocalServer) -> None:
    viva.environment |= {"OPENAI_API_KEY": KEY, "A_SECRET": KEY}
    server.control(text="VERDICT: 1")
    model = ("--model", "openai-responses/gpt-5", "--judge", "openai-responses/gpt-5-mini", "--base-url", server.url)
    more = ("--header", "X-Gateway=$A_SECRET", "--reasoning-effort", "low", "--limit", 2, *QUIET)
    ended = viva("run", "csbench", "--run", "run", "--concurrency", "openai=2", *model, *more)
    assert ended.code == 0, ended.err
    assert ended.err.count("gpt-5: the server refuses temperature") == 1
    assert server.events("asked")[-1]["headers"].get("authorization") == f"Bearer {KEY}"
    entries = viva.entries()
    assert entries
    assert all(entry["reasoning"].startswith("At first sight") for entry in entries)
    written = [path.read_text(errors="replace") for path in (viva.folder / "run").rglob("*.json*")]
    assert not any(KEY in text for text in (*written, ended.out, ended.err))
    assert json.loads((viva.folder / "run" / "run.json").read_text())["models"][0]["base_url"] == server.url
