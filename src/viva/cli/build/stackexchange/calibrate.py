"""`viva build infibench calibrate`: what pilot runs tell of the questions, with the answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from viva.authoring.files import counted
from viva.authoring.stackexchange.pilot_answers import Answers, gather_answers, named_runs, tried_scores
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, DataError
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.authoring.stackexchange.pilot_rules import Finding

_PATH = click.Path(path_type=Path)


@click.command(name="calibrate", short_help="Which questions are no good, by pilot runs.")
@project_argument
@click.argument("runs", nargs=-1, required=True, type=_PATH, metavar="RUN...")
@click.option("--answers", type=click.IntRange(0, 50), default=2, show_default=True, help="Show so many a finding.")
@all_option
def calibrate_command(project: Path, runs: tuple[Path, ...], *, answers: int, everything: bool) -> int:
    """Look at PROJECT's questions by what models answered in RUN... (of a set that `export --pilot` wrote): questions
    that no answer or every answer passes, that could not be graded, or whose scores go against the rest. Answers are
    shown with their scores. Exit code 3 where there is a finding.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva run infibench --data pilot --model openai/SMALL --run runs/small
    viva run infibench --data pilot --model openai/LARGE --run runs/large
    viva build infibench calibrate so2024 runs/small runs/large
    """
    from viva.authoring.stackexchange.pilot_rules import findings
    from viva.authoring.stackexchange.project import Project

    opened = Project(project)
    known = {f"so-{about.id}" for about in opened.pool}
    found: dict[str, Answers] = {}
    changed: set[str] = set()
    for name, label in named_runs(runs):
        changed |= gather_answers(opened, name, label, known, found, answers)
    if not found:
        raise DataError(f"the runs asked none of the questions of {project}; run the set that `export --pilot` wrote")
    tried = tried_scores(found)
    told = findings(tried)
    for finding in told if everything else told[:SHOWN]:
        _tell(finding, found[finding.question], changed=finding.question in changed)
    tell_more(len(told), everything=everything)
    models = sorted({model for one in found.values() for model in one.scores})
    _tell_changed(changed)
    if len(models) < 3:
        click.echo(
            f"viva: {counted(len(models), 'model')}: whether a question goes with the rest takes three", err=True
        )
    bad = len({finding.question for finding in told})
    click.echo(
        f"{counted(len(found), 'question')} tried by {counted(len(models), 'model')}; {bad:,} with a finding, "
        f"{len(found) - bad:,} without"
    )
    return EXIT_INCOMPLETE if told else EXIT_OK


def _tell(finding: Finding, answers: Answers, *, changed: bool) -> None:
    from viva.authoring.stackexchange.pilot_rules import KINDS

    since = " (changed since it was run)" if changed else ""
    click.echo(f"=== {finding.question}{since}: {KINDS[finding.kind]}")
    click.echo(f"    {escape_invisible(finding.said)}")
    for reply in answers.best if finding.show == "best" else answers.worst:
        click.echo(f"--- {one_line(reply.model, 80)} scores {reply.score:.3g}")
        click.echo(_indented(escape_invisible(reply.text)))
        click.echo(f"    why: {one_line(reply.why, 400)}")


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in text.split("\n"))


def _tell_changed(changed: set[str]) -> None:
    if changed:
        named = ", ".join(sorted(changed)[:10]) + (" and more" if len(changed) > 10 else "")
        click.echo(
            f"viva: {counted(len(changed), 'question')} changed since the runs: {escape_invisible(named)}", err=True
        )
