"""vLLM, SGLang and llama.cpp's server. Sources of every row are in ../README.md."""

import math

from .base import CHARACTERS, Asked, Body, Plan, Reply, Said, texts, think, tokens, words
from .openai import completion

vllm_says, sglang_says, llamacpp_says = words("vllm"), words("sglang"), words("llamacpp")
MODEL = "qwen3"
OPEN, CLOSE = "<think>\n", "\n</think>\n\n"


def names(plan: Plan) -> list[str]:
    """The models that are served."""
    return plan.models or [MODEL]


def effort_of(body: Body) -> str:
    """What the chat template is told: Qwen's word for thinking, or that of DeepSeek and Granite."""
    asked = body.get("chat_template_kwargs") or {}
    told = asked.get("enable_thinking", asked.get("thinking"))
    return "medium" if told is None or told else "none"


def plain(said: Said) -> Body:
    """Usage without a word of what was thought."""
    return {"prompt_tokens": said.prompt, "completion_tokens": said.output, "total_tokens": said.prompt + said.output}


def prompt_tokens(body: Body) -> int:
    """Tokens of the messages or the prompt."""
    return tokens("\n".join(texts(body.get("messages") or body.get("prompt") or "")))


def thought_and_reply(plan: Plan, body: Body, said: Said, usage: Body, parser: str, null: bool = True) -> Reply:
    """A chat completion with the thought in the parser's field, or with its tags in the content where there is none."""
    shown: Body = {}
    content: str | None = said.text
    if parser:
        content = None if null and said.thinks_still else content
        shown = {parser: said.thought or None}
    elif said.thought:
        content = ("" if plan.opened else OPEN) + said.thought + ("" if said.thinks_still else CLOSE) + said.text
    reply = completion(plan, body, said, shown, usage, content)
    if body.get("logprobs") and reply.chunks is None:
        reply.body["choices"][0]["logprobs"] = {"content": probable(said, body.get("top_logprobs") or 0)}
    return reply


def probable(said: Said, listed: int) -> list[Body]:
    """The probabilities of what was written, the thought before the reply: at any place A, B, C and D could stand."""
    written = "".join((said.thought, CLOSE if said.thought else "", said.text))
    rows = []
    for at in range(0, min(len(written), 16 * CHARACTERS), CHARACTERS):
        token = written[at : at + CHARACTERS]
        others = [letter for letter in "ABCD" if letter != token]
        shares = {token: 0.9, **{letter: 0.1 / len(others) for letter in others}}
        numbers = [_number(one, share) for one, share in shares.items()]
        rows.append(numbers[0] | {"top_logprobs": numbers[:listed]})
    return rows


def _number(token: str, share: float) -> Body:
    return {"token": token, "logprob": math.log(share), "bytes": list(token.encode())}


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
        effort=effort_of(body),
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
        effort=effort_of(body),
        budget=(body.get("custom_params") or {}).get("thinking_budget"),
        limit=wanted or plan.context - prompt,
        stop=body.get("stop"),
        stops_thought=True,
    )
    separate = plan.parser if body.get("separate_reasoning", True) else ""
    usage = plain(said) | {"prompt_tokens_details": None, "reasoning_tokens": said.thinking if separate else 0}
    return thought_and_reply(plan, body, said, usage, separate, null=False)


# llama.cpp


def llamacpp(plan: Plan, asked: Asked) -> Reply:
    """llama.cpp's server: `reasoning_format` none leaves the thought in the content."""
    if asked.path in ("/health", "/v1/health"):
        return Reply(body={"status": "ok"})
    if plan.key and asked.bearer != plan.key:
        return Reply(401, {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}})
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [
            {"id": name, "object": "model", "owned_by": "llamacpp", "meta": {"n_ctx_train": 40960}}
            for name in names(plan)
        ]
        return Reply(body={"object": "list", "data": rows})
    if asked.path != "/v1/chat/completions":
        return Reply(404, {"error": {"message": "File Not Found", "type": "not_found_error", "code": 404}})
    body = asked.body
    if (prompt := prompt_tokens(body)) >= plan.context:
        error = {"code": 400, "message": llamacpp_says("prompt", prompt=prompt, context=plan.context)}
        counted = {"type": "exceed_context_size_error", "n_prompt_tokens": prompt, "n_ctx": plan.context}
        return Reply(400, {"error": error | counted})
    effort = "none" if body.get("reasoning_effort") == "none" else effort_of(body)
    wanted = body.get("max_completion_tokens") or body.get("max_tokens") or plan.context
    limit = plan.context - prompt if wanted < 0 else min(wanted, plan.context - prompt)
    said = think(plan, body["messages"], effort=effort, limit=limit, stop=body.get("stop"), stops_thought=True)
    parser = "" if body.get("reasoning_format") == "none" else plan.parser
    reply = thought_and_reply(plan, body, said, plain(said), parser, null=False)
    if reply.chunks is None:
        reply.body["timings"] = {"prompt_n": said.prompt, "predicted_n": said.output}
    reply.alive = b":\n\n" if body.get("stream") else b""
    return reply
