"""Google's generateContent with thinkingConfig. Sources of every row are in ../README.md."""

import dataclasses
import re

from .base import WORDS, Asked, Body, Plan, Reply, think, words

SAYS = WORDS["gemini"]
says = words("gemini")
MOST = 65536
_PATH = re.compile(r"/(?:v1|v1beta)/models/([^/:]+):generateContent")


@dataclasses.dataclass(frozen=True)
class Model:
    """A model: accepted levels, least and largest budget, whether it thinks by default, or always."""

    levels: tuple[str, ...] = ()
    budget: tuple[int, int] = (0, 0)  # (0, 0): it cannot think
    unasked: bool = True
    always: bool = False


MODELS = {
    "gemini-x": Model(unasked=False),  # an unknown model
    "gemini-2.0-flash": Model(unasked=False),
    "gemini-2.5-pro": Model(budget=(128, 32768), always=True),
    "gemini-2.5-flash": Model(budget=(1, 24576)),
    "gemini-2.5-flash-lite": Model(budget=(512, 24576), unasked=False),
    "gemini-3-pro-preview": Model(("LOW", "HIGH"), (128, 32768), always=True),
    "gemini-3-flash-preview": Model(("MINIMAL", "LOW", "MEDIUM", "HIGH"), (1, 24576)),
}


def error(message: str) -> Reply:
    """Return an error in Google's form."""
    return Reply(400, {"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}})


def answer(plan: Plan, asked: Asked) -> Reply:
    """Answer POST …:generateContent."""
    if plan.key and asked.headers["x-goog-api-key"] != plan.key:
        return error(says("key"))
    found = _PATH.fullmatch(asked.path)
    assert found, asked.path
    model, body = MODELS[found[1]], _camel(asked.body)
    config = _camel(body.get("generationConfig") or {})
    thinking = _camel(config.get("thinkingConfig") or {})
    for given, name, where in ((body, "body", ""), (config, "config", " at 'generation_config'")):
        for one in given:
            if one not in SAYS[name]:
                return error(says("unknown", name=one, at=where))
    if (wrong := _thinking_refused(thinking, model)) is not None:
        return error(wrong)
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    said = think(
        plan,
        [body.get("systemInstruction"), *body["contents"]],
        effort=level.lower() if level else "medium" if model.unasked or budget is not None else "none",
        budget=None if budget in (None, -1) else budget,
        limit=config.get("maxOutputTokens") or MOST,
    )
    parts: list[Body] = [{"text": said.thought, "thought": True}] if thinking.get("includeThoughts") else []
    parts += [{"text": said.text}] if said.text else []
    reason = plan.stop or ("MAX_TOKENS" if said.cut else "STOP")
    content: Body = {"role": "model"} | ({"parts": parts} if parts else {})
    candidate: Body = {"content": content, "index": 0, "finishReason": reason}
    counts: Body = {"promptTokenCount": said.prompt, "totalTokenCount": said.prompt + said.output}
    if said.text:
        counts["candidatesTokenCount"] = said.output - said.thinking
    if said.thought:
        counts["thoughtsTokenCount"] = said.thinking
    whole: Body = {"candidates": [candidate], "modelVersion": found[1], "responseId": "r1", "usageMetadata": counts}
    return Reply(body=whole, said=said)


def _camel(body: Body) -> Body:
    """Rename fields to their JSON names; servers also accept those of the protocol buffer."""
    return {re.sub("_([a-z])", lambda found: found[1].upper(), name): value for name, value in body.items()}


def _thinking_refused(thinking: Body, model: Model) -> str | None:
    """Return what is wrong with a thinkingConfig, or None."""
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if level is not None and level.upper() not in model.levels:
        return says("no_level")
    if budget is not None:
        if budget == 0 and model.always:
            return says("always")
        if budget not in (0, -1) and not model.budget[0] <= budget <= model.budget[1]:
            return says("budget", budget=budget)
    return None
