"""OpenAI's chat completions and Responses API, and Azure's URLs for the former. Thoughts are never shown.

Sources of every row are in ../README.md.
"""

import dataclasses
import itertools
import re
from collections.abc import Sequence
from typing import Any

from .base import (
    WORDS,
    Asked,
    Body,
    Plan,
    Reply,
    Rule,
    Said,
    broken,
    listed,
    listing,
    pieces,
    sse,
    think,
    tokens,
    words,
)
from .limits import Refused

SAYS = WORDS["openai"]
says = words("openai")
PARAMETER, VALUE = "unsupported_parameter", "unsupported_value"


def only(name: str, default: float) -> Rule:
    """Return a rule for a field that may only have its default."""
    return Rule(name, SAYS["only"].replace("{default}", f"{default:g}"), VALUE, unless=(default,))


def never(name: str) -> Rule:
    """Return a rule for a field that a model does not take."""
    return Rule(name, SAYS["not_with"], PARAMETER)


MAX_TOKENS = Rule("max_tokens", SAYS["renamed"], PARAMETER)
PENALTIES = ("presence_penalty", "frequency_penalty")
SAMPLING = ("temperature", "top_p")
LOGPROBS = (
    Rule("logprobs", SAYS["logprobs"], status=403, unless=(False,), named=False),
    Rule("top_logprobs", SAYS["logprobs"], status=403, unless=(0,), named=False),
)
DEFAULTS = (*(only(name, 1) for name in SAMPLING), *(only(name, 0) for name in PENALTIES))
O1 = (MAX_TOKENS, *DEFAULTS, *LOGPROBS)
THINKER = (*O1, never("stop"))
O3_MINI = (MAX_TOKENS, *map(never, (*SAMPLING, *PENALTIES, "logprobs", "top_logprobs", "stop")))


@dataclasses.dataclass(frozen=True)
class Model:
    """A model: accepted efforts (if none, the field is refused), its default, and refused fields."""

    efforts: tuple[str, ...] = ()
    effort: str = "none"
    rules: tuple[Rule, ...] = ()
    most: int = 128000

    @property
    def thinks(self) -> bool:
        """Whether it can think."""
        return bool(self.efforts) or self.effort != "none"


MODELS = {
    "gpt-4.1": Model(most=32768),
    "o1-mini": Model((), "medium", O1, 65536),
    "o3-mini": Model(("low", "medium", "high"), "medium", O3_MINI, 100000),
    "gpt-5": Model(("minimal", "low", "medium", "high"), "medium", THINKER),
    "gpt-5-mini": Model(("minimal", "low", "medium", "high"), "medium", THINKER),
    "gpt-5-pro": Model(("high",), "high", THINKER, 272000),
    "gpt-5.1": Model(("none", "low", "medium", "high"), "none", THINKER),
}
FREE_WITHOUT_THOUGHT = {"temperature", "top_p", "logprobs", "top_logprobs"}
"""Fields accepted without thinking by models that can be asked not to think."""
CHAT, RESPONSES = SAYS["chat"], SAYS["responses"]
RESPONSES_RULES = (
    *(Rule(name, SAYS["not_with"], None, unless=(1,)) for name in SAMPLING),
    *(Rule(name, SAYS["not_with"], None, unless=(0,)) for name in PENALTIES),
    Rule("top_logprobs", SAYS["responses_logprobs"], PARAMETER, unless=(0,)),
)
TOO_FEW = Rule("max_output_tokens", SAYS["too_few"], "integer_below_min_value", least=16)
_DEPLOYMENT = re.compile(r"/openai/deployments/([^/]+)/chat/completions")


def error(message: str, code: str | None = None, param: str | None = None, status: int = 400, kind: str = "") -> Reply:
    """Return an error in OpenAI's form."""
    kind = kind or "invalid_request_error"
    return Reply(status, {"error": {"message": message, "type": kind, "param": param, "code": code}})


def refusal(body: Body, rules: Sequence[Rule]) -> Reply | None:
    """Return the error of the first rule that a body breaks."""
    if (found := broken(body, rules)) is None:
        return None
    rule, message = found
    return error(message, rule.code, rule.field if rule.named else None, rule.status)


def answer(plan: Plan, asked: Asked) -> Reply:
    """Answer like OpenAI."""
    if plan.key and asked.bearer != plan.key:
        return error(says("key", key=asked.bearer), "invalid_api_key", status=401)
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return listing([*MODELS], owned_by="openai")
    if asked.body["model"] not in MODELS:
        return error(says("no_model", model=asked.body["model"]), "model_not_found", None, 404)
    return {"/v1/chat/completions": chat, "/v1/responses": respond}[asked.path](plan, asked.body)


def azure(plan: Plan, asked: Asked) -> Reply:
    """Answer like Azure: a deployment in the path and a version in the query."""
    found, version = _DEPLOYMENT.fullmatch(asked.path), asked.query.get("api-version")
    if not found or not version:
        return Reply(404, {"error": {"code": "404", "message": "Resource not found"}})
    for newer in ("reasoning_effort", "max_completion_tokens"):
        if version < "2024-12-01" and newer in asked.body:
            return error(says("unrecognized", s="", names=newer))
    reply = chat(plan, asked.body | {"model": plan.deployments[found[1]]})
    if reply.said and reply.chunks is None:
        reply.body["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": {}}]
    return reply


def chat(plan: Plan, body: Body) -> Reply:
    """Answer POST /v1/chat/completions."""
    model = MODELS[body["model"]]
    if unknown := [name for name in body if name not in CHAT or (name == "reasoning_effort" and not model.efforts)]:
        return error(says("unrecognized", s="s" if len(unknown) > 1 else "", names=", ".join(unknown)))
    effort = body.get("reasoning_effort") or model.effort
    silent = FREE_WITHOUT_THOUGHT if effort == "none" else set()
    if (wrong := refusal(body, [rule for rule in model.rules if rule.field not in silent])) is not None:
        return wrong
    limit = body.get("max_completion_tokens") or body.get("max_tokens") or model.most
    said = think(plan, body["messages"], effort=effort, limit=limit)
    return completion(plan, body, said, {}, counts(said))


def counts(said: Said) -> Body:
    """Return usage with reasoning tokens."""
    return {
        "prompt_tokens": said.prompt,
        "completion_tokens": said.output,
        "total_tokens": said.prompt + said.output,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": said.thinking, "audio_tokens": 0},
    }


def completion(plan: Plan, body: Body, said: Said, shown: Body, usage: Body, content: str | None = "") -> Reply:
    """Return a chat completion, whole or streamed. `shown` is the thought in the message: a field and its text.

    `content` is the message's content if it differs from what was said, or None.
    """
    text = said.text if content == "" else content
    finish = "length" if said.cut else "stop"
    head = {"id": "chatcmpl-1", "created": 1, "model": body["model"]}
    if not body.get("stream"):
        message = {"role": "assistant", "content": text, **shown}
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish}
        whole = head | {"object": "chat.completion", "choices": [choice]}
        return Reply(body=whole | ({"usage": usage} if plan.usage else {}), said=said)
    deltas: list[Body] = [{"role": "assistant", "content": ""}]
    for name, value in shown.items():
        deltas += [{name: piece} for piece in (pieces(value) if isinstance(value, str) else [value] if value else ())]
    deltas += [{"content": piece} for piece in pieces(text or "")]
    head["object"] = "chat.completion.chunk"
    chunks = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    if plan.usage and (body.get("stream_options") or {}).get("include_usage"):
        chunks.append(head | {"choices": [], "usage": usage})
    return Reply(chunks=[*map(sse, chunks), sse("[DONE]")], content_type="text/event-stream", said=said)


def respond(plan: Plan, body: Body) -> Reply:
    """Answer POST /v1/responses."""
    for name in body:
        if name not in RESPONSES:
            shown = says("unknown_stop" if name == "stop" else "unknown", field=name)
            return error(shown, "unknown_parameter", name)
    model = MODELS[body["model"]]
    reasoning = body.get("reasoning") or {}
    effort, summary = reasoning.get("effort") or model.effort, reasoning.get("summary")
    if reasoning and not model.efforts:
        return error(SAYS["not_with"].format(field="reasoning.effort"), PARAMETER, "reasoning.effort")
    if model.efforts and effort not in model.efforts:
        shown = says("responses_effort", effort=effort, model=body["model"], efforts=listed(model.efforts))
        return error(shown, VALUE, "reasoning.effort")
    thinks = model.thinks and effort != "none"
    if (wrong := refusal(body, (*(RESPONSES_RULES if thinks else ()), TOO_FEW))) is not None:
        return wrong
    prompt = [body.get("instructions") or "", body.get("input")]
    said = think(plan, prompt, effort=effort, limit=body.get("max_output_tokens") or model.most)
    items: list[Body] = []
    status = "incomplete" if said.cut else "completed"
    if thinks:
        shown_thought = [{"type": "summary_text", "text": said.thought}] if summary else []
        items.append({"id": "rs_1", "type": "reasoning", "summary": shown_thought})
    if said.text or not said.thinks_still:
        part = {"type": "output_text", "annotations": [], "logprobs": [], "text": said.text}
        items.append({"id": "msg_1", "type": "message", "status": status, "role": "assistant", "content": [part]})
    usage = {
        "input_tokens": said.prompt,
        "input_tokens_details": {"cached_tokens": 0},
        "output_tokens": said.output,
        "output_tokens_details": {"reasoning_tokens": said.thinking},
        "total_tokens": said.prompt + said.output,
    }
    whole = {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "status": status,
        "error": None,
        "incomplete_details": {"reason": "max_output_tokens"} if said.cut else None,
        "instructions": body.get("instructions"),
        "max_output_tokens": body.get("max_output_tokens"),
        "model": body["model"],
        "output": items,
        "reasoning": {"effort": effort if model.thinks else None, "summary": summary},
        "usage": usage if plan.usage else None,
    }
    if not body.get("stream"):
        return Reply(body=whole, said=said)
    return Reply(chunks=_events(whole), content_type="text/event-stream", said=said)


def _events(whole: Body) -> list[bytes]:
    """Return the events of a streamed response."""
    begun = whole | {"status": "in_progress", "incomplete_details": None, "output": [], "usage": None}
    events: list[tuple[str, Body]] = [(f"response.{name}", {"response": begun}) for name in ("created", "in_progress")]
    for place, item in enumerate(whole["output"]):
        at = {"item_id": item["id"], "output_index": place}
        empty = {name: [] if name in ("summary", "content") else value for name, value in item.items()}
        events.append(("response.output_item.added", {"output_index": place, "item": empty}))
        for part in item.get("summary", ()):
            where = at | {"summary_index": 0}
            name = "response.reasoning_summary_text"
            events += [(f"{name}.delta", where | {"delta": piece}) for piece in pieces(part["text"])]
            events.append((f"{name}.done", where | {"text": part["text"]}))
        for part in item.get("content", ()):
            where = at | {"content_index": 0}
            events.append(("response.content_part.added", where | {"part": part | {"text": ""}}))
            events += [("response.output_text.delta", where | {"delta": piece}) for piece in pieces(part["text"])]
            events.append(("response.output_text.done", where | {"text": part["text"]}))
            events.append(("response.content_part.done", where | {"part": part}))
        events.append(("response.output_item.done", {"output_index": place, "item": item}))
    events.append((f"response.{whole['status']}", {"response": whole}))
    numbers = itertools.count()
    return [sse({"type": name, "sequence_number": next(numbers), **data}, name) for name, data in events]


def limited(refused: Refused) -> Reply:
    """Return the refusal of a request over a limit: `tokens` or `requests` per minute."""
    short = {"requests": "requests per min (RPM)", "tokens": "tokens per min (TPM)"}[refused.what]
    name = "too_much" if refused.wanted > refused.limit else "limit"
    message = says(name, **vars(refused) | {"what": short})
    return error(message, "rate_limit_exceeded", status=429, kind=refused.what)


def cost(asked: Asked) -> int:
    """Return the estimated tokens of a request: those of its characters or its limit, whichever is more."""
    limits = (asked.body.get(name) or 0 for name in ("max_tokens", "max_completion_tokens", "max_output_tokens"))
    shown: Any = asked.body.get("messages") or asked.body.get("input") or ""
    return max(tokens(str(shown)), *limits)
