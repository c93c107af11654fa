"""`viva build infibench`: cross-checks by a second expert, on the page or without it."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import click

from viva.cli.build.arguments import project_argument
from viva.cli.build.review_options import deciding_options, refuse_name, serve_items, tell_decisions
from viva.errors import EXIT_OK


@click.command(name="review", short_help="Cross-check questions in the browser.")
@project_argument
@deciding_options("Experts wanted for each.", "Also what is approved or rejected already.")
@click.option("--kits", is_flag=True, help="Also what is not written yet: to be written on the page, or turned down.")
def review_command(project: Path, *, everything: bool, kits: bool, **given: Any) -> int:
    """Show questions beside their originals on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    Nobody approves what they wrote: the author tag counts, and every edit on the page. An edit is written into
    question.yaml, and comes up for the others at once. Filters: language, area, metric, type, status, author.

    \b
    viva build infibench review so2024 --reviewer "G. Hopper"
    """
    from viva.authoring.stackexchange.crosscheck import refusal, take_over
    from viva.authoring.stackexchange.project import Project

    if given["reviewer"]:
        refuse_name(given["reviewer"])
    opened = Project(project)
    items = partial(opened.items, everything=everything, kits=kits)
    others = "--everything shows what is decided, --kits what is not written yet"
    return serve_items(
        opened, items(), given, others, refuse=partial(refusal, opened), saved=partial(take_over, opened), renewed=items
    )


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
    from viva.authoring.stackexchange.crosscheck import decide
    from viva.authoring.stackexchange.project import Project

    refuse_name(reviewer)
    opened = Project(project)
    count = decide(opened, questions, reviewer, reject=reject, comment=comment)
    tell_decisions(count, Counter(state.status for state in opened.states()))
    return EXIT_OK
