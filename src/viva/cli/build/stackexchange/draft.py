"""`viva build infibench draft`: a model drafts prompts, through the engine, every reply journaled as it comes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.cli.build.arguments import SHOWN, project_argument
from viva.cli.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.cli.build.stackexchange.kit import after_option, day_of
from viva.visible import one_line


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
    from viva.authoring.stackexchange.project import Project
    from viva.authoring.stackexchange.prompt import asked, bundled_instructions, read_instructions, request

    day = day_of(after)
    opened = Project(project)
    instructions = read_instructions(*opened.instructions(bundled_instructions()))
    model, sampling, asking = asked_for(given)
    with opened.locked():
        states = opened.states()
        holders = set(opened.places(states, day).holders)
        todo = [one for one in states if one.status == "unwritten" and one.text is not None and one.about.id in holders]
        requests = [
            (asked(state.about), request(state.about, instructions, sampling))
            for state in todo
            if opened.draft_of(state.about) is None
        ]
        run, wanted = ask_and_keep(opened, model, requests, asking)
        opened = Project(project)
        opened.put_drafts({state.about.id for state in todo})
    tell_refused(run)
    drafts = [(about, opened.drafts.get(asked(about))) for about in opened.pool]
    unfit = [(about, draft.doubt) for about, draft in drafts if draft and draft.doubt and not draft.text]
    for about, why in unfit[:SHOWN]:
        click.echo(f"so-{about.id}: the model finds it unfit: {one_line(why, 300)}")
    drafted = sum(bool(draft and draft.text) for _, draft in drafts)
    return ending(run, wanted, f"{drafted:,} questions have a draft, {len(unfit):,} are unfit")
