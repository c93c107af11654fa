"""What kinds of models there are, and what a request to one carries besides prompt and sampling (run.json keeps it).

A provider is one module and one entry here, or in a package (`viva.models`).

The entry point NAME = module of a package's provider: the module has `connect(name, endpoint)`, as Viva's own, and may
have `TRAITS`, where its models are not as most.
"""

from __future__ import annotations

import difflib
import importlib
import os
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Literal, cast

import msgspec
from msgspec import Struct

from viva.contracts import Adaptation, Model
from viva.errors import VivaError
from viva.plugins import Names


class ModelTraits(Struct, frozen=True, kw_only=True):
    """What a provider's models have in common; most are asked over a network, for money, as the user says."""

    paid: bool = True
    """Whether somebody sends a bill."""
    counted: bool = True
    """Whether anybody counts tokens."""
    takes_options: bool = True
    """Whether requests have what the user says of them: system text, headers, fields, reasoning."""
    served: bool = False
    """Whether any server at an address of the user's may be meant."""
    recorded: bool = False
    """Whether replies are there already, and nothing is asked."""
    unbounded: bool = False
    """Whether what this machine holds is the only bound."""
    priced_as: str = ""
    """The provider whose list prices hold, where that is not its own name."""
    priced_at: str = ""
    """The host that these prices are of; "" where all its models are there."""
    batch_share: float = 1.0
    """What a batch costs of these prices."""


BUILT_IN = {
    "hf": ("viva.models.local.weightsmodel", ModelTraits(paid=False, unbounded=True)),
    "openai": ("viva.models.openaiapi.openai", ModelTraits(served=True, priced_at="api.openai.com", batch_share=0.5)),
    "openai-responses": (
        "viva.models.openaiapi.openairesponses",
        ModelTraits(served=True, priced_as="openai", priced_at="api.openai.com", batch_share=0.5),
    ),
    "anthropic": ("viva.models.anthropic", ModelTraits(batch_share=0.5)),
    "google": ("viva.models.google", ModelTraits()),
    "baseline": (
        "viva.models.baselines",
        ModelTraits(paid=False, counted=False, takes_options=False, recorded=True, unbounded=True),
    ),
    "replay": (
        "viva.models.replay",
        ModelTraits(paid=False, counted=False, takes_options=False, recorded=True, unbounded=True),
    ),
    "python": ("viva.models.called", ModelTraits(paid=False, counted=False, takes_options=False)),
}
PROVIDERS = Names("viva.models", {name: module for name, (module, _) in BUILT_IN.items()})
"""Provider → module that holds `connect(name, endpoint)`; it is loaded when a model of it is used."""


@cache
def traits_of(model: str) -> ModelTraits:
    """Return the traits of a model `provider/name`, or of a provider's."""
    provider = model.partition("/")[0]
    if provider in BUILT_IN:
        return BUILT_IN[provider][1]
    if provider not in PROVIDERS:
        return ModelTraits()
    traits: ModelTraits = getattr(importlib.import_module(PROVIDERS[provider]), "TRAITS", ModelTraits())
    return traits


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
"""The placeholder in a header for a variable of the environment."""


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


def expanded(headers: tuple[tuple[str, str], ...], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers as they are sent. Raises VivaError for a variable that is not set, or is no header's text."""
    known = os.environ if environment is None else environment

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not known.get(name):
            raise VivaError(f"--header: the environment variable {name} is not set")
        return known[name].strip()

    return {name: VARIABLE.sub(value, text) for name, text in headers}


def variables(headers: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the environment variables in them, whose values nobody may write down."""
    return [match[1] or match[2] for _, text in headers for match in VARIABLE.finditer(text)]


class Endpoint(Struct, frozen=True, kw_only=True):
    """How to reach a model: settings of the user that are not secret.

    `key_variable` names the environment variable that holds the key; `seed` is for baselines that draw; `weights` says
    how weights on a disk are opened; `template` names the family whose template a completion endpoint is given; `shown`
    is what tables call weights on a disk, provider included, where the folder's own name would not tell them apart;
    `request` is what the user says of its requests, `adapted` what a run knows already of what its server takes;
    `field` is the option of `base_url`, for errors.
    """

    base_url: str | None = None
    key_variable: str | None = None
    seed: int = 0
    weights: Weights = Weights()
    template: str = ""
    shown: str = ""
    request: RequestOptions = RequestOptions()
    adapted: Adaptation | None = None
    field: str = "base_url"

    @property
    def key_field(self) -> str:
        """The option of `key_variable`, for errors."""
        return "api_key_env" if self.field == "base_url" else "judge_key_env"


def connect(name: str, endpoint: Endpoint) -> Model:
    """Return the model `provider/name`, optionally `provider/name@URL`. Raises VivaError for what cannot be a model."""
    provider = provider_of(name)
    if endpoint.key_variable and not endpoint.key_variable.isidentifier():
        # Perhaps the key itself: not to be repeated.
        raise VivaError("takes the name of an environment variable, such as OPENAI_API_KEY", field=endpoint.key_field)
    module = importlib.import_module(PROVIDERS[provider])
    return cast("Callable[[str, Endpoint], Model]", module.connect)(name.removeprefix(f"{provider}/"), endpoint)


def provider_of(name: str) -> str:
    """Return the provider that a model's name begins with. Raises VivaError, with what may be meant, where it is
    none.
    """
    provider, slash, rest = name.partition("/")
    if rest and provider in PROVIDERS:
        return provider
    near = difflib.get_close_matches(provider.casefold(), PROVIDERS, 1, 0.8)  # openchat/ is somebody's models
    meant = f"{near[0]}/{rest}" if near and rest else f"openai/{name}"
    hint = f" (did you mean {meant}?)" if rest or not slash else ""
    known = ", ".join(f"{known}/..." for known in PROVIDERS if known != "python")  # those are no names
    raise VivaError(f"no such model: {name!r}{hint}; a model is named {known}")
