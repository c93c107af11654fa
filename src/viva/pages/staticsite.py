"""The pages of a folder of runs as files: the leaderboard, the list of runs, and a report of each with its answers."""

from __future__ import annotations

import functools
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from viva.pages.leaderboard.sitepages import SitePages
from viva.pages.leaderboard.study import LeaderboardConfig, build, check_out, study
from viva.pages.report.study import PageOptions, write_report
from viva.pages.runs.run_views import Card, RunViews
from viva.pages.runs.runpages import ago, listing
from viva.pages.shell import SITE_STYLES
from viva.runs.answers import read_run
from viva.visible import one_line

RUNS = "runs.html"


def export(root: Path, out: Path) -> tuple[list[str], list[str]]:
    """Write a site of the runs in `root`, or of the run that it is. Returns its files, and notes on what was left out.

    Raises VivaError if there is nothing to show, or `out` must not be overwritten.
    """
    check_out(out)
    views = RunViews(root)
    entries = views.found()
    cards = views.cards(entries, wait=True)
    shown = {entry.path: f"runs/{entry.slug.replace('~', 'run-')}.html"
             for entry, card in zip(entries, cards, strict=True) if card.results}  # fmt: skip
    left_out = [f"{one_line(card.name, 80)}: {card.problem or 'not graded'}" for card in cards if not card.results]
    ranking = study(LeaderboardConfig(sources=(root,))).found
    site = SitePages(ranking.site, {path.name: f"{page}#" for path, page in shown.items()}, RUNS)
    more = [(RUNS, functools.partial(_write_list, site, cards, shown)),
            *((page, functools.partial(_write, path)) for path, page in shown.items())]  # fmt: skip
    return build(site, out, more), [*ranking.left_out, *left_out]


def _write_list(site: SitePages, cards: list[Card], pages: Mapping[Path, str], path: Path) -> None:
    values: dict[str, Any] = listing(cards) | {"page_at": pages, "now": time.time(), "ago": ago}
    path.write_text(
        site.page("runs.html", RUNS, ("tables.js",), (*SITE_STYLES, "runs.css"), **values), encoding="utf-8"
    )


def _write(folder: Path, path: Path) -> None:
    write_report([read_run(folder, "none")], PageOptions(), path)  # again: all runs do not fit into memory
