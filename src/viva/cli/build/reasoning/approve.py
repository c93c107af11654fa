"""`viva build clrbench`, its second half: drafts, decisions, the set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from viva.authoring.files import counted
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_held
from viva.cli.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.cli.build.review_options import decide_by_file, deciding_options, file_options, serve_items
from viva.errors import EXIT_OK
from viva.visible import escape_invisible, one_line

_PATH = click.Path(path_type=Path)


@click.command(name="draft", short_help="Let a model draft the rationales that are missing.")
@project_argument
@model_options
@click.option("--rejected", is_flag=True, help="Also draft anew what experts rejected, with their remarks.")
@asking_options(max_tokens=4096, temperature=None)
def draft_command(project: Path, **given: Any) -> int:
    """Draft a rationale for every usable question of the sheet that has none, by PROJECT's instructions.toml.

    Replies are kept in drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing
    twice. A draft is a proposal: it enters no set before an expert approves it.
    """
    from viva.authoring.drafting import ask_and_keep
    from viva.authoring.reasoning.project import opened_project
    from viva.authoring.reasoning.prompt import bundled_instructions, read_instructions

    opened = opened_project(project)
    instructions = read_instructions(*opened.instructions(bundled_instructions()))
    model, sampling, asking = asked_for(given)
    with opened.locked():
        requests = opened.requests(instructions, sampling, rejected=given["rejected"])
        run, asked = ask_and_keep(opened, model, requests, asking)
    opened = opened_project(project)
    tell_refused(run)
    questions = {question.asked: question for question in opened.checked.questions}
    replied = {questions[asked]: draft for asked, draft in opened.drafts.items() if asked in questions}
    doubts = [(question, draft.doubt) for question, draft in replied.items() if draft.doubt]
    for question, doubt in doubts[:SHOWN]:
        click.echo(f"row {question.row}, {question.id}: the model doubts the answer: {one_line(doubt, 300)}")
    silent = sum(not draft.text and not draft.doubt for draft in replied.values())
    drafted = sum(bool(draft.text) for draft in replied.values())
    come_to = f"{drafted:,} questions have a draft, {len(doubts):,} are doubted, {silent:,} replies hold none"
    return ending(run, asked, come_to)


@click.command(name="review", short_help="Decide about rationales in the browser.")
@project_argument
@deciding_options("Experts wanted for each question.")
def review_command(project: Path, *, everything: bool, **given: Any) -> int:
    """Show questions with their rationales on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    A text that somebody edited comes up anew for the others when the page is started again.
    """
    from viva.authoring.reasoning.project import opened_project

    opened = opened_project(project)
    return serve_items(opened, opened.items(everything=everything), given)


@click.command(name="approve", short_help="Decide about rationales in a spreadsheet.")
@project_argument
@file_options(
    "Decisions: question, decision, rationale, comment.", "Write a file of what is to be decided, to be filled in."
)
def approve_command(project: Path, **given: Any) -> int:
    """Take over decisions about rationales from a CSV, or --write one to be filled in.

    `approve` approves the text in the column rationale, `edit` changes the text and leaves it to be approved, `reject`
    rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the review page.
    """
    from viva.authoring.reasoning.project import opened_project

    return decide_by_file(lambda: opened_project(project), **given)


@click.command(name="export", short_help="Write the set of all that is approved.")
@project_argument
@click.option("--out", required=True, type=_PATH, help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option("--seed", type=int, default=0, show_default=True, help="Draws exemplars where the sheet marks none.")
@click.option("--name", default="", help="What build.json calls the set.  [default: the project folder's name]")
@all_option
def export_command(project: Path, *, out: Path, force: bool, seed: int, name: str, everything: bool) -> int:
    """Write test.jsonl, exemplars.jsonl, build.json and audit.jsonl: questions whose rationale is approved, no others.

    One question of each discipline and type becomes the exemplar: the marked one, else one drawn. What is held back is
    told with the reason.
    """
    import msgspec

    from viva import __version__
    from viva.authoring.reasoning.export import AUDIT, EXEMPLARS, FILES, MANIFEST, TEST, export
    from viva.authoring.reasoning.project import opened_project
    from viva.authoring.staging import write_set

    opened = opened_project(project)
    opened.needed_graph()
    folded = opened.folded()
    audit = b"".join(msgspec.json.encode(review) + b"\n" for review in opened.log.reviews)
    made = export(
        folded,
        opened.checked,
        name=name or project.resolve().name,
        seed=seed,
        viva=__version__,
        sources=opened.sources(),
    )
    manifest = msgspec.json.format(msgspec.json.encode(made.manifest), indent=2) + b"\n"
    contents = {TEST: made.test, EXEMPLARS: made.exemplars, AUDIT: audit, MANIFEST: manifest}
    write_set(out, contents, FILES, MANIFEST, force=force)
    held = [f"row {one.row}{f', {one.question}' if one.question else ''}: {one.why}" for one in made.held]
    tell_held(held, everything=everything)
    for note in (
        *made.notes,
        *(f"no exemplar: {what} (one approved question)" for what in made.manifest.without_exemplar),
    ):
        click.echo(escape_invisible(f"note: {note}"), err=True)
    shots = "" if made.manifest.exemplars else " --shots 0"
    click.echo(
        f"{counted(made.manifest.test, 'question')} and {counted(made.manifest.exemplars, 'exemplar')} are in {out}, "
        f"{len(made.held):,} held back; fingerprint {made.manifest.fingerprint}; "
        f"examine with: viva run clrbench --data {out}{shots} --model ..."
    )
    return EXIT_OK
