"""A command as a function of one struct: options, help, Python function and configuration derive from the struct.

A package registers such functions by their names (see `plugins`). Nothing here imports click.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, Literal, TypeVar

C = TypeVar("C")
R = TypeVar("R")
Kind = Literal["study", "action", "way"]


class Command(Generic[C, R]):
    """A callable function with the struct of its arguments and options.

    `config`: its docstring is the help of the command, its fields are arguments and options. `kind`: a study returns
    `Findings`, which are printed as `--format` and `--out` say; an action prints itself and returns the exit code; a
    way of asking returns a `runs.session.Way`, and has the options of `viva run` (or of resume or grade, by the last
    word of its name) besides its own. `chart`: what `--chart` draws, where a study draws anything. `epilog`: the end of
    its help. `typed`: what the command line calls in place of the Python function, where they differ.
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
        """Call the function and return its result."""
        return self.function(config, **more)


def command(
    config: type[C], kind: Kind = "study", *, chart: str = "", epilog: str = "", typed: Command[Any, int] | None = None
) -> Callable[[Callable[..., R]], Command[C, R]]:
    """Make a command of a function of a struct; its name is given where it is registered."""

    def decorate(function: Callable[..., R]) -> Command[C, R]:
        return Command(config, function, kind, chart, epilog, typed)

    return decorate
