"""What all command lines here share: tiny inputs, and what to say where something is not installed."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import Any

NOT_INSTALLED = os.EX_UNAVAILABLE
"""Exit code of a script that left something out because a program or package that it needs is not installed."""


def add_tiny(parser: argparse.ArgumentParser, **sizes: Any) -> None:
    """Give the parser --tiny, which sets these options at once; options behind it on the command line still count.

    The run is the same but for its sizes: what only happens with --tiny would show nothing about the full run.
    """
    unknown = set(sizes) - {action.dest for action in parser._actions}
    if unknown:
        raise ValueError(f"--tiny sets what is no option: {', '.join(sorted(unknown))}")

    class Tiny(argparse.Action):
        def __call__(
            self,
            parser: argparse.ArgumentParser,
            namespace: argparse.Namespace,
            values: str | Sequence[Any] | None,
            option_string: str | None = None,
        ) -> None:
            parser.set_defaults(**sizes)  # of positional arguments, which are filled in last
            for name, value in sizes.items():
                setattr(namespace, name, value)

    parser.add_argument(
        "--tiny", action=Tiny, nargs=0, dest=argparse.SUPPRESS, help="smallest inputs, seconds: to see that it works"
    )


def left_out(what: str) -> int:
    """Name what is left out and why; returns the exit code for it."""
    print(f"{os.path.basename(sys.argv[0])}: left out: {what}", file=sys.stderr, flush=True)  # noqa: PTH119
    return NOT_INSTALLED
