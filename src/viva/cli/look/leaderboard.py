"""`viva leaderboard`: runs and the papers' rows as a static site."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive
from viva.runs.config import pick
from viva.runs.live_line import say
from viva.studies.leaderboard.study import LeaderboardConfig, study
from viva.visible import one_line

_PATH = click.Path(path_type=Path)


@click.command(name="leaderboard", short_help="A static site of rankings: a page a benchmark and a model.")
@click.argument("sources", nargs=-1, type=_PATH, metavar="[RUN...]")
@click.option("--out", type=_PATH, required=True, metavar="FOLDER", help="Where the site goes: new, empty, or a site.")
@derive(LeaderboardConfig, metavars={"models": "FILE"})
def leaderboard_command(out: Path, **given: Any) -> int:
    """A leaderboard to put on any web server, or to open from the folder: a page a benchmark with ranks as ranges, the
    best by type and size, charts and filters, a page a model, and all of it as JSON and CSV.

    A source is a run folder, a folder of runs, or a table of item scores. What was asked in different ways (language,
    exemplars, prompts, judge, data) stands on different boards; the papers' rows are marked, and ranked apart. Without
    a source: the papers' tables alone.

    A run whose scores.jsonl is not what grading made of the files beside it (edited, or older than they) is left out,
    and said. Hashes do not say who made a folder: numbers of somebody else's come from --regrade.

    \b
    viva leaderboard --out site/
    viva leaderboard runs/ --out site/ --title 'Our models' --models models.csv
    viva leaderboard runs/a runs/b scores.csv --out site/ --no-published
    viva leaderboard theirs/ --out site/ --regrade           their answers, graded here
    """
    from viva.reports.site.files import check_out

    check_out(out)
    result = study(pick(LeaderboardConfig, given))
    written = result.write(out)
    boards = sum(len(page.boards) for page in result.site.benchmarks)
    click.echo(f"{out}: {len(written):,} files, {boards} boards; open {out / 'index.html'}", err=True)
    for why in result.left_out:
        say(f"viva: left out: {why}")
    if result.unused:
        names = ", ".join(repr(one_line(name, 60)) for name in result.unused[:5])
        more = f" and {len(result.unused) - 5} more" if len(result.unused) > 5 else ""
        say(f"viva: {given['models']}: no run has a model called {names}{more}")
    return 0
