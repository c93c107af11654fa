"""Anthropic's Messages API with extended and adaptive thinking. Sources of every row are in ../README.md."""

import dataclasses

from .base import MISSING, WORDS, Asked, Body, Plan, Reply, Rule, broken, field, think, words

SAYS = WORDS["anthropic"]
says = words("anthropic")
SAMPLING = ("temperature", "top_p", "top_k")
VERSIONS = {"2023-06-01": {*SAYS["message"], *SAMPLING}, "2026-10-21": {*SAYS["message"]}}
"""Allowed fields of a message by anthropic-version: the later one takes no sampling parameters, not even defaults."""
LEVELS = ("low", "medium", "high", "xhigh", "max")


@dataclasses.dataclass(frozen=True)
class Model:
    """A model: accepted kinds of thinking and efforts, its defaults, and further refusals."""

    kinds: tuple[str, ...] = ("enabled", "disabled")
    efforts: tuple[str, ...] = ()
    most: int = 64000
    unasked: bool = False  # whether it thinks without `thinking`
    sampling: bool = True  # whether it takes temperature, top_p, top_k at all
    both: bool = False  # whether it takes temperature and top_p together
    shown: bool = True  # whether thoughts are shown by default


def modern(*kinds: str, unasked: bool = False) -> Model:
    """Return a model of version 4.7 or later."""
    return Model(kinds, LEVELS, 128000, unasked, sampling=False, shown=False)


MODELS = {
    "claude-x": Model(("disabled",), both=True),  # an unknown model
    "claude-3-5-haiku-latest": Model(("disabled",), most=8192, both=True),
    "claude-haiku-4-5": Model(),
    "claude-sonnet-4-5": Model(),
    "claude-opus-4-5": Model(efforts=("low", "medium", "high")),
    "claude-sonnet-4-6": Model(("enabled", "adaptive", "disabled"), ("low", "medium", "high", "max")),
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
    """Return an error in Anthropic's form."""
    return Reply(status, {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"})


def answer(plan: Plan, asked: Asked) -> Reply:
    """Answer POST /v1/messages."""
    key = asked.headers.get("x-api-key") or asked.bearer  # of an older SDK, and of a newer one
    if plan.key and key != plan.key:
        return error("authentication_error", f"invalid x-api-key {key}", 401)
    body = asked.body
    for name in sorted(body.keys() - VERSIONS[asked.headers["anthropic-version"]]):
        return error("invalid_request_error", says("extra", name=name))
    model = MODELS[body["model"]]
    kind = field(body, "thinking.type")
    thinks = model.unasked if kind is MISSING else kind in ("enabled", "adaptive")
    if (wrong := _refused(body, model, thinks)) is not None:
        return error("invalid_request_error", wrong)
    effort = field(body, "output_config.effort")
    budget = field(body, "thinking.budget_tokens")
    said = think(
        plan,
        [body.get("system"), *body["messages"]],
        effort="none" if not thinks else "medium" if effort is MISSING else effort,
        budget=None if budget is MISSING else budget,
        limit=body["max_tokens"],
    )
    display = field(body, "thinking.display")
    blocks: list[Body] = []
    if said.thought:
        shown = display == "summarized" or (model.shown and display != "omitted")
        blocks.append({"type": "thinking", "thinking": said.thought if shown else "", "signature": "c2lnbmVk"})
    if said.text:
        blocks.append({"type": "text", "text": said.text})
    whole: Body = {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": blocks,
        "stop_reason": plan.stop or ("max_tokens" if said.cut else "end_turn"),
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
    return Reply(body=whole, said=said)


def _refused(body: Body, model: Model, thinks: bool) -> str | None:
    """Return what is wrong with a message, or None."""
    kind = field(body, "thinking.type")
    if kind is not MISSING and kind not in model.kinds:
        name = "no_thinking" if model.kinds == ("disabled",) else "no_kind" if not model.sampling else "no_adaptive"
        return says(name, model=body["model"], kind=kind)
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
    return None
