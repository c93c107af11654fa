"""vLLM, SGLang and llama.cpp's server. Sources of every row are in ../README.md."""

from .base import Asked, Body, Plan, Reply, Said, listing, texts, think, tokens, words
from .openai import completion

vllm_says, sglang_says = words("vllm"), words("sglang")
MODEL = "qwen3"
OPEN, CLOSE = "<think>\n", "\n</think>\n\n"


def effort_of(body: Body) -> str:
    """Return the effort given to the chat template: Qwen's word for thinking, or that of DeepSeek and Granite."""
    asked = body.get("chat_template_kwargs") or {}
    told = asked.get("enable_thinking", asked.get("thinking"))
    return "medium" if told is None or told else "none"


def plain(said: Said) -> Body:
    """Return usage without reasoning tokens."""
    return {"prompt_tokens": said.prompt, "completion_tokens": said.output, "total_tokens": said.prompt + said.output}


def room(plan: Plan, body: Body) -> tuple[int, int, int]:
    """Return tokens of the messages, tokens requested (0 if not given), and tokens allowed."""
    prompt = tokens("\n".join(texts(body["messages"])))
    wanted = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    return prompt, wanted, wanted or plan.context - prompt


def thought_and_reply(plan: Plan, body: Body, said: Said, usage: Body, parser: str, null: bool = True) -> Reply:
    """Return a chat completion with the thought in the parser's field, or with tags in the content without a parser."""
    shown: Body = {}
    content: str | None = said.text
    if parser:
        content = None if null and said.thinks_still else content
        shown = {parser: said.thought or None}
    elif said.thought:
        content = ("" if plan.opened else OPEN) + said.thought + ("" if said.thinks_still else CLOSE) + said.text
    return completion(plan, body, said, shown, usage, content)


def vllm(plan: Plan, asked: Asked) -> Reply:
    """Answer like vLLM: unknown fields are ignored; limits are those of the context."""
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return listing(plan.models or [MODEL], owned_by="vllm", max_model_len=plan.context, permission=[])
    body = asked.body
    prompt, wanted, limit = room(plan, body)
    if prompt + wanted > plan.context:
        message = vllm_says("room", context=plan.context, prompt=prompt, wanted=wanted)
        return Reply(
            400, {"error": {"message": message, "type": "BadRequestError", "param": "max_tokens", "code": 400}}
        )
    budget = body.get("thinking_token_budget")
    said = think(plan, body["messages"], effort=effort_of(body), budget=budget, limit=limit)
    return thought_and_reply(plan, body, said, plain(said), plan.parser)


def sglang(plan: Plan, asked: Asked) -> Reply:
    """Answer like SGLang: the thought is separate unless `separate_reasoning` is false; usage has its tokens."""
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return listing([MODEL], owned_by="sglang", max_model_len=plan.context)
    body = asked.body
    prompt, wanted, limit = room(plan, body)
    if (total := prompt + wanted) > plan.context:
        message = sglang_says("room", context=plan.context, prompt=prompt, wanted=wanted, total=total)
        return Reply(
            400, {"object": "error", "message": message, "type": "BadRequestError", "param": None, "code": 400}
        )
    said = think(plan, body["messages"], effort=effort_of(body), limit=limit)
    separate = plan.parser if body.get("separate_reasoning", True) else ""
    usage = plain(said) | {"prompt_tokens_details": None, "reasoning_tokens": said.thinking if separate else 0}
    return thought_and_reply(plan, body, said, usage, separate, null=False)


def llamacpp(plan: Plan, asked: Asked) -> Reply:
    """Answer like llama.cpp's server: `reasoning_format` none leaves the thought in the content."""
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return listing([MODEL], owned_by="llamacpp", meta={"n_ctx_train": 40960})
    body = asked.body
    prompt, _, limit = room(plan, body)
    effort = "none" if body.get("reasoning_effort") == "none" else effort_of(body)
    said = think(plan, body["messages"], effort=effort, limit=min(limit, plan.context - prompt))
    parser = "" if body.get("reasoning_format") == "none" else plan.parser
    reply = thought_and_reply(plan, body, said, plain(said), parser, null=False)
    if reply.chunks is None:
        reply.body["timings"] = {"prompt_n": said.prompt, "predicted_n": said.output}
    return reply
