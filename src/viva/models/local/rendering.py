"""Render chat templates in a separate process with limits of time and memory.

A chat template is a program that comes with the weights. Jinja's sandbox protects the machine, but does not prevent an
endless loop or a text of ten gigabytes. transformers renders in that process as it would here, and exceeding a limit
ends only that process. Needs transformers, but not torch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from viva.io.limited import MEMORY, LimitedProcess, serve

SECONDS = 5.0
"""Seconds of CPU time for one rendering; templates take milliseconds."""
LONGEST = 1 << 24
"""Most characters of a rendered prompt; a context of a million tokens has about four million."""


class TemplateError(Exception):
    """A template that raises, goes on for too long, or wants too much memory; the message says which."""


_RENDERER = LimitedProcess(__name__)


def render(
    template: str,
    messages: Sequence[Mapping[str, str]],
    special: Mapping[str, object],
    *,
    answer: bool,
    variables: Mapping[str, object] | None = None,
) -> str:
    """Render messages as `tokenizer.apply_chat_template` does. `special`: the tokenizer's special tokens by name;
    `variables`: further variables of the template.

    Raises TemplateError.
    """
    request = {"template": template, "messages": list(messages), "answer": answer}
    request["told"] = {**special, **(variables or {})}
    reply = _RENDERER.ask(request)
    if reply is None:
        raise TemplateError(f"it took more than {SECONDS:g} s of the processor or {MEMORY >> 30} GiB of memory")
    if "text" not in reply:
        raise TemplateError(str(reply.get("error", "")))
    return str(reply["text"])


def _work() -> None:
    from transformers.utils.chat_template_utils import render_jinja_template

    serve(partial(_rendered, render_jinja_template), SECONDS)


def _rendered(render_template: Any, asked: dict[str, Any]) -> dict[str, str]:
    texts, _ = render_template(
        conversations=[asked["messages"]],
        chat_template=asked["template"],
        add_generation_prompt=asked["answer"],
        **asked["told"],
    )
    if len(texts[0]) > LONGEST:
        return {"error": f"it made a text of {len(texts[0]):,} characters"}
    return {"text": texts[0]}


if __name__ == "__main__":
    _work()
