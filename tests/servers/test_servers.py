"""The stand-ins for providers do as the documentation says that README.md cites, over real sockets."""

from __future__ import annotations

import http.client
import json
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest

from rows import table, tabled
from servers.fixtures import LocalServer

CHAT, RESPONSES = "/v1/chat/completions", "/v1/responses"
MESSAGES = "/v1/messages"
QUESTION = "Which of A, B, C and D is a stack?"
USER = {"messages": [{"role": "user", "content": QUESTION}]}
GEMINI = {"contents": [{"role": "user", "parts": [{"text": QUESTION}]}]}
VERSION = {"anthropic-version": "2023-06-01"}
GOLD = {QUESTION: "B"}


class Got(NamedTuple):
    """A reply over the wire."""

    status: int
    headers: dict[str, str]
    content: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.content)

    @property
    def events(self) -> list[Any]:
        """The data of a stream; None for [DONE]."""
        lines = [line[6:] for line in self.content.decode().splitlines() if line.startswith("data: ")]
        return [None if line == "[DONE]" else json.loads(line) for line in lines]


def ask(server: LocalServer, path: str, body: Any = None, headers: dict[str, str] | None = None) -> Got:
    """One request on a connection of its own: POST where there is a body."""
    connection = http.client.HTTPConnection(server.root.removeprefix("http://"), timeout=60)
    try:
        content = None if body is None else json.dumps(body)
        connection.request("GET" if body is None else "POST", path, content, headers or {})
        reply = connection.getresponse()
        return Got(reply.status, {name.lower(): value for name, value in reply.getheaders()}, reply.read())
    finally:
        connection.close()


@pytest.fixture
def stand(serve: Callable[..., LocalServer]) -> Callable[..., LocalServer]:
    """Start a stand-in: `stand("vllm", thinking=50)`; it knows the question above."""
    return lambda provider, **plan: serve("reasoning.py", provider=provider, gold=GOLD, **plan)


def said(got: Got) -> str:
    """The words of an error, in whatever shape."""
    body = got.body
    found = body.get("error", body) if isinstance(body, dict) else body
    return found if isinstance(found, str) else found.get("message", str(found))


# (request, the beginning of the error, status)
OPENAI_CHAT = [
    ({"model": "gpt-5", "temperature": 0}, "Unsupported value: 'temperature' does not support 0 with this model.", 400),
    ({"model": "gpt-5", "max_tokens": 9}, "Unsupported parameter: 'max_tokens' is not supported with this model.", 400),
    ({"model": "gpt-5", "stop": ["\n"]}, "Unsupported parameter: 'stop'", 400),
    ({"model": "gpt-5", "top_p": 0.5}, "Unsupported value: 'top_p' does not support 0.5", 400),
    ({"model": "gpt-5", "logprobs": True}, "You are not allowed to request logprobs", 403),
    ({"model": "gpt-5", "top_k": 1}, "Unrecognized request argument supplied: top_k", 400),
    ({"model": "gpt-5", "reasoning_effort": "xhigh"}, "Unsupported value: 'reasoning_effort' does not support", 400),
    ({"model": "gpt-5.1", "reasoning_effort": "minimal"}, "Unsupported value: 'reasoning_effort'", 400),
    ({"model": "o1-mini", "reasoning_effort": "low"}, "Unsupported parameter: 'reasoning_effort'", 400),
    ({"model": "gpt-4.1", "reasoning_effort": "low"}, "Unrecognized request argument supplied", 400),
    ({"model": "o3-mini", "temperature": 0}, "Unsupported parameter: 'temperature'", 400),
    ({"model": "gpt-5", "max_completion_tokens": 200000}, "max_tokens is too large: 200000", 400),
    ({"model": "gpt-5-pro"}, "This model is only supported in v1/responses", 404),
    ({"model": "gpt-9"}, "The model `gpt-9` does not exist", 404),
]


def test_openai_refuses_what_models_that_reason_do_not_take(stand: Callable[..., LocalServer]) -> None:
    server = stand("openai")
    with table() as row:
        for body, words, status in OPENAI_CHAT:
            with row(body):
                got = ask(server, CHAT, USER | body)
                assert (got.status, said(got)[: len(words)]) == (status, words)
        with row("system"):
            got = ask(server, CHAT, {"model": "o1-mini", "messages": [{"role": "system", "content": "x"}]})
            assert got.body["error"]["param"] == "messages[0].role"
            assert got.body["error"]["code"] == "unsupported_value"
        for model in ("gpt-5.1", "gpt-4.1"):
            with row(f"{model}, which does not think unasked"):
                assert ask(server, CHAT, USER | {"model": model, "temperature": 0, "logprobs": True}).status == 200
    assert server.events("refused")[0]["body"]["error"]["param"] == "temperature"


def test_openai_counts_thoughts_and_shows_none(stand: Callable[..., LocalServer]) -> None:
    server = stand("openai", thinking=300)
    body = ask(server, CHAT, USER | {"model": "gpt-5"}).body
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "B"}
    assert body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 300
    assert body["usage"]["completion_tokens"] == 301
    cut = ask(server, CHAT, USER | {"model": "gpt-5", "max_completion_tokens": 200}).body
    assert (cut["choices"][0]["message"]["content"], cut["choices"][0]["finish_reason"]) == ("", "length")
    high = ask(server, CHAT, USER | {"model": "gpt-5", "reasoning_effort": "high"}).body
    assert high["usage"]["completion_tokens_details"]["reasoning_tokens"] == 600
    server.control(room_error=True)
    assert ask(server, CHAT, USER | {"model": "gpt-5", "max_completion_tokens": 200}).status == 400


RESPONSES_REFUSED = [
    ({"stop": ["x"]}, "stop", "unknown_parameter"),
    ({"seed": 1}, "seed", "unknown_parameter"),
    ({"max_tokens": 99}, "max_tokens", "unknown_parameter"),
    ({"logprobs": True}, "logprobs", "unknown_parameter"),
    ({"temperature": 0}, "temperature", None),
    ({"top_logprobs": 5}, "top_logprobs", "unsupported_parameter"),
    ({"include": ["message.output_text.logprobs"]}, "include", "unsupported_parameter"),
    ({"max_output_tokens": 5}, "max_output_tokens", "integer_below_min_value"),
    ({"reasoning": {"effort": "none"}}, "reasoning.effort", "unsupported_value"),
    ({"reasoning": {"summary": "all"}}, "reasoning.summary", "invalid_value"),
    ({"messages": []}, None, "unsupported_parameter"),
    ({"stream_options": {"include_usage": True}}, "stream_options.include_usage", "unknown_parameter"),
]


def test_the_responses_api(stand: Callable[..., LocalServer]) -> None:
    server = stand("openai", thinking=200)
    base = {"model": "gpt-5", "input": QUESTION}
    for (more, param, code), row in tabled(*RESPONSES_REFUSED):
        with row:
            got = ask(server, RESPONSES, base | more)
            assert (got.status, got.body["error"]["param"], got.body["error"]["code"]) == (400, param, code)
    whole = ask(server, RESPONSES, base | {"instructions": "Be brief.", "reasoning": {"summary": "auto"}}).body
    thought, reply = whole["output"]
    assert thought["type"] == "reasoning"
    assert "Answer: C" in thought["summary"][0]["text"]
    assert reply["content"][0]["text"] == "B"
    assert whole["usage"]["output_tokens_details"] == {"reasoning_tokens": 200}
    cut = ask(server, RESPONSES, base | {"max_output_tokens": 100}).body
    assert (cut["status"], cut["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
    assert [item["type"] for item in cut["output"]] == ["reasoning"]
    events = ask(server, RESPONSES, base | {"stream": True}).events
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["usage"]["output_tokens"] == 201


def test_azure(stand: Callable[..., LocalServer]) -> None:
    server = stand("azure", key="k", deployments={"mine": "gpt-5-mini"})
    path = "/openai/deployments/{}/chat/completions?api-version={}"
    key = {"api-key": "k"}
    assert ask(server, path.format("mine", "2025-01-01"), USER, key).body["choices"][0]["message"]["content"] == "B"
    assert ask(server, "/openai/v1/chat/completions", USER | {"model": "mine"}, key).status == 200
    assert ask(server, path.format("mine", "2025-01-01"), USER).body["error"]["code"] == "401"
    assert ask(server, path.format("other", "2025-01-01"), USER, key).body["error"]["code"] == "DeploymentNotFound"
    assert ask(server, path.format("mine", ""), USER, key).status == 404
    old = ask(server, path.format("mine", "2024-06-01"), USER | {"reasoning_effort": "low"}, key)
    assert said(old) == "Unrecognized request argument supplied: reasoning_effort"
    asked = server.events("asked")[0]
    assert (asked["query"], asked["headers"]["api-key"]) == ({"api-version": "2025-01-01"}, "k")


def thinking(budget: int) -> dict[str, Any]:
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}


ADAPTIVE = {"thinking": {"type": "adaptive"}}
ANTHROPIC = [
    (
        "claude-sonnet-4-5",
        {"max_tokens": 4000, "temperature": 0, **thinking(1024)},
        "`temperature` may only be set to 1",
    ),
    (
        "claude-sonnet-4-5",
        {"max_tokens": 4000, "top_p": 0.5, **thinking(1024)},
        "`top_p` must be greater than or equal",
    ),
    ("claude-sonnet-4-5", {"max_tokens": 4000, **thinking(4000)}, "`max_tokens` must be greater than `thinking.budget"),
    (
        "claude-sonnet-4-5",
        {"max_tokens": 4000, **thinking(1000)},
        "thinking.enabled.budget_tokens: Input should be greater",
    ),
    ("claude-sonnet-4-5", {"max_tokens": 4000, **ADAPTIVE}, "adaptive thinking is not supported on this model"),
    (
        "claude-sonnet-4-5",
        {"max_tokens": 9, "output_config": {"effort": "low"}},
        "This model does not support the effort",
    ),
    ("claude-sonnet-4-5", {"max_tokens": 9, "temperature": 0, "top_p": 1}, "`temperature` and `top_p` cannot both"),
    ("claude-sonnet-4-5", {}, "max_tokens: Field required"),
    ("claude-sonnet-4-5", {"max_tokens": 9, "seed": 1}, "seed: Extra inputs are not permitted"),
    ("claude-sonnet-4-5", {"max_tokens": 64001}, "max_tokens: 64001 > 64000, which is the maximum allowed number"),
    ("claude-opus-4-7", {"max_tokens": 9, "temperature": 1}, "`temperature` is deprecated for this model."),
    (
        "claude-opus-4-7",
        {"max_tokens": 4000, **thinking(2000)},
        '"thinking.type.enabled" is not supported for this model.',
    ),
    (
        "claude-opus-5-5",
        {"max_tokens": 9, "thinking": {"type": "disabled"}},
        '"thinking.type.disabled" is not supported',
    ),
    (
        "claude-opus-5-5",
        {"max_tokens": 9, "messages": [*USER["messages"], {"role": "assistant"}]},
        "This model does not",
    ),
    ("claude-3-5-haiku-latest", {"max_tokens": 4000, **thinking(2000)}, "'claude-3-5-haiku-latest' does not support"),
]


def test_anthropic(stand: Callable[..., LocalServer]) -> None:
    server = stand("anthropic", key="k", redacted=True)
    headers = VERSION | {"x-api-key": "k"}
    for (model, body, words), row in tabled(*ANTHROPIC):
        with row:
            got = ask(server, MESSAGES, USER | {"model": model} | body, headers)
            assert (got.status, said(got)[: len(words)]) == (400, words)
    assert ask(server, MESSAGES, USER, VERSION).status == 401
    later = {"anthropic-version": "2026-10-21", "x-api-key": "k"}
    sampled = USER | {"model": "claude-haiku-4-5", "max_tokens": 9, "temperature": 1}
    assert said(ask(server, MESSAGES, sampled, later)) == "temperature: Extra inputs are not permitted"
    able = {row["id"]: row["capabilities"]["thinking"] for row in ask(server, "/v1/models", None, later).body["data"]}
    assert able["claude-opus-5-5"]["types"]["adaptive"]["supported"]
    assert not able["claude-3-5-haiku-latest"]["supported"]
    unasked = ask(server, MESSAGES, USER | {"model": "claude-opus-5", "max_tokens": 9}, later).body
    assert (unasked["content"][0]["type"], unasked["stop_reason"]) == ("thinking", "max_tokens")
    body = USER | {"model": "claude-sonnet-4-5", "max_tokens": 4000, **thinking(2000)}
    whole = ask(server, MESSAGES, body, headers).body
    assert [block["type"] for block in whole["content"]] == ["thinking", "redacted_thinking", "text"]
    assert whole["usage"]["output_tokens"] == 2001
    shown = USER | {"model": "claude-opus-4-7", "max_tokens": 1000, **ADAPTIVE}
    cut = ask(server, MESSAGES, shown, headers).body
    assert cut["stop_reason"] == "max_tokens"
    assert cut["content"][0]["thinking"] == ""
    events = ask(server, MESSAGES, body | {"stream": True}, headers).events
    deltas = [event["delta"]["type"] for event in events if event["type"] == "content_block_delta"]
    assert {*deltas} == {"thinking_delta", "signature_delta", "text_delta"}
    assert events[-2]["usage"]["output_tokens_details"] == {"thinking_tokens": 2000}


GOOGLE = [
    ("gemini-2.5-pro", {"thinkingBudget": 0}, "Budget 0 is invalid. This model only works in thinking mode."),
    ("gemini-2.5-pro", {"thinkingBudget": 52428}, "The thinking budget (52428) is invalid."),
    ("gemini-2.5-flash", {"thinkingLevel": "low"}, "Thinking level is not supported for this model."),
    ("gemini-3-pro-preview", {"thinkingLevel": "minimal"}, "Thinking level MINIMAL is not supported for this model."),
    ("gemini-3-pro-preview", {"thinkingLevel": "low", "thinkingBudget": 200}, "You can only set only one of thinking"),
    ("gemini-2.5-pro", {"effort": "low"}, 'Invalid JSON payload received. Unknown name "effort"'),
]


def test_gemini(stand: Callable[..., LocalServer]) -> None:
    server = stand("gemini", thinking=500)
    path = "/v1beta/models/{}:generateContent"
    for (model, config, words), row in tabled(*GOOGLE):
        with row:
            got = ask(server, path.format(model), GEMINI | {"generationConfig": {"thinkingConfig": config}})
            assert (got.status, said(got)[: len(words)]) == (400, words)
    config = {"thinkingConfig": {"thinkingBudget": 200, "includeThoughts": True}}
    whole = ask(server, path.format("gemini-2.5-flash"), GEMINI | {"generationConfig": config}).body
    thought, reply = whole["candidates"][0]["content"]["parts"]
    assert (thought["thought"], reply) == (True, {"text": "B"})
    assert whole["usageMetadata"]["thoughtsTokenCount"] == 200
    cut = ask(server, path.format("gemini-2.5-pro"), GEMINI | {"generationConfig": {"maxOutputTokens": 100}}).body
    assert cut["candidates"] == [{"content": {"role": "model"}, "index": 0, "finishReason": "MAX_TOKENS"}]
    assert "candidatesTokenCount" not in cut["usageMetadata"]
    streamed = ask(server, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse", GEMINI).events
    assert "".join(part["text"] for one in streamed for part in one["candidates"][0]["content"]["parts"]) == "B"


def message(got: Got) -> dict[str, Any]:
    return got.body["choices"][0]["message"]


def test_vllm_and_sglang(stand: Callable[..., LocalServer]) -> None:
    with table() as row:
        for provider in ("vllm", "sglang"):
            server = stand(provider, thinking=50, context=1000)
            body = USER | {"model": "qwen3"}
            with row(f"{provider}: the thought of its own"):
                assert message(ask(server, CHAT, body))["content"] == "B"
                assert message(ask(server, CHAT, body))["reasoning_content"].startswith("At first sight: Answer: C")
            with row(f"{provider}: cut in thought"):
                assert not message(ask(server, CHAT, body | {"max_tokens": 20}))["content"]
            with row(f"{provider}: a stop text ends the thought, and all"):
                stopped = message(ask(server, CHAT, body | {"stop": ["Let me"]}))
                assert (stopped["content"] or "", stopped["reasoning_content"]) == ("", "At first sight: Answer: C\n")
            with row(f"{provider}: switched off"):
                off = {"chat_template_kwargs": {"enable_thinking": False}}
                assert message(ask(server, CHAT, body | off)) == {
                    "role": "assistant",
                    "content": "B",
                    "reasoning_content": None,
                }
            with row(f"{provider}: too much"):
                got = ask(server, CHAT, body | {"max_tokens": 1000})
                assert (got.status, "maximum context length" in said(got)) == (400, True)
            with row(f"{provider}: the list of models"):
                assert ask(server, "/v1/models").body["data"][0]["max_model_len"] == 1000
            with row(f"{provider}: what is probable, of the thought first"):
                scored = {"logprobs": True, "top_logprobs": 4}
                first = ask(server, CHAT, body | scored).body["choices"][0]["logprobs"]["content"][0]
                assert first["token"] == "At f"
                first = ask(server, CHAT, body | off | scored).body["choices"][0]["logprobs"]["content"][0]
                assert [one["token"] for one in first["top_logprobs"]] == ["B", "A", "C", "D"]
            server.control(parser="", opened=True)
            with row(f"{provider}: no parser, and the template opened the thought"):
                content = message(ask(server, CHAT, body))["content"]
                assert "<think>" not in content
                assert content.endswith("\n</think>\n\nB")
                assert "think>" not in message(ask(server, CHAT, body | {"max_tokens": 20}))["content"]


def test_streams_tell_usage_when_they_are_asked(stand: Callable[..., LocalServer]) -> None:
    server = stand("vllm", thinking=50, parser="reasoning")
    body = USER | {"model": "qwen3", "stream": True}
    plain = ask(server, CHAT, body).events
    assert plain[-1] is None
    assert all(one is None or "usage" not in one for one in plain)
    counted = ask(server, CHAT, body | {"stream_options": {"include_usage": True}}).events
    assert counted[-2]["usage"]["completion_tokens"] == 51
    assert counted[-2]["choices"] == []
    deltas = [one["choices"][0]["delta"] for one in plain if one]
    assert "".join(delta.get("content") or "" for delta in deltas) == "B"
    assert "".join(delta.get("reasoning") or "" for delta in deltas).startswith("At first sight")


def test_limits(stand: Callable[..., LocalServer]) -> None:
    server = stand("openai", thinking=0, limits={"requests": 2, "tokens": 5000}, window=3600.0)
    body = USER | {"model": "gpt-5", "max_completion_tokens": 1000}
    first = ask(server, CHAT, body)
    assert first.headers["x-ratelimit-remaining-tokens"] == "4000"
    assert first.headers["x-ratelimit-limit-requests"] == "2"
    assert ask(server, CHAT, body | {"max_completion_tokens": 4500}).body["error"]["type"] == "tokens"
    assert ask(server, CHAT, body).status == 200
    refused = ask(server, CHAT, body)
    assert (refused.status, refused.body["error"]["code"]) == (429, "rate_limit_exceeded")
    assert 1700 < float(refused.headers["retry-after"]) <= 1800
    server = stand("anthropic", limits={"output-tokens": 500}, window=3600.0, thinking=0)
    headers = VERSION
    whole = ask(server, MESSAGES, USER | {"model": "claude-sonnet-4-5", "max_tokens": 9}, headers)
    assert whole.headers["anthropic-ratelimit-output-tokens-remaining"] == "500"
    server.control(text="A" * 4000, gold={})
    ask(server, MESSAGES, USER | {"model": "claude-sonnet-4-5", "max_tokens": 900}, headers)
    spent = ask(server, MESSAGES, USER | {"model": "claude-sonnet-4-5", "max_tokens": 9}, headers)
    assert (spent.status, spent.body["error"]["type"]) == (429, "rate_limit_error")
    assert spent.headers["anthropic-ratelimit-output-tokens-remaining"] == "0"


def test_a_proxy_cuts_what_is_silent_and_not_what_streams(stand: Callable[..., LocalServer]) -> None:
    server = stand("vllm", thinking=50, rate=170.0, cut_after=0.15)
    body = USER | {"model": "qwen3"}
    assert ask(server, CHAT, body).status == 504
    assert ask(server, CHAT, body | {"stream": True}).events[-1] is None
    server.control(cut_with="reset")
    with pytest.raises(ConnectionError):
        ask(server, CHAT, body)
    assert len(server.events("cut")) == 2


def test_llama_cpp(stand: Callable[..., LocalServer]) -> None:
    server = stand("llamacpp", thinking=50, context=200)
    body = USER | {"model": "any"}
    assert message(ask(server, CHAT, body))["reasoning_content"].startswith("At first sight")
    assert message(ask(server, CHAT, body | {"reasoning_format": "none"}))["content"].startswith("<think>\n")
    assert message(ask(server, CHAT, body | {"reasoning_effort": "none"}))["reasoning_content"] is None
    assert ask(server, "/props").body["default_generation_settings"]["n_ctx"] == 200
    error = ask(server, CHAT, {"model": "any", "messages": [{"role": "user", "content": "x" * 900}]}).body["error"]
    assert (error["type"], error["n_prompt_tokens"], error["n_ctx"]) == ("exceed_context_size_error", 225, 200)
    server.control(thinking=500)
    cut = ask(server, CHAT, body).body
    assert (cut["choices"][0]["finish_reason"], cut["choices"][0]["message"]["content"]) == ("length", "")


def test_ollama(stand: Callable[..., LocalServer]) -> None:
    server = stand("ollama", thinking=50)
    native = USER | {"model": "qwen3", "stream": False}
    whole = ask(server, "/api/chat", native | {"think": True}).body
    assert (whole["message"]["content"], whole["eval_count"], whole["done_reason"]) == ("B", 51, "stop")
    assert whole["message"]["thinking"].startswith("At first sight")
    assert "thinking" not in ask(server, "/api/chat", native | {"think": False}).body["message"]
    cut = ask(server, "/api/chat", native | {"options": {"num_predict": 20}}).body
    assert (cut["message"]["content"], cut["done_reason"]) == ("", "length")
    lines = ask(server, "/api/chat", USER | {"model": "qwen3"}).content.splitlines()
    assert "".join(json.loads(line)["message"]["content"] for line in lines) == "B"
    gpt_oss = [ask(server, "/api/chat", native | {"model": "gpt-oss", "think": one}).body for one in ("low", False)]
    assert [one["eval_count"] for one in gpt_oss] == [13, 51]
    for name, capable in (("qwen3", True), ("llama3.2", False)):
        shown = ask(server, "/api/show", {"model": name}).body
        assert ("thinking" in shown["capabilities"]) is capable
    refused = ask(server, "/api/chat", native | {"model": "llama3.2", "think": True})
    assert (refused.status, refused.body) == (400, {"error": '"llama3.2" does not support thinking'})
    compatible = ask(server, CHAT, USER | {"model": "llama3.2", "reasoning_effort": "low"})
    assert (compatible.status, compatible.body["error"]["type"]) == (400, "api_error")
    assert message(ask(server, CHAT, USER | {"model": "qwen3", "reasoning_effort": "high"}))["reasoning"]
    assert "reasoning" not in message(ask(server, CHAT, USER | {"model": "qwen3", "reasoning_effort": "none"}))
    assert ask(server, CHAT, USER | {"model": "qwen3", "reasoning_effort": "minimal"}).status == 400
    server.control(old=True)
    assert said(ask(server, CHAT, USER | {"model": "qwen3", "reasoning_effort": "low"})).startswith("think value")
    assert ask(server, "/api/chat", USER | {"model": "none"}).status == 404


OPENROUTER = [
    ({"reasoning": {"effort": "low", "max_tokens": 2000}}, 'Only one of "reasoning.effort"'),
    ({"reasoning": {"enabled": False}}, "Reasoning is mandatory for this endpoint"),
    ({"model": "x/y"}, "x/y is not a valid model ID"),
]


def test_openrouter(stand: Callable[..., LocalServer]) -> None:
    server = stand("openrouter", thinking=50, keepalive=0.02, latency=0.09)
    path = "/api/v1/chat/completions"
    body = USER | {"model": "deepseek/deepseek-r1", "temperature": 0, "top_k": 3}
    whole = ask(server, path, body)
    assert whole.content.startswith(b"\n         \n")
    assert message(whole)["reasoning"] == message(whole)["reasoning_details"][0]["text"]
    assert whole.body["usage"]["completion_tokens_details"]["reasoning_tokens"] == 50
    streamed = ask(server, path, body | {"stream": True})
    assert streamed.content.startswith(b": OPENROUTER PROCESSING\n\n")
    assert "".join(one["choices"][0]["delta"].get("reasoning", "") for one in streamed.events if one)
    server.control(latency=0.0)
    for (more, words), row in tabled(*OPENROUTER):
        with row:
            got = ask(server, path, body | more)
            assert (got.status, said(got)[: len(words)]) == (400, words)
    assert message(ask(server, path, body | {"reasoning": {"exclude": True}}))["reasoning"] is None
    claude = body | {"model": "anthropic/claude-sonnet-4.5"}
    assert message(ask(server, path, claude))["reasoning"] is None
    assert message(ask(server, path, claude | {"reasoning": {"effort": "low"}}))["reasoning"]
    server.control(error_in_body="Provider returned error")
    failed = ask(server, path, body)
    assert (failed.status, failed.body["error"]["code"]) == (200, 502)
    assert ask(server, path, body | {"stream": True}).events[-1]["choices"][0]["finish_reason"] == "error"


def test_deepseek(stand: Callable[..., LocalServer]) -> None:
    server = stand("deepseek", thinking=50, keepalive=0.02, latency=0.05)
    body = USER | {"model": "deepseek-reasoner", "temperature": 0, "top_p": 0.1}
    whole = ask(server, "/chat/completions", body)
    assert whole.content.startswith(b"\n\n{")
    assert message(whole)["reasoning_content"].startswith("At first sight")
    assert ask(server, CHAT, body | {"stream": True}).content.startswith(b": keep-alive\n\n")
    refused = ask(server, CHAT, body | {"logprobs": True})
    assert said(refused) == "deepseek-reasoner does not support the parameter `logprobs`"
    twice = ask(server, CHAT, body | {"messages": USER["messages"] * 2})
    assert said(twice).startswith(
        "deepseek-reasoner does not support successive user or assistant messages (messages[0]"
    )
    assert said(ask(server, CHAT, body | {"max_tokens": 70000})).endswith("is [1, 65536]")
    plain = USER | {"model": "deepseek-chat"}
    assert "reasoning_content" not in message(ask(server, CHAT, plain))
    assert message(ask(server, CHAT, plain | {"thinking": {"type": "enabled"}}))["reasoning_content"]


DASHSCOPE = [
    ({"model": "qwen3-32b"}, "parameter.enable_thinking must be set to false for non-streaming calls"),
    ({"model": "qwen-plus", "enable_thinking": True}, "parameter.enable_thinking must be set to false"),
    ({"model": "qwq-plus"}, "This model only support stream mode"),
    ({"model": "qwen-plus", "max_tokens": 99999}, "<400> InternalError.Algo.InvalidParameter: Range of max_tokens"),
    ({"model": "qwen3-32b", "stream": True, "thinking_budget": 0}, "The thinking_budget parameter must be a positive"),
]


def test_dashscope(stand: Callable[..., LocalServer]) -> None:
    server = stand("dashscope", thinking=500)
    path = f"/compatible-mode{CHAT}"
    for (body, words), row in tabled(*DASHSCOPE):
        with row:
            got = ask(server, path, USER | body)
            assert (got.status, said(got)[: len(words)]) == (400, words)
    assert message(ask(server, path, USER | {"model": "qwen3-32b", "enable_thinking": False}))["content"] == "B"
    body = {"model": "qwen3-32b", "stream": True, "max_tokens": 10, "stream_options": {"include_usage": True}}
    events = ask(server, path, USER | body).events  # max_tokens limits the reply, not the thought
    assert events[-2]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 500
    short = ask(server, path, USER | body | {"thinking_budget": 100}).events
    assert short[-2]["usage"]["completion_tokens_details"]["reasoning_tokens"] == 100


def test_others_refuse_in_their_own_words(stand: Callable[..., LocalServer]) -> None:
    server = stand("compatible", refuses=["seed", "system"], thinking=50)
    with table() as row:
        for dialect in ("xai", "xai-parameter", "mistral", "vllm-strict", "litellm", "groq", "databricks", "text"):
            with row(dialect):
                server.control(dialect=dialect)
                got = ask(server, CHAT, USER | {"model": "m", "seed": 0})
                assert (got.status // 100, b"seed" in got.content) == (4, True)
        with row("nameless"):
            server.control(dialect="nameless")
            assert b"seed" not in ask(server, CHAT, USER | {"model": "m", "seed": 0}).content
        with row("system"):
            got = ask(server, CHAT, {"model": "m", "messages": [{"role": "system", "content": "x"}]})
            assert said(got) == "System role not supported"
        with row("taken"):
            assert message(ask(server, CHAT, USER | {"model": "m", "temperature": 0}))["content"] == "B"


@pytest.mark.slow
@pytest.mark.peers("anthropic", "google.genai")
def test_the_vendors_own_clients_read_what_is_said(stand: Callable[..., LocalServer]) -> None:
    import anthropic
    from google import genai

    server = stand("anthropic", redacted=True)
    turns: Any = [{"role": "user", "content": QUESTION}]
    with anthropic.Anthropic(base_url=server.root, api_key="k", max_retries=0) as client:
        adaptive: Any = {"type": "adaptive", "display": "summarized"}
        asked: Any = {"model": "claude-opus-5-5", "max_tokens": 9000, "thinking": adaptive, "messages": turns}
        whole = client.messages.create(**asked)
        with client.messages.stream(**asked) as stream:
            streamed = stream.get_final_message()
        for reply in (whole, streamed):
            assert [block.type for block in reply.content] == ["thinking", "redacted_thinking", "text"]
            assert reply.usage.output_tokens_details is not None
            assert reply.usage.output_tokens_details.thinking_tokens == 3000
        assert client.models.retrieve("claude-opus-5-5").max_tokens == 128000
        with pytest.raises(anthropic.BadRequestError, match="Extra inputs are not permitted"):
            client.messages.create(**asked, extra_body={"temperature": 0})
    server.control(provider="gemini")
    client_of_google = genai.Client(api_key="k", http_options={"base_url": server.root})
    config: Any = {"thinking_config": {"include_thoughts": True, "thinking_budget": 100}}
    parts = client_of_google.models.generate_content(model="gemini-2.5-flash", contents=QUESTION, config=config).parts
    assert parts is not None
    assert [(part.thought, len(part.text or "")) for part in parts] == [(True, 400), (None, 1)]
    cut = client_of_google.models.generate_content(
        model="gemini-2.5-pro", contents=QUESTION, config={"max_output_tokens": 50}
    )
    assert (cut.text, cut.usage_metadata and cut.usage_metadata.thoughts_token_count) == (None, 50)
