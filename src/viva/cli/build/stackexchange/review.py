"""`viva build infibench`: cross-checks by a second expert, on the page or without it."""

from __future__ import annotations

import secrets
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.authoring.files import counted
from viva.authoring.stackexchange.crosscheck import refusal, take_over
from viva.cli.build.arguments import project_argument
from viva.cli.build.review_options import deciding_options
from viva.errors import EXIT_OK, VivaError
from viva.visible import escape_invisible

if TYPE_CHECKING:
    from viva.engine.reviews import Review


@click.command(name="review", short_help="Cross-check questions in the browser.")
@project_argument
@deciding_options("Experts wanted for each.", "Also what is approved or rejected already.")
@click.option("--kits", is_flag=True, help="Also what is not written yet: to be written on the page, or turned down.")
def review_command(
    project: Path, *, reviewer: str, everything: bool, kits: bool, marks: int, host: str, port: int, token: str
) -> int:
    """Show questions beside their originals on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    Nobody approves what they wrote: the author tag counts, and every edit on the page. An edit is written into
    question.yaml, and comes up for the others at once. Filters: language, area, metric, type, status, author.

    \b
    viva build infibench review so2024 --reviewer "G. Hopper"
    """
    from viva.authoring.stackexchange.project import Project, items_for_review
    from viva.review.server import serve
    from viva.review.session import Settings
    from viva.review.text import name_problem

    if reviewer and (problem := name_problem(reviewer)):
        raise VivaError(f"--reviewer {escape_invisible(reviewer, limit=80)!r}: {problem}")
    opened = Project(project)
    items = items_for_review(opened, everything=everything, kits=kits)
    if not items:
        click.echo("nothing is left to decide; --everything shows what is decided, --kits what is not written yet")
        return EXIT_OK
    settings = Settings(
        title=project.resolve().name,
        reviewer=reviewer,
        marks_per_item=marks,
        refuse=lambda lines: refusal(opened, lines),
        saved=lambda lines: take_over(opened, lines),
        renewed=lambda: items_for_review(opened, everything=everything, kits=kits),
    )
    serve(items, opened.log, settings, host=host, port=port, token=token, announce=click.echo)
    return EXIT_OK


@click.command(name="approve", short_help="Approve or reject questions without a browser.")
@project_argument
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--reviewer", required=True, metavar="NAME", help="Who decides; nobody approves what they wrote.")
@click.option("--reject", is_flag=True, help="Reject them: their places go to the reserve.")
@click.option("--comment", default="", help="Why; kept in the audit trail.")
def approve_command(project: Path, questions: tuple[str, ...], *, reviewer: str, reject: bool, comment: str) -> int:
    """Decide about each QUESTION as its file now stands: all of them, or none. What is not written yet can be rejected,
    where a question is unfit. Every decision is a line of reviews.jsonl, as from the review page.

    \b
    viva build infibench approve so2024 so-11227809 so-231767 --reviewer "G. Hopper"
    viva build infibench approve so2024 so-4 --reviewer "G. Hopper" --reject --comment "no answer is right for good"
    """
    from viva.authoring.stackexchange.kit import template, written
    from viva.authoring.stackexchange.project import ASPECT, Project, key_of
    from viva.engine.reviews import Review
    from viva.review.forms import COMMENT_LIMIT
    from viva.review.text import name_problem

    if problem := name_problem(reviewer):
        raise VivaError(f"--reviewer {escape_invisible(reviewer, limit=80)!r}: {problem}")
    if len(comment) > COMMENT_LIMIT:
        raise VivaError(f"--comment has {len(comment):,} characters; at most {COMMENT_LIMIT:,} are kept")
    opened = Project(project)
    events, at = opened.events(), round(time.time(), 3)
    lines: list[Review] = []
    for identity in dict.fromkeys(questions):
        about = opened.find(identity)
        state = opened.state(about, events.get(f"so-{about.id}", ()))
        if state.status == "unwritten" and not reject:
            raise VivaError(f"{state.id} is not written yet: there is nothing to approve")
        text = written(state.text if state.text is not None else template(about))
        line = Review(
            id=secrets.token_hex(16),
            at=at,
            reviewer=" ".join(reviewer.split()),
            item=key_of(state),
            about={"question": state.id},
            aspect=ASPECT,
            after=0.0 if reject else 1.0,
            comment=comment,
            text_before=text,
            text_after=text,
        )
        if said := refusal(opened, [line]):
            raise VivaError(f"{state.id}: {escape_invisible(said)} Nothing was taken over")
        lines.append(line)
    opened.log.append(lines)
    counts = Counter(state.status for state in opened.states())
    now = ", ".join(f"{count:,} {status}" for status, count in counts.items())
    click.echo(f"{counted(len(lines), 'decision')} taken over; now {now}")
    return EXIT_OK
