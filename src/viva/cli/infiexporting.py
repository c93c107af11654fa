"""`viva build infibench export`: the set of all that is approved."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.cli.buildinfikit import after_option, cutoffs_of, cutoffs_option, day_of
from viva.cli.clrtelling import SHOWN, all_option, counted, project_argument, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, StorageError, VivaError
from viva.visible import visible

if TYPE_CHECKING:
    from datetime import date

    from viva.benchmarks.infibench.build.export import Chosen, Manifest
    from viva.benchmarks.questions.model import Problem
    from viva.cli.infiproject import Project, State

Held = list[tuple["State", str]]
"""Questions that are not in a set, and why."""


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

    from viva import __version__
    from viva.benchmarks.infibench.build.export import Facts, Manifest, export
    from viva.benchmarks.infibench.built import MANIFEST
    from viva.cli.infiproject import Project

    day, table = day_of(after), cutoffs_of(cutoffs)
    opened = Project(project)
    _refuse_others(out)
    wanted, held = chosen(opened, day, pilot=pilot)
    notes: list[str] = []
    wanted, failed = _graded(wanted, notes, unsafe=unsafe_host_execution)
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
    contents = export([_as_chosen(opened, state) for state in wanted], trail, facts)
    _write(out, contents, force=force)
    made = msgspec.json.decode(contents[MANIFEST], type=Manifest)
    _remember(opened, made)
    for state, why in held if everything else held[:SHOWN]:
        click.echo(visible(f"held back: {state.id}: {why}", limit=400), err=True)
    tell_more(len(held), everything=everything)
    for note in (*notes, *_exposed(made)):
        click.echo(visible(note), err=True)
    click.echo(
        f"{counted(len(wanted), 'question')} {'is' if len(wanted) == 1 else 'are'} in {out}, {len(held):,} held back; "
        f"fingerprint {made.fingerprint}; examine with: viva run infibench --data {out} --model ..."
    )
    return EXIT_INCOMPLETE if failed else EXIT_OK


def _refuse_others(out: Path) -> None:
    """A folder with a build.json of another kind keeps it."""
    from viva.benchmarks.infibench.build.pool import POOL
    from viva.benchmarks.infibench.built import MANIFEST, find_built

    if (out / POOL).exists() or ((out / MANIFEST).exists() and find_built(out) != out):
        raise VivaError(f"--out {out} holds a pool, a project or another build.json; name a folder of the set's own")


def chosen(project: Project, after: date | None, *, pilot: bool) -> tuple[list[State], Held]:
    """The questions of a set, and the others with the reason; for a pilot everything that can be asked."""
    from viva.benchmarks.infibench.build.decisions import MEANING
    from viva.cli.infiproject import barred

    states = project.states()
    holders = set(project.places(states, after).holders)
    wanted: list[State] = []
    held: Held = []
    for state in states:
        why = barred(state, after)
        able = state.checked.question is not None and state.status in ("approved", "waiting", "disputed")
        if why:
            held.append((state, why))
        elif (able and pilot) or (state.status == "approved" and state.about.id in holders):
            wanted.append(state)
        elif state.status == "approved":
            held.append((state, "beyond the quota"))
        else:
            held.append((state, MEANING[state.status]))
    return wanted, held


def _graded(
    wanted: Sequence[State], notes: list[str], *, unsafe: bool
) -> tuple[list[State], list[tuple[State, Problem]]]:
    """Those whose examples score as they should, and the others with the first problem."""
    from viva.benchmarks.questions.examples import UNTRIED
    from viva.cli.infigrading import grading_problems

    pairs = [(state.about, state.checked.question) for state in wanted]
    found = grading_problems([(about, own) for about, own in pairs if own is not None], notes, unsafe=unsafe)
    untried = sum(
        any(problem.text.startswith(UNTRIED) for problem in found.get(state.about.id, ())) for state in wanted
    )
    if untried:
        notes.append(f"viva: the examples of {counted(untried, 'question')} could not be graded here; see check")
    kept: list[State] = []
    failed: list[tuple[State, Problem]] = []
    for state in wanted:
        errors = [problem for problem in found.get(state.about.id, ()) if problem.severity == "error"]
        if errors:
            failed.append((state, errors[0]))
        else:
            kept.append(state)
    return kept, failed


def _as_chosen(project: Project, state: State) -> Chosen:
    from viva.benchmarks.infibench.build.drafting import asked
    from viva.benchmarks.infibench.build.export import Chosen

    assert state.text is not None
    assert state.checked.question is not None
    drafted = project.drafts.get(asked(state.about))
    return Chosen(
        about=state.about,
        text=state.text,
        own=state.checked.question,
        authors=state.authors,
        approved_by=state.standing.approved_by,
        drafted_by=drafted.model if drafted and drafted.text else "",
    )


def _write(out: Path, contents: Mapping[str, bytes], *, force: bool) -> None:
    """The set, whole or not at all."""
    from viva.benchmarks.infibench.build.export import files
    from viva.benchmarks.infibench.built import MANIFEST
    from viva.benchmarks.staging import staged

    with staged(out, files(), MANIFEST, force=force) as stage:
        for name, content in contents.items():
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())


def _remember(project: Project, made: Manifest) -> None:
    """Which texts went into the set, so that `calibrate` can tell what changed since. Raises StorageError."""
    import msgspec

    from viva.cli.infiproject import EXPORTS, Exported

    line = msgspec.json.encode(Exported(made.fingerprint, made.pilot, made.texts)) + b"\n"
    try:
        with (project.path / EXPORTS).open("ab") as file:
            file.write(line)
    except OSError as problem:
        raise StorageError(f"cannot write {project.path / EXPORTS}: {problem.strerror or problem}") from None


def _exposed(made: Manifest) -> list[str]:
    """Models that may have read some of the set."""
    return [
        f"{model} (cut-off {one.cutoff}) may have read {one.before:,} of the {made.questions:,} originals"
        for model, one in made.exposure.items()
        if one.before
    ]
