"""`viva build infibench draft`: a model drafts prompts, through the engine, every reply journaled as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.authoring.files import counted
from viva.authoring.stackexchange.drafts import is_drafted, put_drafts
from viva.cli.build.arguments import SHOWN, project_argument
from viva.cli.build.draft_options import (
    asking_given,
    asking_options,
    ending,
    model_given,
    model_options,
    sampling_given,
    tell_refused,
)
from viva.cli.build.stackexchange.kit import after_option, day_of
from viva.runs.progress import cost_text
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.authoring.stackexchange.project import Project
    from viva.engine.asking import Run


@click.command(name="draft", short_help="Let a model draft the prompts that are not written yet.")
@project_argument
@model_options
@asking_options(max_tokens=4096, temperature=None)
@after_option
def draft_command(project: Path, *, after: str | None, **given: Any) -> int:
    """Draft a paraphrase of every question that has a kit and is not written yet, by PROJECT's instructions.toml.

    A draft is a proposal: it is put into question.yaml while nobody wrote there, and into draft.md beside it. Replies
    are kept in drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing twice.

    \b
    viva build infibench draft so2024 --model openai/NAME --max-cost 5
    """
    from viva.authoring.drafting import ask_and_keep
    from viva.authoring.reasoning.project import locked, replace_file
    from viva.authoring.stackexchange.project import DRAFTS, INSTRUCTIONS, SCOPE, Project
    from viva.authoring.stackexchange.prompt import asked, bundled_instructions, read_instructions, request

    day = day_of(after)
    opened = Project(project)
    content = opened.read(project / INSTRUCTIONS)
    if content is None:
        content = bundled_instructions()
        replace_file(project / INSTRUCTIONS, content)
    instructions = read_instructions(content, str(project / INSTRUCTIONS))
    model, sampling, asking = model_given(given), sampling_given(given), asking_given(given)
    with locked(project):
        states = opened.states()
        holders = set(opened.places(states, day).holders)
        todo = [one for one in states if one.status == "unwritten" and one.text is not None and one.about.id in holders]
        requests = [
            (asked(state.about), request(state.about, instructions, sampling))
            for state in todo
            if not is_drafted(opened, state)
        ]
        run, wanted = ask_and_keep(project / DRAFTS, SCOPE, model, requests, asking)
        again = Project(project)
        put_drafts(again, [state.about.id for state in todo])
    return _ending(again, run, wanted)


def _ending(project: Project, run: Run, wanted: int) -> int:
    """What to tell after drafting, and the exit code."""
    from viva.authoring.stackexchange.prompt import asked

    tell_refused(run)
    tally = run.tally
    drafts = [(about, project.drafts.get(asked(about))) for about in project.pool]
    unfit = [(about, draft.unfit) for about, draft in drafts if draft and draft.unfit and not draft.text]
    for about, why in unfit[:SHOWN]:
        click.echo(f"so-{about.id}: the model finds it unfit: {one_line(why, 300)}")
    cost = f" for {said}" if (said := cost_text(tally)) else ""
    click.echo(
        f"{counted(tally.answered, 'reply', 'replies')} of {wanted:,} asked{cost}; "
        f"{sum(bool(draft and draft.text) for _, draft in drafts):,} questions have a draft, {len(unfit):,} are unfit"
    )
    return ending(run, wanted)
