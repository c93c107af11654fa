"""Jinja templates and regular expressions of a card, in a separate process with limits of time and memory.

Cards and replies are untrusted: a template is a program, a pattern can take forever.
Jinja's sandbox keeps a template from the machine and from what objects hide; nothing can be loaded, and the process
opens no file once it has begun. Patterns are Python's own (`re`), so that they match what they match in lm-eval.
"""

from __future__ import annotations

import ast
import contextlib
import re
import string
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from viva.benchmarks.card.lm_eval_file import Filter, Metric
from viva.errors import DataError
from viva.io.limited import MEMORY, LimitedProcess, serve
from viva.visible import one_line

if TYPE_CHECKING:
    from jinja2 import Template

SECONDS = 1.0
"""CPU time for the templates of one row or the patterns on one reply; normally they take microseconds."""
LONGEST = 1 << 22
"""Characters of a rendered text."""
_PROCESS = LimitedProcess(__name__)


class TemplateError(Exception):
    """A template that fails on a row; the message says how."""


def render(row: Mapping[str, Any], fields: Mapping[str, Any], *, choices: bool) -> dict[str, Any]:
    """Return the values of a task's fields in a row: `text` and `target`, and `choices` where it has some.

    A field is the name of a column (its value as it is) or a Jinja template of columns; a list stands for itself. With
    `choices`, a text of digits is a number, an index into them. Raises TemplateError.
    """
    reply = _PROCESS.ask({"row": row, "fields": fields, "choices": choices})
    if reply is None:
        raise TemplateError(f"it took more than {SECONDS:g} s of the processor or {MEMORY >> 30} GiB of memory")
    if "error" in reply:
        raise TemplateError(one_line(str(reply["error"]), 300))
    return dict(reply["found"])


class Extracted(NamedTuple):
    """Result of the filters on a reply: the text, whether it is a gold answer, whether a pattern found nothing."""

    text: str
    same: bool
    lost: bool


def match(
    reply: str, golds: Sequence[str], pipelines: Mapping[str, Sequence[Filter]], metric: Metric
) -> dict[str, Extracted] | None:
    """Return every pipeline's reading of a reply, compared with the gold answers; None where that takes too long.

    Raises DataError for an invalid pattern.
    """
    asked = {"reply": reply, "golds": golds, "pipelines": pipelines, "metric": metric}
    replied = _PROCESS.ask({"match": msgspec.to_builtins(asked)})
    if replied is None:
        return None
    if "error" in replied:
        raise DataError(f"a pattern of the card cannot be used: {one_line(str(replied['error']), 300)}")
    return {name: Extracted(*read) for name, read in replied["found"].items()}


def _work() -> None:
    _templates()("{{ 'once' | wordwrap | pprint }}").render({})  # makes Jinja load its modules now
    with contextlib.suppress(Exception):
        _templates()("{{ nowhere }}").render({})
    serve(_answer, SECONDS, sealed=True)


def _answer(asked: dict[str, Any]) -> dict[str, Any]:
    if "match" in asked:
        return {"found": _matched(**asked["match"])}
    return {"found": _rendered(asked["row"], asked["fields"], choices=asked["choices"])}


@lru_cache(maxsize=1)
def _templates() -> Callable[[str], Template]:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["regex_replace"] = _replaced
    return lru_cache(maxsize=64)(environment.from_string)


def _replaced(text: str, pattern: str, repl: str, count: int = 0) -> str:
    return re.sub(pattern, repl, text, count=count)


def _rendered(row: dict[str, Any], fields: dict[str, Any], *, choices: bool) -> dict[str, Any]:
    rendered_fields: dict[str, Any] = {}
    for name, field in fields.items():
        if isinstance(field, list) or field in row:
            rendered_fields[name] = row[field] if isinstance(field, str) else field
            continue
        text = _templates()(field).render(row)
        if len(text) > LONGEST:
            raise ValueError(f"it made a text of {len(text):,} characters")
        rendered_fields[name] = text if name == "text" else _value(text, name, choices=choices)
    return rendered_fields


def _value(text: str, name: str, *, choices: bool) -> Any:
    """Return the value that a rendered field spells: a list, or an index into the choices."""
    if name == "choices":
        return ast.literal_eval(text)  # constants alone: nothing is called
    if choices and text.isdigit():
        return ast.literal_eval(text)
    if len(text) > 1 and text[0] == "[" and text[-1] == "]":
        try:
            return ast.literal_eval(text)
        except (SyntaxError, ValueError):
            return text
    return text


def _matched(
    reply: str, golds: list[str], pipelines: dict[str, list[dict[str, Any]]], metric: dict[str, Any]
) -> dict[str, Any]:
    wanted = {_normalised(gold, **metric) for gold in golds}
    results: dict[str, Any] = {}
    for name, filters in pipelines.items():
        text, lost = reply, False
        for each in filters:
            if each["function"] == "regex":
                text, lost = _extracted(text, each["regex_pattern"], each["group_select"], each["fallback"])
            elif each["function"] == "remove_whitespace":
                text = text.strip()
            elif each["function"] == "lowercase":
                text = text.lower()
            elif each["function"] == "uppercase":
                text = text.upper()
        results[name] = (text, _normalised(text, **metric) in wanted, lost)
    return results


def _extracted(text: str, pattern: str, group: int, fallback: str) -> tuple[str, bool]:
    """Return the match that `group` selects (the first of its groups that holds something), or the fallback."""
    matches = re.findall(pattern, text)
    if not -len(matches) <= group < len(matches):
        return fallback, True
    chosen = matches[group]
    if isinstance(chosen, tuple):
        chosen = next((part for part in chosen if part), None)
        if chosen is None:
            return fallback.strip(), True
    return chosen.strip(), False


_WITHOUT = {name: str.maketrans("", "", getattr(string, name)) for name in ("punctuation", "digits")}


def _normalised(
    text: str,
    *,
    metric: str,
    ignore_case: bool,
    ignore_punctuation: bool,
    ignore_numbers: bool,
    regexes_to_ignore: list[str],
) -> str:
    for pattern in regexes_to_ignore:
        text = re.sub(pattern, "", text)
    text = text.lower() if ignore_case else text
    text = text.translate(_WITHOUT["punctuation"]) if ignore_punctuation else text
    return text.translate(_WITHOUT["digits"]) if ignore_numbers else text


if __name__ == "__main__":
    _work()
