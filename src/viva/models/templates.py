"""Prompt templates by family of models (templates.toml), for weights on a disk and for completion servers."""

from __future__ import annotations

import hashlib
from functools import cache

from msgspec import Struct

from viva.errors import VivaError
from viva.files import shipped_table
from viva.prompting import fields, fill
from viva.types import Prompt
from viva.visible import one_line


class Family(Struct, frozen=True):
    """A family's templates with and without a system text, and the mark that servers put before the text."""

    text: str
    alone: str = ""
    bos: str = ""


@cache
def _table() -> dict[str, Family]:
    return shipped_table(__file__, "templates.toml", dict[str, Family])


def families() -> dict[str, str]:
    """Return family → template with a system text."""
    return {name: family.text for name, family in _table().items()}


def version(name: str) -> str:
    """Return a family with a hash of its texts, for the key of a reply, since other texts make other prompts; any other
    name unchanged.
    """
    family = _table().get(name)
    if family is None:
        return name
    digest = hashlib.sha256("\0".join((family.text, family.alone, family.bos)).encode()).hexdigest()[:8]
    return f"{name}.{digest}"


def unknown(family: str) -> str:
    """Return why a family is unknown, with the known ones; "" for a known one."""
    if family in _table():
        return ""
    return f"no family of prompt templates is called {one_line(family, 40)!r}; there are {', '.join(sorted(_table()))}"


def render(family: str, prompt: Prompt) -> str:
    """Render a prompt as the family's text, up to the model's answer. A plain text counts as the user's message.

    Several messages of one role are joined by line feeds, since templates have one place for each. Their contents are
    never interpreted. Raises VivaError for an unknown family.
    """
    problem = unknown(family)
    if problem:
        raise VivaError(problem)
    template = _table()[family]
    if isinstance(prompt, str):
        system, user = "", prompt
    else:
        system = "\n".join(message.content for message in prompt if message.role == "system")
        user = "\n".join(message.content for message in prompt if message.role != "system")
    if not system:
        return fill(template.alone or template.text, {"user": user})
    if "system" not in fields(template.text):  # a benchmark's system text must not get lost
        return fill(template.text, {"user": f"{system}\n{user}"})
    return fill(template.text, {"system": system, "user": user})


def for_server(family: str, text: str) -> str:
    """Return a rendered text without the beginning-of-text mark that completion servers add themselves."""
    known = _table().get(family)
    return text.removeprefix(known.bos) if known else text
