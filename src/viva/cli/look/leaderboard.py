"""`viva leaderboard`: runs and the papers' rows as a static site."""

from __future__ import annotations

from pathlib import Path

import click

from viva.errors import DataError, VivaError
from viva.studies.leaderboard.study import entries_of, site_of, sound_sources
from viva.visible import one_line

_PATH = click.Path(path_type=Path)


@click.command(name="leaderboard", short_help="A static site of rankings: a page a benchmark and a model.")
@click.argument("sources", nargs=-1, type=_PATH, metavar="[RUN...]")
@click.option("--out", type=_PATH, required=True, metavar="FOLDER", help="Where the site goes: new, empty, or a site.")
@click.option("--title", default="Viva leaderboard", show_default=True, help="What the site is called.")
@click.option(
    "--models", type=_PATH, metavar="FILE", help="CSV: model, family, type, domain, access, parameters, active, url."
)
@click.option("--no-published", is_flag=True, help="Without the papers' rows.")
@click.option(
    "--regrade", is_flag=True, help="Grade every run again from its answers first, as `viva score` does; asks nobody."
)
def leaderboard_command(
    sources: tuple[Path, ...], out: Path, title: str, models: Path | None, no_published: bool, regrade: bool
) -> int:
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
    from viva.reports.site.files import build, check_out
    from viva.studies.leaderboard.model_facts import ModelFacts

    check_out(out)
    if no_published and not sources:
        raise VivaError("--no-published without a run leaves nothing to show: name a run, or leave the option out")
    known = ModelFacts(models)
    left_out: list[str] = []
    entries = list(entries_of(sound_sources(sources, left_out, regrade=regrade), known, left_out))
    if sources and not entries:
        raise DataError(f"nothing to rank: {'; '.join(left_out)}")
    found = site_of(title, entries, left_out, published=not no_published)
    written = build(found, out)
    boards = sum(len(page.boards) for page in found.benchmarks)
    click.echo(f"{out}: {len(written):,} files, {boards} boards; open {out / 'index.html'}", err=True)
    for why in left_out:
        click.echo(f"viva: left out: {why}", err=True)
    if known.unused:
        names = ", ".join(repr(one_line(name, 60)) for name in known.unused[:5])
        more = f" and {len(known.unused) - 5} more" if len(known.unused) > 5 else ""
        click.echo(f"viva: {models}: no run has a model called {names}{more}", err=True)
    return 0
