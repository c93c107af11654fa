"""Anthropic's Messages API with extended and adaptive thinking. Sources of every row are in ../README.md."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from .base import MISSING, WORDS, Asked, Body, Plan, Reply, Rule, Said, broken, field, pieces, sse, think, tokens, words

SAYS = WORDS["anthropic"]
says = words("anthropic")
SAMPLING = ("temperature", "top_p", "top_k")


@dataclasses.dataclass(frozen=True)
class Model:
    """A row: which thinking it takes (none of them: it cannot), which efforts, and what else it refuses."""

    kinds: tuple[str, ...] = ("enabled",)
    efforts: tuple[str, ...] = ()
    most: int = 64000
    sampling: bool = True  # whether it takes temperature, top_p, top_k at all
    both: bool = False  # whether it takes temperature and top_p together
    prefill: bool = True  # whether the last turn may be the assistant's
    shown: bool = True  # whether thoughts are shown that nobody asked to be


MODELS = {
    "claude-3-5-haiku-latest": Model((), most=8192, both=True),
    "claude-haiku-4-5": Model(),
    "claude-sonnet-4-5": Model(),
    "claude-opus-4-5": Model(efforts=("low", "medium", "high")),
    "claude-sonnet-4-6": Model(("enabled", "adaptive"), ("low", "medium", "high", "max"), prefill=False),
    "claude-opus-4-6": Model(("enabled", "adaptive"), ("low", "medium", "high", "max"), 128000, prefill=False),
    "claude-opus-4-7": Model(
        ("adaptive",), ("low", "medium", "high", "xhigh", "max"), 128000, sampling=False, prefill=False, shown=False
    ),
}
WHILE_THINKING = (
    Rule("temperature", SAYS["temperature"], unless=(1,)),
    Rule("top_p", SAYS["top_p"], least=0.95),
    Rule("top_k", SAYS["top_k"]),
)
WITHOUT_SAMPLING = tuple(Rule(name, SAYS["deprecated"]) for name in SAMPLING)


def error(kind: str, message: str, status: int = 400) -> Reply:
    """An error as Anthropic writes it."""
    return Reply(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


def invalid(message: str) -> Reply:
    """A request that is refused for what it says."""
    return error("invalid_request_error", message)


def answer(plan: Plan, asked: Asked) -> Reply:
    """Anthropic."""
    key = asked.headers.get("x-api-key") or asked.bearer
    if plan.key and key != plan.key:
        return error("authentication_error", "invalid x-api-key", 401)
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [
            {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"} for name in MODELS
        ]
        return Reply(body={"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]})
    if (asked.method, asked.path) != ("POST", "/v1/messages"):
        return error("not_found_error", "Not Found", 404)
    if asked.headers.get("anthropic-version") != "2023-06-01":
        return invalid("anthropic-version: header is required")
    return message(plan, asked.body)


def message(plan: Plan, body: Body) -> Reply:
    """POST /v1/messages."""
    for name in sorted(set(body) - {*SAYS["message"]}):
        return invalid(says("extra", name=name))
    for name in ("model", "messages", "max_tokens"):
        if name not in body:
            return invalid(says("required", name=name))
    model = MODELS.get(body["model"])
    if model is None:
        return error("not_found_error", f"model: {body['model']}", 404)
    if (wrong := _refused(body, model)) is not None:
        return invalid(wrong)
    kind = field(body, "thinking.type")
    thinks = kind in ("enabled", "adaptive")
    effort = field(body, "output_config.effort")
    said = think(
        plan,
        [body.get("system"), *body["messages"]],
        effort="none" if not thinks else "high" if effort is MISSING else effort,
        budget=body["thinking"].get("budget_tokens") if thinks else None,
        limit=body["max_tokens"],
        stop=body.get("stop_sequences"),
    )
    shown = field(body, "thinking.display") == "summarized" or (
        model.shown and field(body, "thinking.display") != "omitted"
    )
    blocks: list[Body] = []
    if said.thought:
        blocks.append({"type": "thinking", "thinking": said.thought if shown else "", "signature": "c2lnbmVk"})
        if plan.redacted:
            blocks.append({"type": "redacted_thinking", "data": "aGlkZGVu"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    whole: Body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": {"stop": "end_turn", "sequence": "stop_sequence", "length": "max_tokens"}[said.ended],
        "stop_sequence": None,
        "usage": {
            "input_tokens": said.prompt,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 0,
            "output_tokens": said.output,
            "service_tier": "standard",
        },
    }
    ping = sse({"type": "ping"}, "ping")
    if not body.get("stream"):
        return Reply(body=whole, said=said)
    return Reply(chunks=_events(whole, said), content_type="text/event-stream", said=said, alive=ping)


def _refused(body: Body, model: Model) -> str | None:
    """What is wrong with a message, in words, or None."""
    kind = field(body, "thinking.type")
    thinks = kind in ("enabled", "adaptive")
    if kind == "enabled" and field(body, "thinking.budget_tokens") is MISSING:
        return says("required", name="thinking.enabled.budget_tokens")
    if kind == "adaptive" and "budget_tokens" in body["thinking"]:
        return says("extra", name="thinking.adaptive.budget_tokens")
    if thinks and kind not in model.kinds:
        return says(f"no_{kind}" if model.kinds else "no_thinking", model=body["model"])
    effort = field(body, "output_config.effort")
    if effort is not MISSING and effort not in model.efforts:
        return says("effort" if model.efforts else "no_effort", efforts=", ".join(map(repr, model.efforts)))
    rules = (() if model.sampling else WITHOUT_SAMPLING) + (WHILE_THINKING if thinks else ())
    if (found := broken(body, rules)) is not None:
        return found[1]
    if not model.both and {"temperature", "top_p"} <= body.keys():
        return says("both")
    limit = body["max_tokens"]
    if kind == "enabled" and not 1024 <= (budget := body["thinking"]["budget_tokens"]) < limit:
        return says("least" if budget < 1024 else "budget")
    if limit > model.most:
        return says("most", limit=limit, most=model.most, model=body["model"])
    roles = [turn.get("role") for turn in body["messages"]]
    if "system" in roles:
        return says("system", place=roles.index("system"))
    if roles[-1] == "assistant" and (thinks or not model.prefill):
        return says("thought_first" if model.prefill else "prefill", place=len(roles) - 1)
    return None


def _events(whole: Body, said: Said) -> list[bytes]:
    """The events of a streamed message."""
    empty = whole | {"content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}
    events: list[Body] = [{"type": "message_start", "message": empty}]
    for place, block in enumerate(whole["content"]):
        start: Body = {"type": block["type"]}
        deltas: list[Body] = []
        if block["type"] == "thinking":
            start |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "text":
            start |= {"text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            start = block
        events.append({"type": "content_block_start", "index": place, "content_block": start})
        events += [{"type": "content_block_delta", "index": place, "delta": delta} for delta in deltas]
        events.append({"type": "content_block_stop", "index": place})
    ending = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    events.append({"type": "message_delta", "delta": ending, "usage": {"output_tokens": said.output}})
    events.append({"type": "message_stop"})
    return [sse(event, event["type"]) for event in events]


def limited(what: str, limit: int, used: int, wanted: int, seconds: float) -> Reply:
    """The refusal of a request over a limit a minute."""
    return error("rate_limit_error", says("limit", limit=limit, what=what.replace("-", " ")), 429)


def cost(asked: Asked) -> int:
    """Input tokens of a request."""
    shown: Any = [asked.body.get("system") or "", asked.body.get("messages")]
    return math.ceil(tokens(str(shown)))
