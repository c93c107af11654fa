"""Ollama: its own API, and the OpenAI one over it. Sources of every row are in ../README.md."""

from __future__ import annotations

import json

from .base import CHARACTERS, EFFORTS, Asked, Body, Plan, Reply, Said, pieces, think, words
from .openai import completion
from .selfhosted import plain

says = words("ollama")
LEVELS = ("low", "medium", "high", "max")
THINKS = {"qwen3": True, "gpt-oss": True, "llama3.2": False}
"""Models, and whether they have the capability; every other name of `Plan.models` thinks."""
CREATED = "2026-11-01T00:00:00Z"


def known(plan: Plan) -> dict[str, bool]:
    """The models that were pulled, and which of them think."""
    return THINKS if not plan.models else {name: THINKS.get(name, True) for name in plan.models}


def answer(plan: Plan, asked: Asked) -> Reply:
    """Ollama."""
    models, body = known(plan), asked.body
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "library"} for name in models]
        return Reply(body={"object": "list", "data": rows})
    if (asked.method, asked.path) == ("GET", "/api/tags"):
        return Reply(body={"models": [{"name": f"{name}:latest", "model": f"{name}:latest"} for name in models]})
    if asked.path == "/api/version":
        return Reply(body={"version": "0.20.0"})
    if asked.path not in ("/api/chat", "/api/show", "/v1/chat/completions"):
        return Reply(404, "404 page not found", content_type="text/plain")
    name = str(body.get("model", "")).removesuffix(":latest")
    compatible = asked.path.startswith("/v1")
    if name not in models:
        return _error(says("no_model", model=body.get("model")), 404, compatible)
    if asked.path == "/api/show":
        return _show(plan, thinks=models[name])
    level: object = body.get("think")
    if compatible:
        effort = (body.get("reasoning") or {}).get("effort") or body.get("reasoning_effort")
        if effort and effort not in (*LEVELS, "none"):
            return _error(says("effort", effort=effort), 400, compatible, "invalid_request_error")
        level = False if effort == "none" else effort
    if isinstance(level, str) and (level not in LEVELS or (plan.old and name != "gpt-oss")):
        return _error(says("level", level=level), 400, compatible)
    if level and not models[name]:
        return _error(says("no_thinking", model=body["model"]), 400, compatible)
    if name == "gpt-oss" and isinstance(level, bool):
        level = None  # this model takes a level, and nothing else
    off = level is False or not models[name]
    options = body.get("options") or {}
    said = _said(plan, body, "none" if off else level if isinstance(level, str) else "medium", options, compatible)
    if compatible:
        return completion(plan, body, said, {"reasoning": said.thought} if said.thought else {}, plain(said))
    return _chat(body, said)


def _said(plan: Plan, body: Body, effort: str, options: Body, compatible: bool) -> Said:
    """What the model says to the end of the prompt that its context holds; what was before it is lost unsaid."""
    context = plan.context if compatible else options.get("num_ctx", plan.context)
    limit = body.get("max_tokens") if compatible else options.get("num_predict")
    shown = "\n".join(str(message["content"]) for message in body["messages"])[-context * CHARACTERS :]
    assert effort in EFFORTS
    stop = body.get("stop") if compatible else options.get("stop")
    return think(plan, shown, effort=effort, limit=None if limit in (None, -1) else limit, stop=stop)


def _error(message: str, status: int, compatible: bool, kind: str = "api_error") -> Reply:
    if not compatible:
        return Reply(status, {"error": message})
    return Reply(status, {"error": {"message": message, "type": kind, "param": None, "code": None}})


def _show(plan: Plan, *, thinks: bool) -> Reply:
    capabilities = ["completion", "tools", *(["thinking"] if thinks else [])]
    info = {"general.architecture": "qwen3", "qwen3.context_length": 40960}
    return Reply(body={"parameters": f"num_ctx {plan.context}", "model_info": info, "capabilities": capabilities})


def _chat(body: Body, said: Said) -> Reply:
    """POST /api/chat: lines of JSON, unless `stream` is false."""
    message: Body = {"role": "assistant", "content": said.text}
    if said.thought:
        message["thinking"] = said.thought
    counted = {
        "done": True,
        "done_reason": "length" if said.ended == "length" else "stop",
        "total_duration": 1_000_000,
        "load_duration": 1_000,
        "prompt_eval_count": said.prompt,
        "prompt_eval_duration": 1_000,
        "eval_count": said.output,
        "eval_duration": 1_000_000,
    }
    head = {"model": body["model"], "created_at": CREATED}
    if body.get("stream") is False:
        return Reply(body=head | {"message": message} | counted, said=said)
    parts = [{"content": "", "thinking": piece} for piece in pieces(said.thought)]
    parts += [{"content": piece} for piece in pieces(said.text)]
    rows: list[Body] = [head | {"message": {"role": "assistant", **part}, "done": False} for part in parts]
    rows.append(head | {"message": {"role": "assistant", "content": ""}} | counted)
    lines = [json.dumps(row, ensure_ascii=False).encode() + b"\n" for row in rows]
    return Reply(chunks=lines, content_type="application/x-ndjson", said=said)
