"""Stand-ins for providers by name."""

from . import anthropic, compatible, gemini, ollama, openai, routed, selfhosted
from .base import Answer

PROVIDERS: dict[str, Answer] = {
    "openai": openai.answer,
    "azure": openai.azure,
    "anthropic": anthropic.answer,
    "gemini": gemini.answer,
    "vllm": selfhosted.vllm,
    "sglang": selfhosted.sglang,
    "llamacpp": selfhosted.llamacpp,
    "ollama": ollama.answer,
    "compatible": compatible.answer,
    "openrouter": routed.openrouter,
    "deepseek": routed.deepseek,
    "dashscope": routed.dashscope,
}
