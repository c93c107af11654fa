"""How a model behind an address is asked: what a request carries beside prompt and sampling. Written to run.json."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import Struct

from viva.errors import VivaError

Dtype = Literal["auto", "float32", "bfloat16", "float16"]
DTYPES: dict[str, Dtype] = {"float32": "float32", "bfloat16": "bfloat16", "float16": "float16"}
"""Those that name numbers, by name."""


class Weights(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a transformers model that can move a number or decide whether it fits.

    `dtype`: "auto" is float32 on a CPU, and as stored on a GPU. `device`: auto, cpu, cuda, cuda:1, or map (spread over
    all there is). `bits`: 4 or 8 quantise; 0 does not. `template`: "" is the model's own chat
    template, "raw" none, else a family of models/templates.toml. `batch`: rows at once, 0 to find out. `fingerprint` is
    that of the files when a run began, "" if not known yet; `context` is how many tokens the model reads, as a run
    remembers it, 0 where nothing says.
    """

    revision: str = ""
    dtype: Dtype = "auto"
    device: str = "auto"
    bits: Literal[0, 4, 8] = 0
    adapter: str = ""
    trust_remote_code: bool = False
    template: str = ""
    batch: int = 0
    fingerprint: str = ""
    context: int = 0


Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh"]
Streaming = Literal["auto", "always", "never"]
VARIABLE = re.compile(r"\$(?:\{([A-Za-z_][A-Za-z0-9_]*)\}|([A-Za-z_][A-Za-z0-9_]*))")
"""What stands in a header for a variable of the environment."""


class RequestOptions(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What the user says of one model's requests.

    `effort` and `budget` (tokens; 0: not said) are how much it is to reason. `fields` are (name, JSON) pairs that the
    body gets as they are, null taking a field out; `template_options` the same for the chat template. `headers` are
    (name, value) pairs, where `$NAME` stands for a variable of the environment, so that no secret is written down.
    `system` is put before every prompt. `api_version` says that the address is Azure's. `limit_kept`: whether the limit
    of the reply holds for a model that reasons, too (the user's, or as published); else it gets room to think.
    `strict`: a parameter that the server refuses ends the run in place of being left out.
    """

    effort: Literal["", Effort] = ""
    budget: int = 0
    fields: tuple[tuple[str, str], ...] = ()
    template_options: tuple[tuple[str, str], ...] = ()
    headers: tuple[tuple[str, str], ...] = ()
    system: str = ""
    api_version: str = ""
    limit_kept: bool = False
    keep_reasoning: bool = True
    stream: Streaming = "auto"
    strict: bool = False

    @property
    def told_to_reason(self) -> bool | None:
        """Whether the user says that it is to reason; None where nothing is said."""
        return None if not (self.effort or self.budget) else self.effort != "none"

    def identity(self) -> dict[str, str]:
        """Return what of it a reply depends on, for the key of a request; empty where nothing is said."""
        plain = msgspec.structs.replace(self, keep_reasoning=True, stream="auto", strict=False)
        return {"request": msgspec.json.encode(plain).decode()} if plain != RequestOptions() else {}


class Adaptation(Struct, kw_only=True, omit_defaults=True):
    """How requests were adapted to what the server takes, as a run found it out.

    `parameters`: name → what became of it ("left out", "cut here", "as max_completion_tokens", ...). `reasons`: whether
    the model was seen to reason; None: no reply told yet. `streams`: whether replies are asked for as streams.
    """

    parameters: dict[str, str] = {}
    reasons: bool | None = None
    streams: bool = False


def expanded(headers: tuple[tuple[str, str], ...], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers as they are sent. Raises VivaError for a variable that is not set, or is no header's text."""
    known = os.environ if environment is None else environment

    def value(found: re.Match[str]) -> str:
        name = found[1] or found[2]
        if not known.get(name):
            raise VivaError(f"--header: the environment variable {name} is not set")
        return known[name].strip()

    return {name: VARIABLE.sub(value, text) for name, text in headers}


def variables(headers: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the environment variables in them, whose values nobody may write down."""
    return [found[1] or found[2] for _, text in headers for found in VARIABLE.finditer(text)]
