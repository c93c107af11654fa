"""`viva view`: runs in the browser, also while they are running."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Annotated, Any

import click

from viva.cli.options import derive
from viva.errors import VivaError
from viva.fields import note, pick
from viva.pages.review.invitations import Port, Serving
from viva.runs.progress import say

RUNS = Path("runs")


class ViewOptions(Serving, kw_only=True):
    """Where runs are shown."""

    port: Port = 8471
    static: Annotated[
        Path | None,
        note(
            "Serve nothing: write the leaderboard, the list of runs and their reports as files into this folder.",
            metavar="DIR",
        ),
    ] = None


@click.command
@click.argument("path", metavar="[RUN|FOLDER]", type=click.Path(path_type=Path), default=RUNS)
@derive(ViewOptions)
def view_command(path: Path, **given: Any) -> int:
    """Show the runs of FOLDER (runs/ if left out), or one RUN, on a page that is served to this machine.

    The page has the progress, the tables so far, every answer with its prompt and verdict, and two runs side by side.
    No lock is taken, so runs can be looked at while they run; only a note that you keep there is written (notes.json).

    \b
    viva view                                  all runs in runs/
    viva view runs/NAME                        one of them
    viva view /data/runs --host 0.0.0.0        for others, with the token that is printed
    viva view runs/ --static site/             the same as files; `viva report` and `viva leaderboard` write parts of it
    """
    options = pick(ViewOptions, given)
    where = options.where
    if not path.is_dir():
        missing = "there is no such folder" if not path.exists() else "it is a file"
        raise VivaError(f"{path}: {missing}; name a run folder or a folder of runs (`viva run` makes them in runs/)")

    if options.static is not None:
        from viva.pages.staticsite import export

        written, left_out = export(path, options.static)
        click.echo(f"{options.static}: {len(written):,} files; open {options.static / 'index.html'}", err=True)
        for why in left_out:
            say(f"viva: left out: {why}")
        return 0

    from viva.pages.runs.runpages import application
    from viva.pages.serving.server import serve

    where["announce"] = lambda address: click.echo(f"{path} at {address}  (Ctrl-C ends it)")
    serve(functools.partial(application, path), **where)
    return 0
