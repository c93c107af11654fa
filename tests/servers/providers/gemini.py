"""Google's generateContent with thinkingConfig. Sources of every row are in ../README.md."""

import dataclasses
import re
from typing import Any

from .base import WORDS, Asked, Body, Plan, Reply, Said, pieces, sse, think, words

SAYS = WORDS["gemini"]
says = words("gemini")
MOST = 65536
_PATH = re.compile(r"/(?:v1|v1beta)/models/([^/:]+):(generateContent|streamGenerateContent)")


@dataclasses.dataclass(frozen=True)
class Model:
    """A row: the levels that it takes, the least and the largest budget, whether it thinks unasked, or always."""

    levels: tuple[str, ...] = ()
    budget: tuple[int, int] = (0, 0)  # (0, 0): it cannot think
    unasked: bool = True
    always: bool = False


MODELS = {
    "gemini-2.0-flash": Model(unasked=False),
    "gemini-2.5-pro": Model(budget=(128, 32768), always=True),
    "gemini-2.5-flash": Model(budget=(1, 24576)),
    "gemini-2.5-flash-lite": Model(budget=(512, 24576), unasked=False),
    "gemini-3-pro-preview": Model(("LOW", "HIGH"), (128, 32768), always=True),
    "gemini-3.7-flash": Model(("LOW", "MEDIUM", "HIGH"), (1, 24576)),
    "gemini-3-flash-preview": Model(("MINIMAL", "LOW", "MEDIUM", "HIGH"), (1, 24576)),
}


def error(message: str, status: str = "INVALID_ARGUMENT", code: int = 400, *details: Body) -> Reply:
    """An error as Google writes it."""
    found: Body = {"code": code, "message": message, "status": status}
    return Reply(code, {"error": found | ({"details": list(details)} if details else {})})


def unknown(name: str, where: str) -> Reply:
    """A field that the request type does not have."""
    at = f" at '{where}'" if where else ""
    return error(says("unknown", name=name, at=at))


def answer(plan: Plan, asked: Asked) -> Reply:
    """Gemini."""
    key = asked.headers.get("x-goog-api-key") or asked.query.get("key", "")
    if plan.key and key != plan.key:
        info = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
        return error(says("key"), "INVALID_ARGUMENT", 400, info)
    if asked.method == "GET" and asked.path.endswith("/models"):
        rows = [{"name": f"models/{name}", "thinking": row.budget != (0, 0)} for name, row in MODELS.items()]
        return Reply(body={"models": rows})
    found = _PATH.fullmatch(asked.path)
    if found is None or asked.method != "POST":
        return error("Not Found", "NOT_FOUND", 404)
    model = MODELS.get(found[1])
    if model is None:
        return error(says("no_model", model=found[1]), "NOT_FOUND", 404)
    streamed = found[2] == "streamGenerateContent"
    return generate(plan, asked.body, model, found[1], streamed)


def generate(plan: Plan, body: Body, model: Model, name: str, streamed: bool) -> Reply:
    """POST …:generateContent and …:streamGenerateContent."""
    body = _camel(body)
    config = _camel(body.get("generationConfig") or {})
    thinking = _camel(config.get("thinkingConfig") or {})
    for given, known, where in ((body, SAYS["body"], ""), (config, SAYS["config"], "generation_config")):
        for one in given:
            if one not in known:
                return unknown(one, where)
    for one in thinking:
        if one not in SAYS["thinking"]:
            return unknown(one, "generation_config.thinking_config")
    if not body.get("contents"):
        return error(says("no_contents"))
    if any(turn.get("role", "user") not in ("user", "model") for turn in body["contents"]):
        return error(says("role"))
    if (wrong := _thinking_refused(thinking, model)) is not None:
        return error(wrong)
    if config.get("responseLogprobs"):
        return error(says("logprobs"))
    limit = config.get("maxOutputTokens") or MOST
    if limit > MOST:
        return error(says("most", limit=limit, above=MOST + 1))
    budget = thinking.get("thinkingBudget")
    level = thinking.get("thinkingLevel")
    effort = level.lower() if level else "medium"
    if not model.unasked and budget is None:
        effort = "none"
    said = think(
        plan,
        [body.get("systemInstruction"), *body["contents"]],
        effort=effort,
        budget=None if budget in (None, -1) else budget,
        limit=limit,
        stop=config.get("stopSequences"),
    )
    shown = bool(thinking.get("includeThoughts"))
    if streamed:
        return Reply(chunks=_chunks(plan, said, shown, name), content_type="text/event-stream", said=said)
    parts: list[Body] = [{"text": said.thought, "thought": True}] if shown and said.thought else []
    parts += [{"text": said.text}] if said.text else []
    return Reply(body=_whole(plan, said, parts, name, ended=True), said=said)


def _camel(body: Body) -> Body:
    """Fields by the names that JSON has for them; a server reads those of the protocol buffer, too."""
    return {re.sub("_([a-z])", lambda found: found[1].upper(), name): value for name, value in body.items()}


def _thinking_refused(thinking: Body, model: Model) -> str | None:
    """What is wrong with a thinkingConfig, in words, or None."""
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if budget is not None and level is not None:
        return says("one")
    if level is not None:
        if not model.levels:
            return says("no_level")
        if level.upper() not in model.levels:
            return says("level", level=level.upper())
    if budget is not None:
        if model.budget == (0, 0):
            return says("no_thinking") if budget else None
        if budget == 0 and model.always:
            return says("always")
        if budget not in (0, -1) and not model.budget[0] <= budget <= model.budget[1]:
            return says("budget", budget=budget)
    return None


def _whole(plan: Plan, said: Said, parts: list[Body], name: str, *, ended: bool) -> Body:
    """A response, or a chunk of a streamed one. Where nothing was said, the content has no parts."""
    content: Body = {"role": "model"}
    if parts:
        content["parts"] = parts
    candidate: Body = {"content": content, "index": 0}
    if ended:
        candidate["finishReason"] = "MAX_TOKENS" if said.ended == "length" else "STOP"
    counts: Body = {"promptTokenCount": said.prompt, "totalTokenCount": said.prompt + said.output}
    if said.text:
        counts["candidatesTokenCount"] = said.output - said.thinking
    if said.thought:
        counts["thoughtsTokenCount"] = said.thinking
    whole: Body = {"candidates": [candidate], "modelVersion": name, "responseId": "r1"}
    return whole | ({"usageMetadata": counts} if plan.usage else {})


def _chunks(plan: Plan, said: Said, shown: bool, name: str) -> list[bytes]:
    parts: list[Body] = [{"text": piece, "thought": True} for piece in pieces(said.thought)] if shown else []
    parts += [{"text": piece} for piece in pieces(said.text)]
    rows: list[list[Body]] = [[part] for part in parts] or [[]]
    return [sse(_whole(plan, said, row, name, ended=place == len(rows))) for place, row in enumerate(rows, 1)]


def limited(what: str, limit: int, used: int, wanted: int, seconds: float) -> Reply:
    """The refusal of a request over a limit: no headers, the time to wait is in the details."""
    message = says("limit", seconds=seconds)
    retry: dict[str, Any] = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f"{seconds:.3f}s"}
    return error(message, "RESOURCE_EXHAUSTED", 429, retry)
