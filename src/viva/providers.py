"""What kinds of models there are. A provider is one module and one entry here, or in a package (`viva.models`).

The entry point NAME = module of a package's provider: the module has `connect(name, endpoint)`, as Viva's own, and may
have `TRAITS`, where its models are not as most.
"""

from __future__ import annotations

import importlib
from functools import cache

from msgspec import Struct

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


BUILT_IN = {
    "hf": ("viva.models.local.weightsmodel", ModelTraits(paid=False, unbounded=True)),
    "openai": ("viva.models.openaiapi.openai", ModelTraits(served=True, priced_at="api.openai.com")),
    "openai-responses": (
        "viva.models.openaiapi.openairesponses",
        ModelTraits(served=True, priced_as="openai", priced_at="api.openai.com"),
    ),
    "anthropic": ("viva.models.anthropic", ModelTraits()),
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
    found: ModelTraits = getattr(importlib.import_module(PROVIDERS[provider]), "TRAITS", ModelTraits())
    return found
