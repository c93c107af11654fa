"""`viva review`: serve a page for experts' marks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import derive, emit, screen
from viva.errors import VivaError
from viva.fields import pick
from viva.pages.review.invitations import Opening, invited, name_given, shares_of, start_filter
from viva.runs.open import REVIEWS, prepare
from viva.runs.progress import say
from viva.runs.scorefile import find_run, open_run_folder


@click.command
@click.argument("run", type=click.Path(path_type=Path))
@derive(Opening)
def review_command(run: Path, **given: Any) -> int:
    """Serve the answers of RUN to experts, who confirm or change what judges drafted: a page on this machine.

    Every mark is a line of reviews.jsonl in the run folder; `viva score` takes them over judges and similarity.

    \b
    viva review runs/NAME --sample 30 --blind
    viva review runs/NAME --sample 100 --strata uncertainty
    viva review runs/NAME --marks-per-item 2
    viva review runs/NAME --host 0.0.0.0 --invite Ada --invite Grace
    viva review runs/NAME --plan 0.05
    """
    from viva.engine.reviews import ReviewLog
    from viva.pages.review.reviewpages import serve
    from viva.pages.review.reviewsession import Settings
    from viva.studies.agreement.runratings import rated
    from viva.studies.agreement.study import AgreementConfig, study

    opening = pick(Opening, given)
    where = opening.where
    reviewer = opening.reviewer and name_given(opening.reviewer, "reviewer")
    people = invited(opening, find_run(run))
    folder = open_run_folder(run)
    if opening.plan is not None:
        return _print_plan(folder.path, opening.plan)
    items = [item.item for item in rated(prepare(folder))]
    if not items:
        raise VivaError(f"{folder.path} has nothing to review: no answer that a judge or an expert has to mark")
    log = ReviewLog(folder.path / REVIEWS)
    start = start_filter(opening, items)
    if log.unread:
        say(f"viva: {log.unread}")
    before = len(log.reviews)

    chosen = start.select(items)
    for line in shares_of(chosen) if opening.sample else ():
        click.echo(line, err=True)

    def announce(address: str) -> None:
        part = f" (of {len(items):,})" if len(chosen) < len(items) else ""
        click.echo(f"{len(chosen):,} answers to review{part} at {address}  (Ctrl-C ends it)")

    settings = Settings(
        title=folder.path.name,
        start=start,
        marks_per_item=opening.marks_per_item,
        reviewer=reviewer,
        agreement=lambda: study(AgreementConfig(source=folder.path)),
    )
    serve(items, log, settings, **where, people=people, announce=announce)
    log.refresh()
    click.echo(f"{len(log.reviews) - before:,} new lines in {log.path}; `viva score {folder.path}` counts them")
    return 0


def _print_plan(path: Path, half_width: float) -> int:
    from viva.render.terminal import tables_terminal
    from viva.studies.agreement.runratings import plan

    tables, notes = plan(path, half_width)
    width, colour = screen(None)
    emit(tables_terminal(tables, notes, width=width, colour=colour), None)
    return 0
