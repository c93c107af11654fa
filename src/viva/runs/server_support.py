"""Which commands of Viva work with a server, by what it was found to support."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct

if TYPE_CHECKING:
    from viva.models.serverprobes import Finding, Report


class Works(Struct, frozen=True):
    """A command of Viva, whether it works with a server, and why."""

    command: str
    works: bool
    why: str


def commands(report: Report) -> list[Works]:
    """What can be done with a server that answers so."""
    found = report.findings
    chat, text = found["chat"].usable, found["completions"].usable

    def has(name: str) -> bool:
        return name in found and found[name].usable

    echo = has("echo with logprobs")
    scored = "it scores a text that it is sent" if echo else "it does not score a text that it is sent"
    return [
        Works("viva run", chat, "it answers messages" if chat else _instead(text)),
        Works("--form base", text, "it continues texts" if text else "it does not continue texts"),
        Works("--answer-by next-token", *_next_token(has("logprobs in chat"), has("logprobs in completions"))),
        Works("--answer-by likelihood", echo, f"{scored}; with --form base, or --template FAMILY" if echo else scored),
        Works("viva perplexity", echo, scored),
        Works("--samples", chat or text, _samples(found)),
    ]


def _instead(text: bool) -> str:
    return "it has no chat; --form base or --template FAMILY do without" if text else "it answers nothing"


def _next_token(chat: bool, text: bool) -> tuple[bool, str]:
    listed = "it lists the most probable tokens"
    if chat and text:
        return True, f"{listed}, in chat and with --form base; letters that it does not list are bounded"
    if chat:
        return True, f"{listed} in chat, not with --form base; letters that it does not list are bounded"
    if text:
        return True, f"{listed} with --form base (or --template FAMILY), not in chat; letters not listed are bounded"
    return False, "it lists no probable tokens"


def _samples(found: Mapping[str, Finding]) -> str:
    seed = found["seed"].verdict if "seed" in found else "unknown"
    again = {
        "yes": "with --seed they can be drawn again",
        "no": "they cannot be drawn again, since it ignores the seed",
        "refused": "leave --seed out, which it refuses",
    }
    return (
        f"each is a request of its own, at a temperature above 0; {again.get(seed, 'what its seed does is not clear')}"
    )
