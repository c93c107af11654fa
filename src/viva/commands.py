"""A command as a function of one struct: options, help, Python function and configuration derive from the struct.

A package registers such functions by their names (see `plugins`); click is the command line's business.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

C = TypeVar("C")
R = TypeVar("R")
Kind = Literal["study", "action", "way"]


class Command(Generic[C, R]):
    """A function with the struct of its arguments and options; it is called as the function is.

    `config`: its docstring is the help of the command, its fields are arguments and options.
    `kind`: a study returns `Findings`, which are printed as `--format` and `--out` say; an action prints itself and
    returns the exit code; a way of asking returns a `runs.ways.Way`, and has the options of `viva run` (or of resume
    or grade, as the last word of its name says) besides its own.
    `chart`: what `--chart` draws, where a study draws anything. `epilog`: what its help ends with. `typed`: what the
    command line calls instead, where that is not the function of Python.
    """

    def __init__(
        self,
        config: type[C],
        function: Callable[..., R],
        kind: Kind,
        chart: str,
        epilog: str,
        typed: Command[Any, int] | None,
    ) -> None:
        self.config, self.function, self.kind, self.chart = config, function, kind, chart
        self.epilog, self.typed = epilog, typed
        self.__doc__, self.__module__ = function.__doc__, function.__module__

    def __call__(self, config: C, **more: Any) -> R:
        """Return what the function does."""
        return self.function(config, **more)


def command(
    config: type[C], kind: Kind = "study", *, chart: str = "", epilog: str = "", typed: Command[Any, int] | None = None
) -> Callable[[Callable[..., R]], Command[C, R]]:
    """Make a command of a function of a struct; what it is called is said where it is registered."""

    def decorate(function: Callable[..., R]) -> Command[C, R]:
        return Command(config, function, kind, chart, epilog, typed)

    return decorate
