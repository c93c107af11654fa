"""What a model is asked: the question as it is, under one of the paper's two system prompts (prompts.toml)."""

from __future__ import annotations

from pathlib import Path

from viva.benchmarks.infibench.cases import Case
from viva.prompting import Templates, fill, read_templates
from viva.types import Message, Prompt

TEMPLATES = Path(__file__).with_name("prompts.toml")


def bundled_templates() -> dict[str, object]:
    """prompts.toml as nested plain data."""
    return read_templates(TEMPLATES)


def render(texts: Templates, case: Case, *, base: bool = False) -> Prompt:
    """The prompt of one question: messages, or one text that a base model continues."""
    system = texts.text(f"system.{case.system}")
    if base:
        return fill(texts.text("base.text"), {"system": system, "question": case.prompt})
    return (Message("system", system), Message("user", fill(texts.text("chat.user"), {"question": case.prompt})))
