"""`viva leaderboard`: runs and the papers' rows as a static site."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive
from viva.fields import pick
from viva.pages.leaderboard.study import LeaderboardConfig, study
from viva.runs.progress import say
from viva.visible import one_line, some


@click.command(name="leaderboard", help=inspect.cleandoc(LeaderboardConfig.__doc__ or ""))
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    required=True,
    metavar="FOLDER",
    help="Where the site goes: new, empty, or a site.",
)
@derive(LeaderboardConfig)
def leaderboard_command(out: Path, **given: Any) -> int:
    """`viva leaderboard`."""
    from viva.pages.leaderboard.study import check_out

    check_out(out)
    result = study(pick(LeaderboardConfig, given)).found
    written = result.write(out)
    boards = sum(len(page.boards) for page in result.site.benchmarks)
    click.echo(f"{out}: {len(written):,} files, {boards} boards; open {out / 'index.html'}", err=True)
    for why in result.left_out:
        say(f"viva: left out: {why}")
    if result.unused:
        names = some([repr(one_line(name, 60)) for name in result.unused], 5)
        say(f"viva: {given['models']}: no run has a model called {names}")
    return 0
