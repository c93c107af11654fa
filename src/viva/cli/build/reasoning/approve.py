"""`viva build clrbench`, its second half: drafts, decisions, the set."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.authoring.files import counted
from viva.authoring.reasoning.decision_file import TITLES, decision_row, read_decisions
from viva.authoring.reasoning.project import opened_project
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
from viva.cli.build.draft_options import (
    asking_given,
    asking_options,
    ending,
    model_given,
    model_options,
    sampling_given,
    tell_refused,
)
from viva.cli.build.review_options import decided_by, deciding_options
from viva.errors import EXIT_OK, VivaError
from viva.runs.progress import cost_text
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.authoring.reasoning.project import Project
    from viva.engine.asking import Run

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
    from viva.authoring.reasoning.project import INSTRUCTIONS, locked, replace_file
    from viva.authoring.reasoning.prompt import bundled_instructions, read_instructions
    from viva.authoring.reasoning.requests import draft, wanted

    opened = opened_project(project)
    content = opened.read(INSTRUCTIONS)
    if content is None:
        content = bundled_instructions()
        replace_file(project / INSTRUCTIONS, content)
    instructions = read_instructions(content, str(project / INSTRUCTIONS))
    model, sampling, asking = model_given(given), sampling_given(given), asking_given(given)
    with locked(project):
        requests = wanted(opened, opened.folded().proposals, instructions, sampling, rejected=given["rejected"])
        run, asked = draft(opened, model, requests, asking)
    return _ending(opened_project(project), run, asked)


def _ending(project: Project, run: Run, asked: int) -> int:
    """What to tell after drafting, and the exit code."""
    tell_refused(run)
    tally = run.tally
    questions = {question.asked: question for question in project.checked.questions}
    replied = {questions[asked]: draft for asked, draft in project.drafts.items() if asked in questions}
    doubts = [(question, draft.doubt) for question, draft in replied.items() if draft.doubt]
    for question, doubt in doubts[:SHOWN]:
        click.echo(f"row {question.row}, {question.id}: the model doubts the answer: {one_line(doubt, 300)}")
    silent = sum(not draft.text and not draft.doubt for draft in replied.values())
    cost = f" for {said}" if (said := cost_text(tally)) else ""
    click.echo(
        f"{counted(tally.answered, 'reply', 'replies')} of {asked:,} asked{cost}; "
        f"{sum(bool(draft.text) for draft in replied.values()):,} questions have a draft, "
        f"{len(doubts):,} are doubted, {silent:,} replies hold none"
    )
    return ending(run, asked)


@click.command(name="review", short_help="Decide about rationales in the browser.")
@project_argument
@deciding_options("Experts wanted for each question.")
def review_command(
    project: Path, *, reviewer: str, everything: bool, marks: int, host: str, port: int, token: str
) -> int:
    """Show questions with their rationales on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    A text that somebody edited comes up anew for the others when the page is started again.
    """
    from viva.authoring.reasoning.project import items_for_approval
    from viva.review.server import serve
    from viva.review.session import Settings

    opened = opened_project(project)
    items = items_for_approval(opened, everything=everything)
    if not items:
        click.echo("nothing is left to decide; --everything shows what is approved")
        return EXIT_OK
    settings = Settings(title=project.resolve().name, reviewer=reviewer, marks_per_item=marks)
    serve(items, opened.log, settings, host=host, port=port, token=token, announce=click.echo)
    return EXIT_OK


@click.command(name="approve", short_help="Decide about rationales in a spreadsheet.")
@project_argument
@click.option("--reviewer", metavar="NAME", help="Who decided what is in the file.")
@click.option(
    "--file", "decided", type=_PATH, metavar="FILE.csv", help="Decisions: question, decision, rationale, comment."
)
@click.option(
    "--write", "target", type=_PATH, metavar="FILE.csv", help="Write a file of what is to be decided, to be filled in."
)
@click.option("--everything", is_flag=True, help="With --write: also what is approved already.")
def approve_command(
    project: Path, *, reviewer: str | None, decided: Path | None, target: Path | None, everything: bool
) -> int:
    """Take over decisions about rationales from a CSV, or --write one to be filled in.

    `approve` approves the text in the column rationale, `edit` changes the text and leaves it to be approved, `reject`
    rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the review page.
    """
    if (decided is None) == (target is None):
        raise VivaError("--write FILE.csv to get a file to fill in, then --reviewer NAME --file FILE.csv")
    opened = opened_project(project)
    if target is not None:
        return _write_decisions(opened, target, everything=everything)
    assert decided is not None
    name = decided_by(reviewer)
    reviews = read_decisions(opened, decided, name)
    written = opened.log.append(reviews)
    states = Counter(proposal.state.status for proposal in opened.folded().proposals)
    now = ", ".join(f"{count:,} {state}" for state, count in states.items())
    click.echo(f"{counted(len(written), 'decision')} taken over; now {now}")
    return EXIT_OK


def _write_decisions(project: Project, target: Path, *, everything: bool) -> int:
    from viva.authoring.reasoning.cells import written_table
    from viva.authoring.reasoning.project import replace_file

    if target.exists():
        raise VivaError(f"{target} is there already; name another file")
    shown = [one for one in project.folded().proposals if everything or one.state.status != "approved"]
    content = written_table(TITLES, (decision_row(proposal) for proposal in shown), encoding="utf-8-sig")
    replace_file(target, content)
    click.echo(f"{target}: {counted(len(shown), 'question')}; write approve, reject or edit into the column decision")
    return EXIT_OK


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

    from viva.authoring.reasoning.export import AUDIT, EXEMPLARS, MANIFEST, TEST, export
    from viva.authoring.reasoning.staging import write_set
    from viva.version import __version__

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
    write_set(out, {TEST: made.test, EXEMPLARS: made.exemplars, AUDIT: audit, MANIFEST: manifest}, force=force)
    for held in made.held if everything else made.held[:SHOWN]:
        click.echo(
            escape_invisible(f"held back: row {held.row}{f', {held.question}' if held.question else ''}: {held.why}"),
            err=True,
        )
    tell_more(len(made.held), everything=everything)
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
