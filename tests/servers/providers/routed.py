"""OpenRouter, DeepSeek and Qwen's DashScope: OpenAI's chat with a dialect. Sources of every row are in ../README.md."""

import dataclasses
import itertools
from typing import Any

from .base import Asked, Body, Plan, Reply, Said, sse, think, words
from .openai import completion, counts

deepseek_says, dashscope_says, openrouter_says = words("deepseek"), words("dashscope"), words("openrouter")
CHAT = "/chat/completions"


def streamed(body: Body) -> bool:
    """Whether a stream is asked for."""
    return bool(body.get("stream"))


# OpenRouter


@dataclasses.dataclass(frozen=True)
class Routed:
    """A row: whether the model thinks unasked, can be asked to, can be kept from it, and whether thoughts are shown."""

    unasked: bool = True
    able: bool = True
    optional: bool = True
    shown: bool = True
    budgeted: bool = False  # whether an effort becomes a share of max_tokens


ROUTED = {
    "openai/gpt-5": Routed(optional=False, shown=False),
    "deepseek/deepseek-r1": Routed(optional=False),
    "qwen/qwen3-32b": Routed(),
    "anthropic/claude-sonnet-4.5": Routed(unasked=False, budgeted=True),
    "meta-llama/llama-3.3-70b-instruct": Routed(unasked=False, able=False),
}
SHARES = {"xhigh": 0.95, "high": 0.8, "medium": 0.5, "low": 0.2, "minimal": 0.1}
"""Of max_tokens, for models whose thoughts have a budget."""


def openrouter_error(message: str, code: int = 400) -> Reply:
    """An error as OpenRouter writes it."""
    return Reply(code, {"error": {"message": message, "code": code}})


def openrouter(plan: Plan, asked: Asked) -> Reply:
    """OpenRouter: parameters that a model does not know are left out on the way; failures may come under status 200."""
    path = asked.path.removeprefix("/api")
    if plan.key and asked.bearer != plan.key:
        return openrouter_error(openrouter_says("key"), 401)
    if (asked.method, path) == ("GET", "/v1/models"):
        known = ["temperature", "top_p", "max_tokens", "stop", "seed"]
        rows = [
            {"id": name, "supported_parameters": known + (["reasoning", "include_reasoning"] if row.able else [])}
            for name, row in ROUTED.items()
        ]
        return Reply(body={"data": rows})
    if path != f"/v1{CHAT}":
        return openrouter_error("Not Found", 404)
    body = asked.body
    row = ROUTED.get(body.get("model", ""))
    if row is None:
        return openrouter_error(openrouter_says("no_model", model=body.get("model")))
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort") or body.get("reasoning_effort")
    budget = reasoning.get("max_tokens")
    if effort and budget:
        return openrouter_error(openrouter_says("one"))
    off = effort == "none" or reasoning.get("enabled") is False
    if off and not row.optional:
        return openrouter_error(openrouter_says("mandatory"))
    thinks = row.able and not off and (row.unasked or bool(effort or budget or reasoning.get("enabled")))
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    if row.budgeted and thinks and limit:
        budget = budget or max(1024, int(limit * SHARES[effort or "medium"]))
    said = think(
        plan,
        body["messages"],
        effort=effort or "medium" if thinks else "none",
        budget=budget,
        limit=limit,
        stop=body.get("stop"),
    )
    if plan.error_in_body:
        return _failed(plan, body, said)
    detail: Body = {"format": "unknown", "index": 0}
    if not row.shown:
        shown: Body = {
            "reasoning": None,
            "reasoning_details": [detail | {"type": "reasoning.encrypted", "data": "eA=="}],
        }
    else:
        text = said.thought or None
        shown = {
            "reasoning": text,
            "reasoning_details": [detail | {"type": "reasoning.text", "text": text}] if text else [],
        }
    if reasoning.get("exclude") or body.get("include_reasoning") is False:
        shown = {"reasoning": None}
    usage = counts(said) | {"cost": said.output / 1e6}
    reply = completion(plan, body, said, shown, usage)
    reply.alive = b": OPENROUTER PROCESSING\n\n" if streamed(body) else b"\n         \n"
    return reply


def _failed(plan: Plan, body: Body, said: Said) -> Reply:
    """A failure after the model began: under status 200, in the body or as an event of the stream."""
    error = {"code": 502, "message": plan.error_in_body, "metadata": {"provider_name": "Somebody"}}
    if not streamed(body):
        return Reply(body={"id": "gen-1", "model": body["model"], "error": error, "user_id": "u"}, said=said)
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    last = {
        "id": "gen-1",
        "object": "chat.completion.chunk",
        "model": body["model"],
        "error": error,
        "choices": [choice],
    }
    begun = completion(plan, body, said, {"reasoning": said.thought}, {}).chunks or []
    return Reply(chunks=[*begun[:2], sse(last)], content_type="text/event-stream", said=said)


def openrouter_limited(what: str, limit: int, used: int, wanted: int, seconds: float) -> Reply:
    """The refusal of a request over a limit."""
    return openrouter_error(openrouter_says("limit", limit=limit), 429)


# DeepSeek


@dataclasses.dataclass(frozen=True)
class Deep:
    """A row: whether it thinks unasked, whether `thinking` switches it, what it refuses, whether turns alternate."""

    unasked: bool
    switched: bool
    refuses: tuple[str, ...] = ()
    alternate: bool = False
    unlimited: int = 32768  # tokens where no limit is given
    most: int = 65536


DEEP = {
    "deepseek-chat": Deep(False, True, unlimited=4096, most=8192),
    "deepseek-reasoner": Deep(True, False, ("logprobs", "top_logprobs"), alternate=True),
    "deepseek-v4-pro": Deep(True, True, most=393216),
}


def deepseek_error(message: str, status: int = 400, kind: str = "invalid_request_error") -> Reply:
    """An error as DeepSeek writes it."""
    return Reply(status, {"error": {"message": message, "type": kind, "param": None, "code": "invalid_request_error"}})


def deepseek(plan: Plan, asked: Asked) -> Reply:
    """DeepSeek: temperature and the like are taken and do nothing; blank lines come while a request waits."""
    path = asked.path.removeprefix("/v1")
    if plan.key and asked.bearer != plan.key:
        return deepseek_error(deepseek_says("key", key=f"****{asked.bearer[-4:]}"), 401, "authentication_error")
    if (asked.method, path) == ("GET", "/models"):
        rows = [{"id": name, "object": "model", "owned_by": "deepseek"} for name in DEEP]
        return Reply(body={"object": "list", "data": rows})
    if path != CHAT:
        return Reply(404, "")
    body = asked.body
    name = body.get("model", "")
    row = DEEP.get(name)
    if row is None:
        return deepseek_error(deepseek_says("no_model"))
    switch = (body.get("thinking") or {}).get("type") if row.switched else None
    thinks = switch == "enabled" or (row.unasked and switch != "disabled")
    for one in row.refuses:
        if body.get(one):
            return deepseek_error(deepseek_says("parameter", model=name, field=one))
    roles = [turn.get("role") for turn in body["messages"]]
    for at, (one, other) in enumerate(itertools.pairwise(roles)):
        if row.alternate and one == other:
            return deepseek_error(deepseek_says("successive", model=name, first=at, second=at + 1))
    if not 1 <= (limit := body.get("max_tokens") or row.unlimited) <= row.most:
        return deepseek_error(deepseek_says("most", most=row.most))
    effort = body.get("reasoning_effort", "medium") if thinks else "none"
    said = think(plan, body["messages"], effort=effort, limit=limit, stop=body.get("stop"))
    usage = counts(said) | {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": said.prompt}
    reply = completion(plan, body, said, {"reasoning_content": said.thought} if thinks else {}, usage)
    reply.alive = b": keep-alive\n\n" if streamed(body) else b"\n"
    return reply


# DashScope


@dataclasses.dataclass(frozen=True)
class Qwen:
    """A row: whether it thinks unasked, and whether it can do otherwise."""

    unasked: bool = False
    always: bool = False
    able: bool = True
    longest: int = 38912  # tokens of a thought
    most: int = 32768


QWEN = {
    "qwen-plus": Qwen(),
    "qwen3-32b": Qwen(unasked=True, most=16384),
    "qwq-plus": Qwen(unasked=True, always=True, most=8192),
    "qwen2.5-7b-instruct": Qwen(able=False, most=8192),
}


def dashscope_error(message: str, status: int = 400, code: str = "invalid_parameter_error") -> Reply:
    """An error as DashScope's compatible mode writes it."""
    error = {"code": code, "param": None, "message": message, "type": "invalid_request_error"}
    return Reply(status, {"error": error, "id": "chatcmpl-1", "request_id": "1"})


def dashscope(plan: Plan, asked: Asked) -> Reply:
    """DashScope: models think in streams only, and max_tokens limits the reply and not the thought."""
    path = asked.path.removeprefix("/compatible-mode")
    if plan.key and asked.bearer != plan.key:
        return dashscope_error(dashscope_says("key"), 401, "invalid_api_key")
    if (asked.method, path) == ("GET", "/v1/models"):
        return Reply(body={"object": "list", "data": [{"id": name, "object": "model"} for name in QWEN]})
    if path != f"/v1{CHAT}":
        return Reply(404, "")
    body = asked.body
    row = QWEN.get(body.get("model", ""))
    if row is None:
        return dashscope_error(dashscope_says("no_model", model=body.get("model")), 404, "model_not_found")
    switch = body.get("enable_thinking")
    if row.always and switch is False:
        return dashscope_error(dashscope_says("always"))
    thinks = row.able and (row.unasked if switch is None else bool(switch))
    if thinks and not streamed(body):
        return dashscope_error(dashscope_says("only_streaming" if row.always else "streaming"))
    limit: Any = body.get("max_tokens") or body.get("max_completion_tokens")
    if limit is not None and not 1 <= limit <= row.most:
        return dashscope_error(dashscope_says("most", most=row.most))
    budget = body.get("thinking_budget")
    if thinks and budget is not None and not 0 < budget <= row.longest:
        return dashscope_error(dashscope_says("budget", most=row.longest))
    said = think(
        plan,
        body["messages"],
        effort="medium" if thinks else "none",
        budget=budget,
        limit=limit or row.most,
        stop=body.get("stop"),
        free=True,
    )
    return completion(plan, body, said, {"reasoning_content": said.thought} if thinks else {}, counts(said))
