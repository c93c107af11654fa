"""`viva build infibench export`: the set of all that is approved."""

from __future__ import annotations

from pathlib import Path

import click

from viva.authoring.files import counted
from viva.authoring.stackexchange.release import as_chosen, chosen, exposed, graded, refuse_others, remember, write_set
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
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
@click.option("--unsafe-host-execution", is_flag=True, help="Run the tests WITHOUT a sandbox, with all your rights.")
@all_option
def export_command(
    project: Path,
    *,
    out: Path,
    force: bool,
    name: str,
    pilot: bool,
    after: str | None,
    cutoffs: Path | None,
    unsafe_host_execution: bool,
    everything: bool,
) -> int:
    """Write a question file an area, attribution.csv, build.json and audit.jsonl: of every language the approved
    questions up to its quota, graded once more, no others. What is held back is told with the reason; exit code 3 where
    an approved question fails its own examples.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva build infibench export so2024 --out so2024-set --cutoffs cutoffs.toml
    viva run infibench --data so2024-set --model openai/NAME
    """
    import msgspec

    from viva.authoring.stackexchange.export import Facts, Manifest, export
    from viva.authoring.stackexchange.project import Project
    from viva.benchmarks.infibench.built import MANIFEST
    from viva.version import __version__

    day, table = day_of(after), cutoffs_of(cutoffs)
    opened = Project(project)
    refuse_others(out)
    wanted, held = chosen(opened, day, pilot=pilot)
    notes: list[str] = []
    wanted, failed = graded(wanted, notes, unsafe=unsafe_host_execution)
    held += [(state, f"it fails its own examples: {problem.where}: {problem.text}") for state, problem in failed]
    facts = Facts(
        name=name or project.resolve().name,
        viva=__version__,
        pilot=pilot,
        quotas=opened.quotas,
        held=[why.partition(":")[0] for _, why in held],
        after=day.isoformat() if day else "",
        cutoffs=table,
        sources=opened.sources(),
    )
    trail = opened.log.path.read_bytes() if opened.log.path.is_file() else b""
    contents = export([as_chosen(opened, state) for state in wanted], trail, facts)
    write_set(out, contents, force=force)
    made = msgspec.json.decode(contents[MANIFEST], type=Manifest)
    remember(opened, made)
    for state, why in held if everything else held[:SHOWN]:
        click.echo(escape_invisible(f"held back: {state.id}: {why}", limit=400), err=True)
    tell_more(len(held), everything=everything)
    for note in (*notes, *exposed(made)):
        click.echo(escape_invisible(note), err=True)
    click.echo(
        f"{counted(len(wanted), 'question')} {'is' if len(wanted) == 1 else 'are'} in {out}, {len(held):,} held back; "
        f"fingerprint {made.fingerprint}; examine with: viva run infibench --data {out} --model ..."
    )
    return EXIT_INCOMPLETE if failed else EXIT_OK
