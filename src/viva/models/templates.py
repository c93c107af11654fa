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
    """One family: templates with and without a system text, and the mark that servers put before the text."""

    text: str
    alone: str = ""
    bos: str = ""


@cache
def _table() -> dict[str, Family]:
    return shipped_table(__file__, "templates.toml", dict[str, Family])


def families() -> dict[str, str]:
    """Name → template with a system text."""
    return {name: family.text for name, family in _table().items()}


def version(name: str) -> str:
    """Return a family with a hash of its texts, for the key of a reply: another text is another prompt. Others as they
    are.
    """
    family = _table().get(name)
    if family is None:
        return name
    digest = hashlib.sha256("\0".join((family.text, family.alone, family.bos)).encode()).hexdigest()[:8]
    return f"{name}.{digest}"


def unknown(family: str) -> str:
    """Return why this is no family, with those that are; "" if it is one."""
    if family in _table():
        return ""
    return f"no family of prompt templates is called {one_line(family, 40)!r}; there are {', '.join(sorted(_table()))}"


def render(family: str, prompt: Prompt) -> str:
    """Return a prompt as the family's text, up to where the model answers. A text counts as what the user says.

    Several messages of one kind are joined by line feeds: the templates have one place for each. What they contain is
    never looked at again. Raises VivaError for an unknown family.
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
    if "system" not in fields(template.text):  # what a benchmark asks for must not get lost
        return fill(template.text, {"user": f"{system}\n{user}"})
    return fill(template.text, {"system": system, "user": user})


def for_server(family: str, text: str) -> str:
    """Return a rendered text as a completion server takes it, which puts the family's beginning-of-text mark before
    it.
    """
    known = _table().get(family)
    return text.removeprefix(known.bos) if known else text
