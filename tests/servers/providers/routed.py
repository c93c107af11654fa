"""OpenRouter, DeepSeek and Qwen's DashScope: OpenAI's chat with a dialect. Sources of every row are in ../README.md."""

from .base import Asked, Body, Plan, Reply, listing, think, words
from .openai import completion, counts

dashscope_says = words("dashscope")


def openrouter(plan: Plan, asked: Asked) -> Reply:
    """Answer like OpenRouter, for a model whose thoughts it does not show."""
    body = asked.body
    if asked.method == "GET":
        return listing(["openai/gpt-5"], supported_parameters=["temperature", "max_tokens", "reasoning"])
    limit = body.get("max_tokens") or body.get("max_completion_tokens")
    effort = (body.get("reasoning") or {}).get("effort") or body.get("reasoning_effort") or "medium"
    said = think(plan, body["messages"], effort=effort, limit=limit)
    detail: Body = {"format": "unknown", "index": 0, "type": "reasoning.encrypted", "data": "eA=="}
    shown = {"reasoning": None, "reasoning_details": [detail]}
    reply = completion(plan, body, said, shown, counts(said) | {"cost": said.output / 1e6})
    reply.alive = b": OPENROUTER PROCESSING\n\n" if body.get("stream") else b"\n         \n"
    return reply


def deepseek(plan: Plan, asked: Asked) -> Reply:
    """Answer like DeepSeek: temperature and the like have no effect; blank lines are sent while a request waits."""
    body = asked.body
    if asked.method == "GET":
        return listing(["deepseek-reasoner"], owned_by="deepseek")
    said = think(plan, body["messages"], limit=body.get("max_tokens") or 32768)
    usage = counts(said) | {"prompt_cache_hit_tokens": 0, "prompt_cache_miss_tokens": said.prompt}
    reply = completion(plan, body, said, {"reasoning_content": said.thought}, usage)
    reply.alive = b": keep-alive\n\n" if body.get("stream") else b"\n"
    return reply


QWEN = {"qwen3-32b": ("streaming", 16384), "qwq-plus": ("only_streaming", 8192)}
"""Thinking model → error for a request without streaming, and largest limit."""


def dashscope(plan: Plan, asked: Asked) -> Reply:
    """Answer like DashScope: models think only in streams, and max_tokens limits the reply, not the thought."""
    body = asked.body
    if asked.method == "GET":
        return listing([*QWEN])
    whole, most = QWEN[body["model"]]
    limit = body.get("max_tokens") or body.get("max_completion_tokens") or most
    wrong = dashscope_says(whole) if not body.get("stream") else dashscope_says("most", most=most)
    if not body.get("stream") or limit > most:
        error = {"code": "invalid_parameter_error", "param": None, "message": wrong, "type": "invalid_request_error"}
        return Reply(400, {"error": error, "id": "chatcmpl-1", "request_id": "1"})
    said = think(plan, body["messages"], limit=limit, free=True)
    return completion(plan, body, said, {"reasoning_content": said.thought}, counts(said))
