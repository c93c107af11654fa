"""Options that change how a run is judged."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import click

from viva.cli.options import F
from viva.runs.rejudge import BUNDLED
from viva.types import VerdictFormat

_OPTIONS = (
    click.option(
        "--judge",
        multiple=True,
        metavar="MODEL[@URL]",
        help="Judge by this model in place of the run's judges. Repeat for a panel.",
    ),
    click.option(
        "--panel",
        type=click.Choice(["mean", "median", "majority"]),
        help="How several verdicts on one answer are combined.  [default: the run's]",
    ),
    click.option(
        "--rubric",
        type=click.Path(path_type=Path),
        metavar=f"FILE|{BUNDLED}",
        help="TOML file that replaces the judge's rubric.  [default: the run's]",
    ),
    click.option("--judge-samples", type=click.IntRange(1), help="Verdicts per answer.  [default: the run's]"),
    click.option(
        "--judge-base-url",
        metavar="URL",
        help="The judge's server.  [default: that of the run's judges, else of its models]",
    ),
    click.option("--judge-key-env", metavar="NAME", help="Environment variable with the judge's key."),
    click.option(
        "--verdicts",
        type=click.Choice(get_args(VerdictFormat)),
        help="How judges write verdicts (see `viva run --help`).  [default: the run's; nonce with --judge or --rubric]",
    ),
    click.option(
        "--encoder", metavar="NAME|FOLDER|none", help="Compare with this encoder from now on.  [default: the run's]"
    ),
)


def rejudge_options(function: F) -> F:
    """The options of `Anew`."""
    for option in reversed(_OPTIONS):
        function = option(function)
    return function
