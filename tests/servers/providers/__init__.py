"""Stand-ins for providers, by name: what each answers, and how it says what is left of its limits."""

import dataclasses
from collections.abc import Callable

from . import anthropic, compatible, gemini, ollama, openai, routed, selfhosted
from .base import Answer, Asked, Reply, tokens

Limited = Callable[[str, int, int, int, float], Reply]


def _all_text(asked: Asked) -> int:
    return tokens(str(asked.body.get("messages") or asked.body.get("contents") or ""))


@dataclasses.dataclass(frozen=True)
class Provider:
    """What it answers; its refusal over a limit; the style of its headers; what a request is counted at as it comes."""

    answer: Answer
    limited: Limited = openai.limited
    headers: str = "openai"  # "anthropic", or "" for none
    cost: Callable[[Asked], int] = openai.cost


PROVIDERS = {
    "openai": Provider(openai.answer),
    "azure": Provider(openai.azure, openai.azure_limited),
    "anthropic": Provider(anthropic.answer, anthropic.limited, "anthropic", anthropic.cost),
    "gemini": Provider(gemini.answer, gemini.limited, "", _all_text),
    "vllm": Provider(selfhosted.vllm, headers=""),
    "sglang": Provider(selfhosted.sglang, headers=""),
    "llamacpp": Provider(selfhosted.llamacpp, headers=""),
    "ollama": Provider(ollama.answer, headers=""),
    "compatible": Provider(compatible.answer),
    "openrouter": Provider(routed.openrouter, routed.openrouter_limited),
    "deepseek": Provider(routed.deepseek, headers=""),
    "dashscope": Provider(routed.dashscope, headers=""),
}
