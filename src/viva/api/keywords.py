"""The options of a run as keyword arguments: same names, same defaults, same bounds as on the command line."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from viva.engine.limits import RunLimits
from viva.fields import Option, convert, options, unknown
from viva.runs.config import GRADE, RESUME, RUN, RejudgeOptions

F = TypeVar("F", bound=Callable[..., Any])

RUN_OPTIONS = options(*RUN, without=("trust_endpoints",))
GRADE_OPTIONS = options(*GRADE, without=("trust_endpoints", "trust_remote_code", "reuse", "shuffle"))
RESUME_OPTIONS = options(RejudgeOptions, *RESUME, without=("run",), inherited=RunLimits.__struct_fields__)


def keywords(known: Mapping[str, Option], given: Mapping[str, object], function: str) -> dict[str, Any]:
    """Every option of a function, by name; `progress` is "quiet" unless it is given.

    Raises TypeError for a name that is none, VivaError for a value that is not allowed.
    """
    problem = unknown(known, given, function.removeprefix("viva.").replace(".", " "))
    if problem:
        raise TypeError(f"{function}: {problem}")
    return convert(known, {"progress": "quiet", **given})


def with_signature(known: Mapping[str, Option]) -> Callable[[F], F]:
    """Show the options in a function's signature, where notebooks and `help` look for them."""

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        own = [each for each in signature.parameters.values() if each.kind is not inspect.Parameter.VAR_KEYWORD]
        more = [
            inspect.Parameter(each.name, inspect.Parameter.KEYWORD_ONLY, default=each.default, annotation=each.kind)
            for each in known.values()
        ]
        function.__signature__ = signature.replace(parameters=[*own, *more])  # type: ignore[attr-defined]
        return function

    return decorate
