"""`viva leaderboard`: what it takes, and the study."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from msgspec import Struct

from viva.commands import command
from viva.errors import DataError, VivaError
from viva.fields import note
from viva.pages.leaderboard.entries import entries_of, site_of, sound_sources
from viva.pages.leaderboard.publishedboards import ModelFacts
from viva.pages.leaderboard.sitefiles import Ranking, findings
from viva.render.findings import Findings
from viva.studies.sharedoptions import Runs


class LeaderboardConfig(Struct, kw_only=True):
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

    sources: Runs = ()
    title: Annotated[str, note("What the site is called.")] = "Viva leaderboard"
    models: Annotated[
        Path | None, note("CSV: model, family, type, domain, access, parameters, active, url.", metavar="FILE")
    ] = None
    no_published: Annotated[bool, note("Without the papers' rows.")] = False
    regrade: Annotated[
        bool, note("Grade every run again from its answers first, as `viva score` does; asks nobody.")
    ] = False


@command(LeaderboardConfig)
def study(config: LeaderboardConfig) -> Findings[Ranking]:
    """Rank runs beside the papers' rows, a board for everything that was asked in the same way; `.found.write(folder)`
    makes a static site of it. Raises DataError where there is nothing to rank.
    """
    if config.no_published and not config.sources:
        raise VivaError(
            "without a run leaves nothing to show: name a run, or leave the option out", field="no_published"
        )
    known = ModelFacts(config.models)
    left_out: list[str] = []
    sources = sound_sources(config.sources, left_out, regrade=config.regrade)
    entries = list(entries_of(sources, known, left_out))
    if config.sources and not entries:
        raise DataError(f"nothing to rank: {'; '.join(left_out)}")
    found = site_of(config.title, entries, left_out, published=not config.no_published)
    return findings(Ranking(found, left_out, known.unused))
