"""Providers of models, and options of their requests besides prompt and sampling (stored in run.json).

A provider is one module with an entry here, or in a package's entry points (`viva.models`).

The module has `connect(name, endpoint)`, and a package's may have `TRAITS`, if its models differ from the defaults.
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
    """Traits of a provider's models; the defaults are those of most: asked over a network, for money."""

    paid: bool = True
    """Whether requests cost money."""
    counted: bool = True
    """Whether tokens are counted."""
    takes_options: bool = True
    """Whether requests take the user's options: system text, headers, fields, reasoning."""
    served: bool = False
    """Whether the user may name any server by its address."""
    recorded: bool = False
    """Whether replies are recorded ones, and nothing is sent."""
    unbounded: bool = False
    """Whether this machine is the only bound on concurrency."""
    priced_as: str = ""
    """The provider whose list prices apply, if not this one."""
    priced_at: str = ""
    """The host to which these prices apply; "" for any."""
    batch_share: float = 1.0
    """Share of these prices that a batch costs."""


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
"""Provider → module with `connect(name, endpoint)`, imported when a model of it is used."""


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
"""Names of dtypes other than "auto"."""


class Weights(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Settings of a transformers model that can change a score or decide whether it fits into memory.

    `dtype`: "auto" is float32 on a CPU, and as stored on a GPU. `device`: auto, cpu, cuda, cuda:1, or map (spread over
    all devices). `bits`: 4 or 8 quantise; 0 does not. `template`: "" is the model's own chat template, "raw" none, else
    a family of models/templates.toml. `batch`: rows at once, 0 for automatic. `fingerprint`: that of the files when a
    run began, "" if unknown yet. `context`: the model's context in tokens, as stored by a run, 0 if unknown.
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
    """The user's options for one model's requests.

    `effort` and `budget` (tokens; 0: unset) say how much to reason. `fields`: (name, JSON) pairs added to the body as
    they are, where null removes a field; `template_options`: the same for the chat template. `headers`: (name, value)
    pairs, where `$NAME` stands for a variable of the environment, so that no secret is stored. `system` is put before
    every prompt. `api_version`: set for Azure addresses. `limit_kept`: whether the reply's limit (the user's, or as
    published) also holds for a model that reasons; else it gets room to think. `strict`: a refused parameter ends the
    run, rather than being left out.
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
        """Whether the user wants the model to reason; None where unset."""
        return None if not (self.effort or self.budget) else self.effort != "none"

    def identity(self) -> dict[str, str]:
        """Return the options that a reply depends on, for the key of a request; {} without any."""
        plain = msgspec.structs.replace(self, keep_reasoning=True, stream="auto", strict=False)
        return {"request": msgspec.json.encode(plain).decode()} if plain != RequestOptions() else {}


def expanded(headers: tuple[tuple[str, str], ...], environment: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the headers as they are sent. Raises VivaError for a variable that is unset or invalid in a header."""
    known = os.environ if environment is None else environment

    def value(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        if not known.get(name):
            raise VivaError(f"--header: the environment variable {name} is not set")
        return known[name].strip()

    return {name: VARIABLE.sub(value, text) for name, text in headers}


def variables(headers: tuple[tuple[str, str], ...]) -> list[str]:
    """Return the environment variables in headers, whose values must not be stored."""
    return [match[1] or match[2] for _, text in headers for match in VARIABLE.finditer(text)]


class Endpoint(Struct, frozen=True, kw_only=True):
    """How to reach a model: the user's settings, without secrets.

    `key_variable`: the environment variable that holds the key; `seed`: for baselines that draw; `weights`: how to open
    weights on a disk; `template`: the template family for a completion endpoint; `shown`: the name in tables of weights
    on a disk, with provider, where the folder's name is ambiguous; `request`: the user's options of requests;
    `adapted`: the run's adaptations to the server; `field`: the option of `base_url`, for errors.
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
    """Return the model `provider/name`; of `name@URL`, a `served` provider takes the URL (`openai.address`). Raises
    VivaError for what cannot be a model.
    """
    provider = provider_of(name)
    if endpoint.key_variable and not endpoint.key_variable.isidentifier():
        # It may be the key itself: not repeated in the error.
        raise VivaError("takes the name of an environment variable, such as OPENAI_API_KEY", field=endpoint.key_field)
    module = importlib.import_module(PROVIDERS[provider])
    return cast("Callable[[str, Endpoint], Model]", module.connect)(name.removeprefix(f"{provider}/"), endpoint)


def provider_of(name: str) -> str:
    """Return the provider that a model's name begins with. Raises VivaError, with what may be meant, where it is
    none.
    """
    provider, slash, rest = name.partition("/")
    if name.splitlines()[1:]:  # it would look like a line of Viva's own
        raise VivaError(f"no such model: {name!r}: a name has no line end")
    if rest and provider in PROVIDERS:
        return provider
    near = difflib.get_close_matches(provider.casefold(), PROVIDERS, 1, 0.8)  # openchat/ is an organisation on the Hub
    meant = f"{near[0]}/{rest}" if near and rest else f"openai/{name}"
    hint = f" (did you mean {meant}?)" if rest or not slash else ""
    known = ", ".join(f"{known}/..." for known in PROVIDERS if known != "python")  # not a prefix for users
    raise VivaError(f"no such model: {name!r}{hint}; a model is named {known}")
