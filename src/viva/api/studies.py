"""Every study of finished runs as a function, such as `viva.breakdown("runs/a", by="domain")`, loaded on first use.

Commands registered by packages are functions, too, in a module of the package (`of_package`).
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol

from viva import plugins
from viva.api import examining
from viva.api.examining import UnansweredWarning, keywords, run_in_thread, with_signature
from viva.commands import Command
from viva.errors import VivaError, in_program, missing_extras
from viva.fields import Option, options
from viva.runs.progress import Caller

if TYPE_CHECKING:
    from viva.render.findings import Findings

STUDIES: Mapping[str, str] = {study.place.split(".")[2]: study.place for study in plugins.studies().values()}
"""Name of the function → module:function."""


class Study(Protocol):
    """A command as a function of its arguments, with its options as keywords."""

    def __call__(self, *given: Any, **named: Any) -> Any:
        """Return the findings, or the exit code of an action."""


def __getattr__(name: str) -> Study:
    if name not in STUDIES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _function(name, STUDIES[name])


def of_package(package: str, name: str) -> Study:
    """Return a command of a package (the name of its entry point) as a function: `variance_run` is `viva variance run`.

    Raises AttributeError where it registers none of that name.
    """
    for shown, known in plugins.registered().items():
        if known.package == package and ":" in known.place and python_name(shown, package) == name:
            return _function(f"{package}.{name}", known.place, shown.rpartition(" ")[2])
    raise AttributeError(f"module 'viva.{package}' has no attribute {name!r}")


def names_of_package(package: str) -> list[str]:
    """Return the names that `of_package` accepts for a package."""
    return [
        python_name(name, package)
        for name, known in plugins.registered().items()
        if known.package == package and ":" in known.place
    ]


def python_name(name: str, package: str) -> str:
    """Return `variance run` → `variance_run`; without the prefix of a package's name."""
    return name.removeprefix(f"{package} ").replace(" ", "_").replace("-", "_")


def _loaded(place: str) -> Command[Any, Any]:
    module, _, attribute = place.partition(":")
    with missing_extras():
        command: Command[Any, Any] = getattr(importlib.import_module(module), attribute)
    return command


@cache
def _function(name: str, place: str, base: str = "") -> Study:
    loaded = _loaded(place)
    if loaded.kind == "way":
        return _in_a_way(name, loaded, base)
    known = options(loaded.config)
    first = [option for option in known.values() if option.argument]
    signature = inspect.Signature([_argument(option) for option in first])

    @in_program()
    def function(*given: Any, **named: Any) -> Any:
        bound = signature.bind(*given, **{each.name: named.pop(each.name) for each in first if each.name in named})
        values = keywords(known, {**bound.arguments, **named}, f"viva.{name}")
        for each in known.values():
            if each.required and not values[each.name]:
                raise VivaError(f"{each.name}: must be given ({each.description.rstrip('.')})")
        asked = loaded.config(**values)
        with missing_extras():
            # Commands that ask models run in a thread, like runs, so that the program's event loop goes on.
            return _in_thread(loaded, asked) if "progress" in known else loaded(asked)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = signature  # type: ignore[attr-defined]
    function.__doc__ = _documented(loaded, known)
    return with_signature({each: option for each, option in known.items() if not option.argument})(function)


def _in_a_way(name: str, loaded: Command[Any, Any], base: str) -> Study:
    """Return `viva.run`, `viva.resume` or `viva.grade` with the options of a way of asking added."""
    known, asks = options(loaded.config), getattr(examining, base)

    @in_program()
    def function(*given: Any, **named: Any) -> Any:
        own = keywords(known, {each: named.pop(each) for each in known if each in named}, f"viva.{name}")
        return asks(*given, way=loaded(loaded.config(**{each: own[each] for each in known})), **named)

    function.__name__ = function.__qualname__ = name
    function.__signature__ = inspect.signature(asks)  # type: ignore[attr-defined]
    function.__doc__ = _documented(loaded, known)
    return with_signature(known)(function)


_FLAG = re.compile(r"--([a-z][a-z-]*[a-z])")


def _documented(loaded: Command[Any, Any], known: Mapping[str, Option]) -> str:
    lines = [
        f"    {each.name}: {_FLAG.sub(lambda flag: flag[1].replace('-', '_'), each.description)}"
        for each in known.values()
    ]
    return "\n".join((inspect.cleandoc(loaded.__doc__ or ""), "", *lines))


def _in_thread(study: Callable[[Any], Findings[Any]], config: Any) -> Findings[Any]:
    messages: list[str] = []

    def work(caller: Caller) -> Findings[Any]:
        try:
            return study(config)
        finally:
            messages.extend(caller.messages)

    result = run_in_thread(work)
    if messages:
        warnings.warn("; ".join(messages), UnansweredWarning, stacklevel=4)
    return result


def _argument(option: Option) -> inspect.Parameter:
    kind = inspect.Parameter.VAR_POSITIONAL if option.several else inspect.Parameter.POSITIONAL_OR_KEYWORD
    default = inspect.Parameter.empty if option.several or option.required else option.default
    return inspect.Parameter(option.name, kind, default=default, annotation="str | PathLike[str] | Run")
