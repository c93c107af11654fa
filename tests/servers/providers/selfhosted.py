"""vLLM, SGLang, llama.cpp's server and Ollama. Sources of every row are in ../README.md."""

from __future__ import annotations

from .base import Asked, Body, Plan, Reply, Said, texts, think, tokens, words
from .openai import completion

vllm_says, sglang_says = words("vllm"), words("sglang")
MODEL = "qwen3"
OPEN, CLOSE = "<think>\n", "\n</think>\n\n"


def names(plan: Plan) -> list[str]:
    """The models that are served."""
    return plan.models or [MODEL]


def switched_off(body: Body) -> bool:
    """Whether the chat template is told not to think (Qwen's word, or that of DeepSeek and Granite)."""
    asked = body.get("chat_template_kwargs") or {}
    return asked.get("enable_thinking") is False or asked.get("thinking") is False


def plain(said: Said) -> Body:
    """Usage without a word of what was thought."""
    return {"prompt_tokens": said.prompt, "completion_tokens": said.output, "total_tokens": said.prompt + said.output}


def prompt_tokens(body: Body) -> int:
    """Tokens of the messages or the prompt."""
    return tokens("\n".join(texts(body.get("messages") or body.get("prompt") or "")))


def thought_and_reply(plan: Plan, body: Body, said: Said, usage: Body, parser: str, null: bool = True) -> Reply:
    """A chat completion with the thought in the parser's field, or with its tags in the content where there is none."""
    if parser:
        text = None if null and said.thinks_still else said.text
        return completion(plan, body, said, {parser: said.thought or None}, usage, text)
    if not said.thought:
        return completion(plan, body, said, {}, usage)
    ended = "" if said.thinks_still else CLOSE
    content = ("" if plan.opened else OPEN) + said.thought + ended + said.text
    return completion(plan, body, said, {}, usage, content)


# vLLM


def _vllm_error(message: str, kind: str = "BadRequestError", status: int = 400, param: str | None = None) -> Reply:
    return Reply(status, {"error": {"message": message, "type": kind, "param": param, "code": status}})


def vllm(plan: Plan, asked: Asked) -> Reply:
    """vLLM: what it does not know it ignores; its limits are those of the context."""
    if asked.path == "/health":
        return Reply(body={})
    if asked.path == "/version":
        return Reply(body={"version": "0.11.2"})
    if plan.key and asked.path.startswith("/v1") and asked.bearer != plan.key:
        return Reply(401, {"error": "Unauthorized"})
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [
            {"id": name, "object": "model", "created": 1, "owned_by": "vllm", "root": name, "parent": None}
            | {"max_model_len": plan.context, "permission": []}
            for name in names(plan)
        ]
        return Reply(body={"object": "list", "data": rows})
    body = asked.body
    if asked.path not in ("/v1/chat/completions", "/v1/completions"):
        return Reply(404, {"detail": "Not Found"})
    if body.get("model") not in names(plan):
        return _vllm_error(vllm_says("no_model", model=body.get("model")), "NotFoundError", 404, "model")
    prompt = prompt_tokens(body)
    wanted = body.get("max_completion_tokens") or body.get("max_tokens")
    if prompt >= plan.context:
        return _vllm_error(vllm_says("prompt", context=plan.context, prompt=prompt), param="input_tokens")
    if wanted and prompt + wanted > plan.context:
        message = vllm_says("room", context=plan.context, prompt=prompt, wanted=wanted)
        return _vllm_error(message, param="max_tokens")
    limit = wanted or (plan.context - prompt if "messages" in body else 16)
    budget = body.get("thinking_token_budget")
    if "prompt" in body:
        return _raw(plan, body, limit, budget)
    said = think(
        plan,
        body["messages"],
        effort="none" if switched_off(body) else "medium",
        budget=budget,
        limit=limit,
        stop=body.get("stop"),
        stops_thought=True,
    )
    return thought_and_reply(plan, body, said, plain(said), plan.parser)


def _raw(plan: Plan, body: Body, limit: int, budget: int | None) -> Reply:
    """POST /v1/completions: the model goes on with a text, and thinks unless the thought is closed there already."""
    prompt = str(body["prompt"])
    closed = prompt.rstrip().endswith("</think>")
    said = think(
        plan,
        prompt,
        effort="none" if closed else "medium",
        budget=budget,
        limit=limit,
        stop=body.get("stop"),
        stops_thought=True,
    )
    before = "" if closed or prompt.rstrip().endswith("<think>") else OPEN
    text = before + said.thought + ("" if said.thinks_still else CLOSE) + said.text if said.thought else said.text
    finish = "length" if said.ended == "length" else "stop"
    choice = {"index": 0, "text": text, "logprobs": None, "finish_reason": finish}
    whole = {"id": "cmpl-1", "object": "text_completion", "created": 1, "model": body["model"], "choices": [choice]}
    return Reply(body=whole | ({"usage": plain(said)} if plan.usage else {}), said=said)


# SGLang


def _sglang_error(message: str, status: int = 400, kind: str = "BadRequestError") -> Reply:
    return Reply(status, {"object": "error", "message": message, "type": kind, "param": None, "code": status})


def sglang(plan: Plan, asked: Asked) -> Reply:
    """SGLang: the thought is its own unless `separate_reasoning` is false; usage has the tokens of the thought."""
    if plan.key and asked.bearer != plan.key:
        return Reply(401, {"error": "Unauthorized"})
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [
            {
                "id": name,
                "object": "model",
                "created": 1,
                "owned_by": "sglang",
                "root": name,
                "max_model_len": plan.context,
            }
            for name in names(plan)
        ]
        return Reply(body={"object": "list", "data": rows})
    body = asked.body
    if asked.path != "/v1/chat/completions":
        return Reply(404, {"detail": "Not Found"})
    prompt = prompt_tokens(body)
    wanted = body.get("max_completion_tokens") or body.get("max_tokens")
    if prompt >= plan.context:
        return _sglang_error(sglang_says("prompt", context=plan.context, prompt=prompt))
    if wanted and (total := prompt + wanted) > plan.context:
        return _sglang_error(sglang_says("room", context=plan.context, prompt=prompt, wanted=wanted, total=total))
    said = think(
        plan,
        body["messages"],
        effort="none" if switched_off(body) else "medium",
        budget=(body.get("custom_params") or {}).get("thinking_budget"),
        limit=wanted or plan.context - prompt,
        stop=body.get("stop"),
        stops_thought=True,
    )
    separate = plan.parser if body.get("separate_reasoning", True) else ""
    usage = plain(said) | {"prompt_tokens_details": None, "reasoning_tokens": said.thinking if separate else 0}
    return thought_and_reply(plan, body, said, usage, separate, null=False)
