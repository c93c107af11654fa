"""The user's options of requests besides prompt and sampling: fields, headers, system text, reasoning."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from viva.errors import VivaError, option
from viva.files import read_regular
from viva.providers import VARIABLE, RequestOptions, expanded
from viva.runs.config import JudgeOptions, ServerOptions
from viva.visible import one_line

LARGEST = 1 << 20
"""Bytes of a file with a system text."""
_NAME = re.compile(r"[A-Za-z0-9!#%&'*+.^_`|~-]{1,100}")
"""Names of headers (RFC 9110)."""
_SECRET = re.compile(r"authorization|cookie|key|token|secret|password|credential", re.IGNORECASE)
_RESERVED = frozenset({"model", "messages", "prompt", "stream", "stream_options", "n", "input", "contents"})
"""Fields that only Viva sets: they say what is asked of which model."""
_OF_THE_WIRE = frozenset(
    {"host", "content-length", "content-type", "transfer-encoding", "connection", "accept-encoding"}
)


def request_options(given: ServerOptions, *, limit_kept: bool) -> RequestOptions:
    """Return the request options of one model. Raises VivaError for options that cannot be sent."""
    return RequestOptions(
        effort=given.reasoning_effort or "",
        budget=_budget(given.reasoning_effort, given.reasoning_budget, "reasoning"),
        fields=_pairs(given.request_field, "request_field", refused=_RESERVED),
        template_options=_pairs(given.template_option, "template_option"),
        headers=tuple(map(_header, given.header)),
        system=_system(given.system) if given.system else "",
        api_version=given.api_version or "",
        limit_kept=limit_kept,
        keep_reasoning=given.keep_reasoning,
        stream=given.stream,
        strict=given.strict_parameters,
    )


def judge_request_options(given: JudgeOptions) -> RequestOptions:
    """Return the request options of the judges. Raises VivaError as `request_options`."""
    return RequestOptions(
        effort=given.judge_reasoning_effort or "",
        budget=_budget(given.judge_reasoning_effort, given.judge_reasoning_budget, "judge_reasoning"),
        fields=_pairs(given.judge_request_field, "judge_request_field", refused=_RESERVED),
    )


def _budget(effort: str | None, budget: int | None, of: str) -> int:
    if effort == "none" and budget:
        both = f"{option(f'{of}_effort', 'none')} and {option(f'{of}_budget', str(budget))}"
        raise VivaError(f"{both} contradict each other: leave one out")
    return budget or 0


def _pairs(given: tuple[str, ...], field: str, refused: frozenset[str] = frozenset()) -> tuple[tuple[str, str], ...]:
    """Parse `KEY=JSON` as (key, JSON). A value that is no JSON is taken as a text, if it cannot be meant as anything
    else.
    """
    pairs: dict[str, str] = {}
    for each in given:
        name, equals, value = each.partition("=")
        name = name.strip()
        if not equals or not name:
            raise VivaError(f"{one_line(each, 80)!r}: write KEY=JSON, such as top_k=20", field=field)
        if name in refused:
            raise VivaError(f"{name}: Viva writes this field itself", field=field)
        if name in pairs:
            raise VivaError(f"{name} is there twice", field=field)
        pairs[name] = _json(value, field, name)
    return tuple(pairs.items())


def _json(text: str, field: str, name: str) -> str:
    try:
        return msgspec.json.encode(msgspec.json.decode(text)).decode()
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        if re.fullmatch(r"[A-Za-z][\w .:/-]*", text):
            return msgspec.json.encode(text).decode()
        raise VivaError(
            f"{name}={one_line(text, 60)}: this is no JSON; a text stands in double quotes: '{name}=\"...\"'",
            field=field,
        ) from None


def _header(given: str) -> tuple[str, str]:
    name, equals, value = given.partition("=")
    name, value = name.strip(), value.strip()
    if not equals or not _NAME.fullmatch(name):
        raise VivaError(
            f"{one_line(name, 60)}: write NAME=VALUE, such as {option('header')} 'X-Title=Viva'", field="header"
        )
    if name.lower() in _OF_THE_WIRE:
        raise VivaError(f"{name}: this header is HTTP's own", field="header")
    if any(ord(character) < 32 or ord(character) == 127 for character in value):
        raise VivaError(f"{name}: a value is one line without control characters", field="header")
    if _SECRET.search(name) and not VARIABLE.search(value):
        raise VivaError(
            f"{name}: a secret is read from the environment, so that no file holds it: "
            f"{option('header')} '{name}=$VARIABLE' (in single quotes, or the shell puts its value in)",
            field="header",
        )
    expanded(((name, value),))
    return name, value


def _system(given: str) -> str:
    """Return the system text, read from the file if given as @FILE."""
    if not given.startswith("@"):
        return given
    try:
        return read_regular(Path(given[1:]), LARGEST, follow=True).decode("utf-8-sig").strip()
    except OSError as problem:
        raise VivaError(f"{option('system')}: cannot read {given[1:]}: {problem.strerror or problem}") from None
    except UnicodeDecodeError:
        raise VivaError(f"{option('system')}: {given[1:]} is not UTF-8") from None
