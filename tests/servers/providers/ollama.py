"""Ollama: the OpenAI API over it. Sources of every row are in ../README.md."""

from .base import CHARACTERS, EFFORTS, Asked, Body, Plan, Reply, Said, think, words
from .openai import completion
from .selfhosted import plain

says = words("ollama")
LEVELS = ("low", "medium", "high", "max")
THINKS = {"qwen3": True, "gpt-oss": True, "llama3.2": False}
"""Models, and whether they have the capability; every other name of `Plan.models` thinks."""


def known(plan: Plan) -> dict[str, bool]:
    """The models that were pulled, and which of them think."""
    return THINKS if not plan.models else {name: THINKS.get(name, True) for name in plan.models}


def answer(plan: Plan, asked: Asked) -> Reply:
    """Ollama."""
    models, body = known(plan), asked.body
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        rows = [{"id": name, "object": "model", "created": 1, "owned_by": "library"} for name in models]
        return Reply(body={"object": "list", "data": rows})
    if asked.path != "/v1/chat/completions":
        return Reply(404, "404 page not found", content_type="text/plain")
    name = str(body.get("model", "")).removesuffix(":latest")
    if name not in models:
        return _error(says("no_model", model=body.get("model")), 404)
    effort = (body.get("reasoning") or {}).get("effort") or body.get("reasoning_effort")
    if effort and effort not in (*LEVELS, "none"):
        return _error(says("effort", effort=effort), 400, "invalid_request_error")
    if effort not in (None, "none") and not models[name]:
        return _error(says("no_thinking", model=body["model"]), 400)
    if name == "gpt-oss" and effort == "none":
        effort = None  # this model takes a level, and nothing else
    off = effort == "none" or not models[name]
    said = _said(plan, body, "none" if off else effort or "medium")
    return completion(plan, body, said, {"reasoning": said.thought} if said.thought else {}, plain(said))


def _said(plan: Plan, body: Body, effort: str) -> Said:
    """What the model says to the end of the prompt that its context holds; what was before it is lost unsaid."""
    limit = body.get("max_tokens")
    shown = "\n".join(str(message["content"]) for message in body["messages"])[-plan.context * CHARACTERS :]
    assert effort in EFFORTS
    return think(plan, shown, effort=effort, limit=None if limit in (None, -1) else limit, stop=body.get("stop"))


def _error(message: str, status: int, kind: str = "api_error") -> Reply:
    return Reply(status, {"error": {"message": message, "type": kind, "param": None, "code": None}})
