"""`viva review`: the experts' page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.options import emit, screen
from viva.cli.serving_options import token_options
from viva.errors import VivaError
from viva.fields import pick
from viva.pages.review.invitations import Opening, invited, shares_of, start_filter
from viva.runs.open import REVIEWS, prepare
from viva.runs.progress import say
from viva.runs.scorefile import find_run, open_run_folder
from viva.visible import escape_invisible


@click.command(name="review", short_help="Let experts confirm or change verdicts.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to serve; any other host needs a token.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8470, show_default=True, help="0 takes a port that is free."
)
@token_options
@click.option("--reviewer", default="", metavar="NAME", help="Who marks; else the page asks.")
@click.option(
    "--invite",
    multiple=True,
    metavar="NAME",
    help="Print a link with a key of their own for this reviewer (repeatable): marks count under that name and no "
    "other, and nobody gets in without such a link. It stays the same when the page is served again.",
)
@click.option("--blind", is_flag=True, help="Begin without drafts, judges' opinions and others' marks.")
@click.option("--sample", default="", metavar="N|SHARE", help="Begin with a random sample: 30, 0.1 or 10%.")
@click.option(
    "--plan",
    type=click.FloatRange(0, 1, min_open=True),
    metavar="HALF_WIDTH",
    help="Only print how many labels an interval of ± HALF_WIDTH needs (0.05 is ± 5 points).",
)
@click.option(
    "--strata",
    default="",
    metavar="TAG",
    help="With --sample: evenly by this tag (type, discipline, ...), or `uncertainty`: more of the answers that judges "
    "are less sure of, for a narrower interval of the score.",
)
@click.option("--seed", type=click.IntRange(0, 999_999_999), default=0, show_default=True, help="Draws the sample.")
@click.option(
    "--marks-per-item", type=click.IntRange(1, 100), default=1, show_default=True, help="Reviewers each answer needs."
)
@click.option(
    "--only",
    multiple=True,
    metavar="TAG=VALUE",
    help="Begin with only the items of this tag: type=OE; repeat for more.",
)
@click.option(
    "--order",
    type=click.Choice(["given", "disagreement"]),
    default="given",
    show_default=True,
    help="As in the set, or where the judges disagree most first.",
)
def review_command(run: Path, plan: float | None, **given: Any) -> int:
    """Serve the answers of RUN to experts, who confirm or change what judges drafted: a page on this machine.

    Every mark is a line of reviews.jsonl in the run folder; `viva score` takes them over judges and similarity.

    \b
    viva review runs/NAME --sample 30 --blind
    viva review runs/NAME --sample 100 --strata uncertainty
    viva review runs/NAME --only type=OE --order disagreement --marks-per-item 2
    viva review runs/NAME --host 0.0.0.0 --invite Ada --invite Grace
    viva review runs/NAME --plan 0.05
    """
    from viva.engine.reviews import ReviewLog
    from viva.pages.review.reviewpages import serve
    from viva.pages.review.reviewsession import Settings
    from viva.review.items import name_problem
    from viva.studies.agreement.runratings import rated
    from viva.studies.agreement.study import AgreementConfig, study

    opening = pick(Opening, given)
    if opening.reviewer and (problem := name_problem(opening.reviewer)):
        raise VivaError(f"--reviewer {escape_invisible(opening.reviewer, limit=80)!r}: {problem}")
    people = invited(opening, find_run(run))
    folder = open_run_folder(run)
    if plan is not None:
        return _print_plan(folder.path, plan)
    items = [one.item for one in rated(prepare(folder))]
    if not items:
        raise VivaError(f"{folder.path} has nothing to review: no answer that a judge or an expert has to mark")
    log = ReviewLog(folder.path / REVIEWS)
    start = start_filter(opening, items)
    for damage in log.damaged:
        say(f"viva: {log.path}, line {damage.line} cannot be read and is left out: {damage.reason}")
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
        reviewer=opening.reviewer,
        agreement=lambda: study(AgreementConfig(source=folder.path)),
    )
    serve(
        items, log, settings,
        host=opening.host, port=opening.port, token=opening.token, people=people, announce=announce,
    )  # fmt: skip
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
