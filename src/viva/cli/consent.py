"""What a command asks of its user before it goes on with a run of somebody else's."""

from __future__ import annotations

import sys

import click

from viva.engine.folder import RunFolder
from viva.runs import trust
from viva.runs.config import LimitOptions
from viva.runs.progress import caller


def confirm_endpoints(folder: RunFolder, limits: LimitOptions) -> None:
    """As `trust.confirm_endpoints`: on a terminal the user is asked, elsewhere the run is refused."""
    terminal = caller() is None and sys.stdin.isatty() and sys.stderr.isatty()
    trust.confirm_endpoints(folder, limits, _agreed if terminal else None)


def _agreed(said: str, question: str) -> bool:
    click.echo(said, err=True)
    return click.confirm(question, err=True)
