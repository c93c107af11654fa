"""Fields that set how much a server's model reasons, and names of models that reason: reasoning.toml.

Also: separating thoughts from replies, stop reasons, and token counts.

Servers that know the model put its thoughts into a separate field; others leave them in the text, between tags or,
where the chat template wrote the first tag, with only a closing tag.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, get_args
from urllib.parse import urlsplit

from msgspec import Struct

from viva.errors import VivaError, option
from viva.files import shipped_table
from viva.providers import RequestOptions
from viva.scorers.lexicon import CLOSINGS, OPENINGS, after_thinking
from viva.types import StopReason, Usage

LARGEST_COUNT = 1_000_000_000
"""Largest plausible number of tokens of a request, or requests of a batch."""


def separate_thoughts(
    text: str, reasoning: str, stop: StopReason, *, thought: bool, quoting: bool
) -> tuple[str, str, StopReason]:
    """Return (reply, thoughts, stop reason) of a received text.

    `reasoning`: thoughts separated by the server; `thought`: whether it counted tokens of thinking. In a reply that may
    be `quoting` others (a judge's) only a tag at the beginning counts: others may be the quoted text's.
    """
    if not reasoning:
        text, reasoning = _split(text, quoting=quoting, cut=stop == "length")
    if stop == "length" and not text.strip() and (reasoning or thought):
        stop = "thinking"
    return text, reasoning, stop


def _split(text: str, *, quoting: bool, cut: bool) -> tuple[str, str]:
    if not any(mark in text for mark in "<[◁"):
        return text, ""
    body = text.lstrip()
    opened = next((tag for tag in OPENINGS if body.startswith(tag)), "")
    if opened:
        ends = [(place, tag) for tag in CLOSINGS if (place := body.find(tag)) >= 0]
        if ends:
            place, tag = min(ends)
            return body[place + len(tag) :].lstrip(), body[len(opened) : place].strip()
        return ("", body[len(opened) :].strip()) if cut else (text, "")
    if quoting:
        return text, ""
    start, unfinished = after_thinking(text)
    if not start or unfinished:
        return text, ""
    thoughts = text[:start]
    closed = next(tag for tag in CLOSINGS if thoughts.endswith(tag))
    return text[start:].lstrip(), thoughts.removesuffix(closed).strip()


_ENDS: dict[str, StopReason] = {
    **{reason: reason for reason in get_args(StopReason)},
    **dict.fromkeys(("eos", "end_turn", "stop_sequence"), "stop"),
    **dict.fromkeys(("max_tokens", "max_output_tokens", "model_length", "continuation"), "length"),
    **dict.fromkeys(("content_filter", "refusal", "safety", "prohibited_content", "blocklist", "recitation"), "filter"),
}
"""Word of a vendor or tool → stop reason."""


def stop_reason(word: object) -> StopReason:
    """Return the stop reason for a vendor's `word`, of any type; "stop" without one."""
    return "stop" if word is None else _ENDS.get(word.lower(), "other") if isinstance(word, str) else "other"


def read_usage(counts: object, input: Sequence[str], output: Sequence[str], reasoning: object = None) -> Usage | None:
    """Return the sums of a server's counts under these names, in any form: `12`, `12.0`, `"12"`.

    None, "not counted", if all names are missing, or one has an invalid count.
    """
    sums, known = [0, 0], counts if isinstance(counts, dict) else {}
    there = [(kind, known[name]) for kind, names in enumerate((input, output)) for name in names if name in known]
    for kind, value in there:
        count = read_count(value)
        if count is None:
            return None
        sums[kind] += count
    return Usage(sums[0], sums[1], read_count(reasoning) or 0) if there else None


def read_count(value: object) -> int | None:
    """Return a server's count as a number; None if invalid."""
    if type(value) is int and 0 <= value <= LARGEST_COUNT:  # fast path: nearly every reply
        return value
    if isinstance(value, str) and len(value) < 32:
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST_COUNT or value % 1:
        return None
    return int(value)


def cut_at(text: str, stops: Sequence[str], stop: StopReason) -> tuple[str, StopReason]:
    """Cut a reply at the first stop string, where the server does not."""
    ends = [start for stop_text in stops if stop_text and (start := text.find(stop_text)) >= 0]
    return (text[: min(ends)], "stop") if ends else (text, stop)


REASONING_LIMIT = 32_768
"""Default limit of thoughts and reply of a model that reasons, in tokens."""


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
    """Tell whether a model is known to reason, by its name."""
    short = name.lower().rpartition("/")[2]
    names = _table().names
    return any(re.search(pattern, short) for pattern in names.reason) and not any(
        re.search(pattern, short) for pattern in names.do_not
    )


def fields_for(options: RequestOptions, url: str, owner: str) -> dict[str, Any]:
    """Return the request's fields for the user's options of reasoning.

    `owner`: from its list of models. Raises VivaError for options that this kind of server lacks.
    """
    fields: dict[str, Any] = {}
    server = _server(url, owner)
    if options.effort:
        way = server.none if options.effort == "none" and server.none else server.effort
        if not way:
            raise VivaError(f"{options.effort}: {server.name} has no such setting", field="reasoning_effort")
        fields = merged(fields, _filled(way, {"{effort}": options.effort}))
    if options.budget:
        if not server.budget:
            raise VivaError(
                f"{options.budget}: {server.name} takes no budget of reasoning; say "
                f"{option('reasoning_effort')}, or {option('request_field')} with the field that it has",
                field="reasoning_budget",
            )
        fields = merged(fields, _filled(server.budget, {"{budget}": options.budget}))
    return fields


def _server(url: str, owner: str) -> _Server:
    host = urlsplit(url).hostname or ""
    for server in _table().servers:
        if any(host == known or host.endswith(f".{known}") for known in server.hosts) or owner in server.owners:
            return server
    return _table().servers[-1]


def _filled(value: Any, values: Mapping[str, object]) -> Any:
    if isinstance(value, dict):
        return {key: _filled(inner, values) for key, inner in value.items()}
    return values.get(value, value) if isinstance(value, str) else value


def merged(fields: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two sets of fields; objects of one name are merged."""
    result = dict(fields)
    for key, value in other.items():
        old = result.get(key)
        result[key] = merged(old, value) if isinstance(old, dict) and isinstance(value, Mapping) else value
    return result
