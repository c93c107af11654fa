"""`viva build infibench export`: the set of all that is approved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.authoring.files import counted
from viva.cli.build.arguments import all_option, project_argument, tell_held
from viva.cli.build.stackexchange.kit import after_option, cutoffs_of, cutoffs_option, day_of
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.visible import escape_invisible


@click.command(name="export", short_help="Write the set of all that is approved.")
@project_argument
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option("--name", default="", help="What build.json calls the set.  [default: the project folder's name]")
@click.option(
    "--pilot", is_flag=True, help="Everything without errors, approved or not: for `calibrate`, not to be published."
)
@after_option
@cutoffs_option
@click.option(
    "--unsafe-host-execution", "unsafe", is_flag=True, help="Run the tests WITHOUT a sandbox, with all your rights."
)
@all_option
def export_command(
    project: Path, *, out: Path, after: str | None, cutoffs: Path | None, everything: bool, **given: Any
) -> int:
    """Write a question file an area, attribution.csv, build.json and audit.jsonl: of every language the approved
    questions up to its quota, graded once more, no others. What is held back is told with the reason; exit code 3 where
    an approved question fails its own examples.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva build infibench export so2024 --out so2024-set --cutoffs cutoffs.toml
    viva run infibench --data so2024-set --model openai/NAME
    """
    from viva.authoring.stackexchange.project import Project
    from viva.authoring.stackexchange.release import ReleaseOptions, release

    options = ReleaseOptions(after=day_of(after), cutoffs=cutoffs_of(cutoffs), **given)
    made = release(Project(project), out, options)
    tell_held([f"{state.id}: {why}" for state, why in made.held], everything=everything)
    for note in made.notes:
        click.echo(escape_invisible(note), err=True)
    click.echo(
        f"{counted(made.questions, 'question')} {'is' if made.questions == 1 else 'are'} in {out}, {len(made.held):,} "
        f"held back; fingerprint {made.manifest.fingerprint}; examine with: viva run infibench --data {out} --model ..."
    )
    return EXIT_INCOMPLETE if made.failed else EXIT_OK
