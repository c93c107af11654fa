"""`viva build translate`, its second half: the check sheet (in the browser or as CSV), and the set of all approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.authoring.files import counted
from viva.cli.build.arguments import all_option, project_argument, tell_held
from viva.cli.build.review_options import decide_by_file, deciding_options, file_options, serve_items
from viva.errors import EXIT_OK

_PATH = click.Path(path_type=Path)


@click.command(name="review", short_help="Decide about translations in the browser.")
@project_argument
@deciding_options("People wanted for each question.")
def review_command(project: Path, *, everything: bool, **given: Any) -> int:
    """Show every question with its translation and what the checks found, to be edited, approved or rejected: those
    with errors first. Ends with Ctrl-C.

    The headings [Question], [A], ... must stay as they are. A text that somebody edited comes up anew for the others.
    """
    from viva.authoring.translation.project import Project

    opened = Project(project)
    items = opened.items(everything=everything)
    return serve_items(opened, items, given, refuse=opened.refused, renewed=lambda: opened.items(everything=True))


@click.command(name="approve", short_help="Decide about translations in a spreadsheet.")
@project_argument
@file_options("A filled-in sheet.", "Write the sheet, to be filled in.")
def approve_command(project: Path, **given: Any) -> int:
    """Take over decisions from a CSV, or --write one to be filled in.

    `approve` approves the text in the column translation, `edit` changes the text and leaves it to be approved,
    `reject` rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the page.
    """
    from viva.authoring.translation.project import Project

    return decide_by_file(lambda: Project(project), called="sheet", **given)


@click.command(name="export", short_help="Write the set of all that is approved.")
@project_argument
@click.option("--out", required=True, type=_PATH, help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option(
    "--unreviewed",
    is_flag=True,
    help="Also what nobody decided about and no check found an error in; build.json says so.",
)
@all_option
def export_command(project: Path, *, out: Path, force: bool, unreviewed: bool, everything: bool) -> int:
    """Write OUT/CSBench-DE/test.json and valid.json (as `viva run csbench --data OUT --language de` reads them),
    build.json and audit.jsonl: the questions whose translation is approved, with the ids, tags and golds of the source.
    What is held back is told with the reason.
    """
    from viva.authoring.translation.export import export

    made = export(project, out, force=force, unreviewed=unreviewed)
    tell_held([f"{name}: {why}" for name, why in made.held], everything=everything)
    click.echo(
        f"{counted(made.test, 'question')} and {made.valid:,} of the validation half are in {out}, "
        f"{len(made.held):,} held back{f', {made.unseen:,} of them seen by nobody' if made.unseen else ''}; examine "
        f"with: viva run csbench --data {out} --language {made.language} --model ..."
    )
    return EXIT_OK
