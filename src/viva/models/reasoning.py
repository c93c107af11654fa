"""How a server is told how much its model is to reason, and which models reason by their names: reasoning.toml."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any
from urllib.parse import urlsplit

from msgspec import Struct

from viva.errors import VivaError, option
from viva.requesting import RequestOptions
from viva.shipped import shipped_table

REASONING_LIMIT = 32_768
"""Tokens of thoughts and reply that a model which reasons may write where no other limit is given."""


class _Server(Struct, kw_only=True):
    name: str
    hosts: list[str] = []
    owners: list[str] = []
    effort: dict[str, Any] = {}
    none: dict[str, Any] = {}
    budget: dict[str, Any] = {}


class _Names(Struct):
    reason: list[str]
    do_not: list[str]


class _Table(Struct):
    servers: list[_Server]
    names: _Names


@cache
def _table() -> _Table:
    return shipped_table(__file__, "reasoning.toml", _Table)


def reasons_by_name(name: str) -> bool:
    """Tell whether a model is known to think first, by what it is called."""
    short = name.lower().rpartition("/")[2]
    names = _table().names
    return any(re.search(one, short) for one in names.reason) and not any(re.search(one, short) for one in names.do_not)


def fields_for(said: RequestOptions, url: str, owner: str) -> dict[str, Any]:
    """Return the fields of a request that tell a server what the user says of reasoning.

    `owner` is what its list of models says. Raises VivaError for what this kind of server does not have.
    """
    found: dict[str, Any] = {}
    server = _server(url, owner)
    if said.effort:
        way = server.none if said.effort == "none" and server.none else server.effort
        if not way:
            raise VivaError(f"{said.effort}: {server.name} has no such setting", field="reasoning_effort")
        found = merged(found, _filled(way, {"{effort}": said.effort}))
    if said.budget:
        if not server.budget:
            raise VivaError(
                f"{said.budget}: {server.name} takes no budget of reasoning; say "
                f"{option('reasoning_effort')}, or {option('request_field')} with the field that it has",
                field="reasoning_budget",
            )
        found = merged(found, _filled(server.budget, {"{budget}": said.budget}))
    return found


def _server(url: str, owner: str) -> _Server:
    host = urlsplit(url).hostname or ""
    for one in _table().servers:
        if any(host == known or host.endswith(f".{known}") for known in one.hosts) or owner in one.owners:
            return one
    return _table().servers[-1]


def _filled(value: Any, values: Mapping[str, object]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, values) for key, inner in value.items()}
    return values.get(value, value) if isinstance(value, str) else value


def merged(one: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Two sets of fields; objects of one name become one."""
    found = dict(one)
    for key, value in other.items():
        old = found.get(key)
        found[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return found
