"""Prompt in, Response out. A provider's module is loaded when a model of it is used (`viva.providers`)."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Callable
from typing import cast

from msgspec import Struct

from viva.contracts import Model
from viva.errors import VivaError
from viva.models.secrecy import Key, key_from
from viva.providers import PROVIDERS
from viva.requesting import Adaptation, RequestOptions, Weights


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

    def key(self, *usual: str) -> Key:
        """Return the key; from the first of the `usual` variables that is set where the user names none. Raises
        VivaError.
        """
        return key_from(self.key_variable, *usual, field=self.key_field)


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
