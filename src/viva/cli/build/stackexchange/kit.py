"""`viva build infibench`, from the pool to the set: kits, their checks, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.authoring.files import content_of, counted
from viva.authoring.stackexchange.coverage import coverage_grid, exposure_grid, metric_lines
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK
from viva.visible import escape_invisible

if TYPE_CHECKING:
    from viva.authoring.stackexchange.pool import PoolQuestion
    from viva.authoring.stackexchange.project import Project, State
    from viva.authoring.stackexchange.set_places import Places
    from viva.benchmarks.custom.model import Problem

_PATH = click.Path(path_type=Path)
NEAREST = 5
"""Prompts that are told as the most like their originals."""


def after_option(function: click.decorators.FC) -> click.decorators.FC:
    """--after, for contamination."""
    return click.option(
        "--after", metavar="DATE", help="Only questions asked from this day on: what models cannot have read."
    )(function)


def cutoffs_option(function: click.decorators.FC) -> click.decorators.FC:
    """--cutoffs, for contamination."""
    return click.option(
        "--cutoffs", type=_PATH, metavar="FILE.toml", help='Models\' training cut-offs: lines of "MODEL" = 2024-04-30.'
    )(function)


def day_of(after: str | None) -> date | None:
    """The day of --after."""
    from viva.authoring.stackexchange.cutoffs import read_day

    return None if after is None else read_day(after, "--after")


def cutoffs_of(path: Path | None) -> dict[str, date]:
    """The table of --cutoffs."""
    from viva.authoring.stackexchange.cutoffs import read_cutoffs

    return {} if path is None else read_cutoffs(content_of(path), str(path))


@click.command(name="kit", short_help="A folder for every question: the original, and the file to write.")
@project_argument
@click.option("--pool", type=_PATH, metavar="FOLDER", help="Take the pool that lies there into PROJECT first.")
@click.option("--all", "everything", is_flag=True, help="Also for the questions in reserve.")
@after_option
def kit_command(project: Path, *, pool: Path | None, everything: bool, after: str | None) -> int:
    """Write questions/ID/original.md (the question with its positively voted answers, as harmless text) and
    questions/ID/question.yaml (to be written by an expert) for every question that has a place in the set.

    What people wrote is never changed; run it again when a question of the reserve has moved up.

    \b
    viva build infibench kit so2024 --pool pool
    viva build infibench kit so2024 --after 2024-04-30
    """
    from viva.authoring.stackexchange.project import MANY, Project, take_pool
    from viva.authoring.stackexchange.prompt import bundled_instructions

    day = day_of(after)
    if pool is not None:
        take_pool(pool, project)
    opened = Project(project)
    states = opened.states()
    if sum(one.text is None for one in states) > MANY:
        click.echo("viva: writing kits", err=True)
    new = opened.write_kits(states, None if everything else opened.places(states, day).holders)
    opened.instructions(bundled_instructions())
    click.echo(
        f"{project / 'questions'}: {counted(new, 'new kit')}, {sum(one.text is not None for one in states) + new:,} in "
        f"all; write each question.yaml, then: viva build infibench check {project}"
    )
    return EXIT_OK


@click.command(name="check", short_help="What is wrong in the kits, with file and line.")
@project_argument
@click.argument("questions", nargs=-1, metavar="[QUESTION]...")
@click.option("--no-run", is_flag=True, help="Only read: grade no example, run no test.")
@click.option("--unsafe-host-execution", is_flag=True, help="Run the tests WITHOUT a sandbox, with all your rights.")
@all_option
def check_command(
    project: Path, questions: tuple[str, ...], *, no_run: bool, unsafe_host_execution: bool, everything: bool
) -> int:
    """Check every question.yaml that somebody wrote into, but the rejected ones (or only QUESTION): its grading
    language, its expressions, its examples (the accepted answer must score full, an empty one must not; tests run in
    the sandbox), weights and `max`, and how much of the prompt is the original's. Exit code 3 where there are errors.

    \b
    viva build infibench check so2024
    viva build infibench check so2024 so-11227809 --all
    """
    from viva.authoring.stackexchange.grading import grading_problems
    from viva.authoring.stackexchange.project import Project

    opened = Project(project)
    named = {opened.find(one).id for one in questions}
    states = [state for state in opened.states() if not named or state.about.id in named]
    skipped = ("unwritten",) if named else ("unwritten", "rejected")
    written = [state for state in states if state.text is not None and state.status not in skipped]
    sound = [(state.about, state.checked.question) for state in written if state.checked.question is not None]
    notes: list[str] = []
    graded: Mapping[int, Sequence[Problem]] = {}
    if sound and not no_run:
        graded = grading_problems([(about, own) for about, own in sound if own], notes, unsafe=unsafe_host_execution)
    found = [(state, problem) for state in written for problem in _problems(state, graded)]
    found.sort(key=lambda pair: pair[1].severity != "error")
    for state, problem in found if everything else found[:SHOWN]:
        click.echo(escape_invisible(f"{opened.file(state.about)}:{problem}", limit=600))
    tell_more(len(found), everything=everything)
    for note in notes:
        click.echo(escape_invisible(note), err=True)
    _print_shared_text(written, everything=everything)
    errors = sum(problem.severity == "error" for _, problem in found)
    faulty = len({state.id for state, problem in found if problem.severity == "error"})
    click.echo(
        f"{counted(len(written), 'question')} written, {len(written) - faulty:,} without errors, "
        f"{sum(state.status == 'unwritten' for state in states):,} not written yet; {counted(errors, 'error')}, "
        f"{counted(len(found) - errors, 'warning')}"
    )
    return EXIT_INCOMPLETE if errors else EXIT_OK


def _problems(state: State, graded: Mapping[int, Sequence[Problem]]) -> Iterable[Problem]:
    yield from state.checked.problems
    yield from graded.get(state.about.id, ())


def _print_shared_text(states: Sequence[State], *, everything: bool) -> None:
    """How paraphrased the prompts are: those nearest to their originals, or all of them."""
    read = [state for state in states if state.checked.shared_text.words]
    nearest = sorted(read, key=lambda state: -state.checked.shared_text.share)
    for state in nearest if everything else nearest[:NEAREST]:
        click.echo(f"likeness: {state.id}: {state.checked.shared_text}")
    if len(nearest) > NEAREST and not everything:
        click.echo(f"likeness: {len(nearest) - NEAREST:,} more are less like their originals")


@click.command(name="coverage", short_help="What is approved and what is missing, by language.")
@project_argument
@after_option
@cutoffs_option
@all_option
def coverage_command(project: Path, *, after: str | None, cutoffs: Path | None, everything: bool) -> int:
    """Say how many questions of each language are approved, waiting, faulty and missing, against the pool's quotas.
    A rejected question gives its place to the next one in reserve. Exit code 3 where something is missing.

    \b
    viva build infibench coverage so2024
    viva build infibench coverage so2024 --cutoffs cutoffs.toml     who may have read what
    viva build infibench coverage so2024 --after 2024-04-30         only what is newer
    """
    from viva.authoring.stackexchange.project import Project
    from viva.reports.grids import grids_terminal

    day, table = day_of(after), cutoffs_of(cutoffs)
    opened = Project(project)
    states = opened.states()
    dealt = opened.places(states, day)
    grids = [coverage_grid(dealt)]
    if table:
        grids.append(exposure_grid(states, dealt, table))
    approved = sum(cell.counts["approved"] for cell in dealt.cells)
    missing = sum(cell.missing for cell in dealt.cells)
    closing = [
        *metric_lines(states, dealt),
        *_moved(opened, states, dealt, everything=everything),
        f"{approved:,} of {sum(cell.quota for cell in dealt.cells):,} questions approved, {missing:,} missing",
    ]
    click.echo(grids_terminal(grids, [escape_invisible(line) for line in closing]), nl=False)
    return EXIT_INCOMPLETE if missing else EXIT_OK


def _moved(opened: Project, states: Sequence[State], dealt: Places, *, everything: bool) -> Iterable[str]:
    """Questions of the reserve that have a place now."""
    by_id: dict[int, PoolQuestion] = {state.about.id: state.about for state in states}
    kits = {state.about.id for state in states if state.text is not None}
    moved = [identity for cell in dealt.cells for identity in cell.moved_up]
    for identity in moved if everything else moved[:SHOWN]:
        made = "" if identity in kits else f" (no kit yet: viva build infibench kit {opened.path})"
        yield f"moved up: so-{identity}, {by_id[identity].language}{made}"
    if len(moved) > SHOWN and not everything:
        yield f"... and {len(moved) - SHOWN:,} more moved up, which --all lists"
