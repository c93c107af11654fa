"""Ollama: the OpenAI API over it. Sources of every row are in ../README.md."""

from .base import CHARACTERS, Asked, Plan, Reply, listing, think
from .openai import completion
from .selfhosted import plain


def answer(plan: Plan, asked: Asked) -> Reply:
    """Answer like Ollama, which silently cuts the beginning of a prompt that exceeds the context."""
    body = asked.body
    if (asked.method, asked.path) == ("GET", "/v1/models"):
        return listing(plan.models or ["qwen3"], owned_by="library")
    shown = "\n".join(str(message["content"]) for message in body["messages"])[-plan.context * CHARACTERS :]
    said = think(plan, shown, effort=body.get("reasoning_effort") or "medium", limit=body.get("max_tokens"))
    return completion(plan, body, said, {"reasoning": said.thought} if said.thought else {}, plain(said))
