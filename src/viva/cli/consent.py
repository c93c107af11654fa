"""What a command asks of its user before it goes on with a run of somebody else's."""

from __future__ import annotations

import click

from viva.engine.folder import RunFolder
from viva.runs import trust
from viva.runs.config import LimitOptions
from viva.runs.progress import caller
from viva.sources.fetching import terminal


def confirm_endpoints(folder: RunFolder, limits: LimitOptions) -> None:
    """As `trust.confirm_endpoints`: on a terminal the user is asked, elsewhere the run is refused."""
    trust.confirm_endpoints(folder, limits, _agreed if caller() is None and terminal() else None)


def _agreed(said: str, question: str) -> bool:
    click.echo(said, err=True)
    return click.confirm(question, err=True)
