"""Anthropic's Messages API with extended and adaptive thinking. Sources of every row are in ../README.md."""

import dataclasses
import math
from typing import Any

from .base import MISSING, WORDS, Asked, Body, Plan, Reply, Rule, Said, broken, field, pieces, sse, think, tokens, words

SAYS = WORDS["anthropic"]
says = words("anthropic")
SAMPLING = ("temperature", "top_p", "top_k")


VERSIONS = {"2023-06-01": {*SAYS["message"], *SAMPLING}, "2026-10-21": {*SAYS["message"]}}
"""What a message may hold, by anthropic-version."""
LEVELS = ("low", "medium", "high", "xhigh", "max")


@dataclasses.dataclass(frozen=True)
class Model:
    """A row: which thinking it takes, and which efforts, what it does unasked, and what else it refuses."""

    kinds: tuple[str, ...] = ("enabled", "disabled")
    efforts: tuple[str, ...] = ()
    most: int = 64000
    unasked: bool = False  # whether it thinks where no `thinking` is given
    sampling: bool = True  # whether it takes temperature, top_p, top_k at all
    both: bool = False  # whether it takes temperature and top_p together
    prefill: bool = True  # whether the last turn may be the assistant's
    shown: bool = True  # whether thoughts are shown that nobody asked to be


def modern(*kinds: str, unasked: bool = False) -> Model:
    """A model of 4.7 and later."""
    return Model(kinds, LEVELS, 128000, unasked, sampling=False, prefill=False, shown=False)


BOTH = ("enabled", "adaptive", "disabled")
MODELS = {
    "claude-3-5-haiku-latest": Model(("disabled",), most=8192, both=True),
    "claude-haiku-4-5": Model(),
    "claude-sonnet-4-5": Model(),
    "claude-opus-4-5": Model(efforts=("low", "medium", "high")),
    "claude-sonnet-4-6": Model(BOTH, ("low", "medium", "high", "max"), prefill=False),
    "claude-opus-4-6": Model(BOTH, ("low", "medium", "high", "max"), 128000, prefill=False),
    "claude-opus-4-7": modern("adaptive", "disabled"),
    "claude-opus-5": modern("adaptive", "disabled", unasked=True),
    "claude-opus-5-5": modern("adaptive", unasked=True),
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
        rows = [described(name, row) for name, row in MODELS.items()]
        return Reply(body={"data": rows, "has_more": False, "first_id": rows[0]["id"], "last_id": rows[-1]["id"]})
    if asked.method == "GET" and (row := MODELS.get(asked.path.removeprefix("/v1/models/"))):
        return Reply(body=described(asked.path.removeprefix("/v1/models/"), row))
    if (asked.method, asked.path) != ("POST", "/v1/messages"):
        return error("not_found_error", "Not Found", 404)
    allowed = VERSIONS.get(asked.headers.get("anthropic-version", ""))
    if allowed is None:
        return invalid("anthropic-version: header is required")
    for name in sorted(asked.body.keys() - allowed):
        return invalid(says("extra", name=name))
    for name in ("model", "messages", "max_tokens"):
        if name not in asked.body:
            return invalid(says("required", name=name))
    roles = [turn.get("role") for turn in asked.body["messages"]]
    if "system" in roles and "temperature" in allowed:  # the later version has messages of the system
        return invalid(says("system", place=roles.index("system")))
    return message(plan, asked.body)


def described(name: str, model: Model) -> Body:
    """A model as the list of models has it, with what it is capable of."""
    kinds = {kind: {"supported": kind in model.kinds} for kind in (*BOTH, "between_tools")}
    able = set(model.kinds) != {"disabled"}
    efforts = {level: {"supported": level in model.efforts} for level in LEVELS}
    capabilities = {
        "thinking": {"supported": able, "types": kinds},
        "effort": {"supported": bool(model.efforts), **efforts},
    }
    shown = {"type": "model", "id": name, "display_name": name, "created_at": "2026-01-01T00:00:00Z"}
    return shown | {"lifecycle": "active", "max_tokens": model.most, "capabilities": capabilities}


def message(plan: Plan, body: Body) -> Reply:
    """POST /v1/messages."""
    model = MODELS.get(body["model"])
    if model is None:
        return error("not_found_error", f"model: {body['model']}", 404)
    if (wrong := _refused(body, model)) is not None:
        return invalid(wrong)
    kind = field(body, "thinking.type")
    thinks = model.unasked if kind is MISSING else kind in ("enabled", "adaptive")
    effort = field(body, "output_config.effort")
    budget = field(body, "thinking.budget_tokens")
    said = think(
        plan,
        [body.get("system"), *body["messages"]],
        effort="none" if not thinks else "medium" if effort is MISSING else effort,
        budget=None if budget is MISSING else budget,
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
            "output_tokens_details": {"thinking_tokens": said.thinking},
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
    thinks = model.unasked if kind is MISSING else kind in ("enabled", "adaptive")
    if kind == "enabled" and field(body, "thinking.budget_tokens") is MISSING:
        return says("required", name="thinking.enabled.budget_tokens")
    if kind == "adaptive" and "budget_tokens" in body["thinking"]:
        return says("extra", name="thinking.adaptive.budget_tokens")
    if kind is not MISSING and kind not in model.kinds:
        name = "no_thinking" if model.kinds == ("disabled",) else "no_kind" if not model.sampling else "no_adaptive"
        return says(name, model=body["model"], kind=kind)
    effort = field(body, "output_config.effort")
    if effort is not MISSING and effort not in model.efforts:
        return says("effort" if model.efforts else "no_effort", efforts=", ".join(map(repr, model.efforts)))
    rules = (() if model.sampling else WITHOUT_SAMPLING) + (WHILE_THINKING if thinks and model.sampling else ())
    if (found := broken(body, rules)) is not None:
        return found[1]
    if not model.both and {"temperature", "top_p"} <= body.keys():
        return says("both")
    limit = body["max_tokens"]
    if kind == "enabled" and not 1024 <= (budget := body["thinking"]["budget_tokens"]) < limit:
        return says("least" if budget < 1024 else "budget")
    if limit > model.most:
        return says("most", limit=limit, most=model.most, model=body["model"])
    if body["messages"][-1].get("role") == "assistant" and (thinks or not model.prefill):
        return says("thought_first" if model.prefill else "prefill", place=len(body["messages"]) - 1)
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
    events.append({"type": "message_delta", "delta": ending, "usage": whole["usage"]})
    events.append({"type": "message_stop"})
    return [sse(event, event["type"]) for event in events]


def limited(what: str, limit: int, used: int, wanted: int, seconds: float) -> Reply:
    """The refusal of a request over a limit a minute."""
    return error("rate_limit_error", says("limit", limit=limit, what=what.replace("-", " ")), 429)


def cost(asked: Asked) -> int:
    """Input tokens of a request."""
    shown: Any = [asked.body.get("system") or "", asked.body.get("messages")]
    return math.ceil(tokens(str(shown)))
