"""`viva build infibench`, from the pool to the set: kits, drafts, checks, decisions, coverage, pilot runs, export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.build.arguments import SHOWN, all_option, project_argument, tell_held, tell_more
from viva.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.build.files import content_of
from viva.build.review_options import deciding_options, refuse_name, serve_items, tell_decisions
from viva.build.stackexchange.coverage import coverage_grid, exposure_grid, metric_lines
from viva.build.stackexchange.pilot_answers import Answers, gather_answers, named_runs, tried_scores
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, DataError
from viva.runs.live_line import say
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.benchmarks.custom.model import Problem
    from viva.build.stackexchange.pilot_rules import Finding
    from viva.build.stackexchange.pool import PoolQuestion
    from viva.build.stackexchange.project import Project, State
    from viva.build.stackexchange.set_places import Places


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
    from viva.build.stackexchange.cutoffs import read_day

    return None if after is None else read_day(after, "--after")


def cutoffs_of(path: Path | None) -> dict[str, date]:
    """The table of --cutoffs."""
    from viva.build.stackexchange.cutoffs import read_cutoffs

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
    from viva.build.stackexchange.project import MANY, Project, take_pool
    from viva.build.stackexchange.prompt import bundled_instructions

    day = day_of(after)
    if pool is not None:
        take_pool(pool, project)
    opened = Project(project)
    states = opened.states()
    if sum(one.text is None for one in states) > MANY:
        say("viva: writing kits")
    new = opened.write_kits(states, None if everything else opened.places(states, day).holders)
    opened.instructions(bundled_instructions())
    click.echo(
        f"{project / 'questions'}: {plural(new, 'new kit')}, {sum(one.text is not None for one in states) + new:,} in "
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
    from viva.build.stackexchange.grading import grading_problems
    from viva.build.stackexchange.project import Project

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
        f"{plural(len(written), 'question')} written, {len(written) - faulty:,} without errors, "
        f"{sum(state.status == 'unwritten' for state in states):,} not written yet; {plural(errors, 'error')}, "
        f"{plural(len(found) - errors, 'warning')}"
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
    from viva.build.stackexchange.project import Project
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


@click.command(name="draft", short_help="Let a model draft the prompts that are not written yet.")
@project_argument
@model_options
@asking_options(max_tokens=4096, temperature=None)
@after_option
def draft_command(project: Path, *, after: str | None, **given: Any) -> int:
    """Draft a paraphrase of every question that has a kit and is not written yet, by PROJECT's instructions.toml.

    A draft is a proposal: it is written into draft.md, and into question.yaml if nobody has changed that file. Replies
    are kept in drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing twice.

    \b
    viva build infibench draft so2024 --model openai/NAME --max-cost 5
    """
    from viva.build.drafting import ask_and_keep
    from viva.build.stackexchange.project import Project
    from viva.build.stackexchange.prompt import asked, bundled_instructions, read_instructions, request

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


@click.command(name="review", short_help="Cross-check questions in the browser.")
@project_argument
@deciding_options("Experts wanted for each.", "Also what is approved or rejected already.")
@click.option("--kits", is_flag=True, help="Also what is not written yet: to be written on the page, or turned down.")
def review_command(project: Path, *, everything: bool, kits: bool, **given: Any) -> int:
    """Show questions beside their originals on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    Nobody approves what they wrote: the author tag counts, and every edit on the page. An edit is written into
    question.yaml, and comes up for the others at once. Filters: language, area, metric, type, status, author.

    \b
    viva build infibench review so2024 --reviewer "G. Hopper"
    """
    from viva.build.stackexchange.crosscheck import refusal, take_over
    from viva.build.stackexchange.project import Project

    if given["reviewer"]:
        refuse_name(given["reviewer"])
    opened = Project(project)
    items = partial(opened.items, everything=everything, kits=kits)
    others = "--everything shows what is decided, --kits what is not written yet"
    return serve_items(
        opened, items(), given, others, refuse=partial(refusal, opened), saved=partial(take_over, opened), renewed=items
    )


@click.command(name="approve", short_help="Approve or reject questions without a browser.")
@project_argument
@click.argument("questions", nargs=-1, required=True, metavar="QUESTION...")
@click.option("--reviewer", required=True, metavar="NAME", help="Who decides; nobody approves what they wrote.")
@click.option("--reject", is_flag=True, help="Reject them: their places go to the reserve.")
@click.option("--comment", default="", help="Why; kept in the audit trail.")
def approve_command(project: Path, questions: tuple[str, ...], *, reviewer: str, reject: bool, comment: str) -> int:
    """Decide about each QUESTION as its file now stands: all of them, or none. What is not written yet can be rejected,
    where a question is unfit. Every decision is a line of reviews.jsonl, as from the review page.

    \b
    viva build infibench approve so2024 so-11227809 so-231767 --reviewer "G. Hopper"
    viva build infibench approve so2024 so-4 --reviewer "G. Hopper" --reject --comment "no answer is right for good"
    """
    from viva.build.stackexchange.crosscheck import decide
    from viva.build.stackexchange.project import Project

    refuse_name(reviewer)
    opened = Project(project)
    count = decide(opened, questions, reviewer, reject=reject, comment=comment)
    tell_decisions(count, Counter(state.status for state in opened.states()))
    return EXIT_OK


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
    from viva.build.stackexchange.pilot_rules import findings
    from viva.build.stackexchange.project import Project

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
        say(f"viva: {plural(len(models), 'model')}: whether a question goes with the rest takes three")
    bad = len({finding.question for finding in told})
    click.echo(
        f"{plural(len(found), 'question')} tried by {plural(len(models), 'model')}; {bad:,} with a finding, "
        f"{len(found) - bad:,} without"
    )
    return EXIT_INCOMPLETE if told else EXIT_OK


def _tell(finding: Finding, answers: Answers, *, changed: bool) -> None:
    from viva.build.stackexchange.pilot_rules import KINDS

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
            f"viva: {plural(len(changed), 'question')} changed since the runs: {escape_invisible(named)}", err=True
        )


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
    """Write a question file for each area, attribution.csv, build.json and audit.jsonl. The set has the approved
    questions of every language, up to its quota, with their examples graded once more. The others are listed with the
    reason. Exit code 3 if an approved question fails its own examples.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva build infibench export so2024 --out so2024-set --cutoffs cutoffs.toml
    viva run infibench --data so2024-set --model openai/NAME
    """
    from viva.build.stackexchange.project import Project
    from viva.build.stackexchange.release import ReleaseOptions, release

    options = ReleaseOptions(after=day_of(after), cutoffs=cutoffs_of(cutoffs), **given)
    made = release(Project(project), out, options)
    tell_held([f"{state.id}: {why}" for state, why in made.held], everything=everything)
    for note in made.notes:
        click.echo(escape_invisible(note), err=True)
    click.echo(
        f"{plural(made.questions, 'question')} {'is' if made.questions == 1 else 'are'} in {out}, {len(made.held):,} "
        f"held back; fingerprint {made.manifest.fingerprint}; examine with: viva run infibench --data {out} --model ..."
    )
    return EXIT_INCOMPLETE if made.failed else EXIT_OK


@click.command(name="human-answers", short_help="What people answered, as answers that can be graded.")
@project_argument
@click.option("--data", "folder", required=True, type=_PATH, metavar="SET", help="The set that was exported.")
@click.option("--out", required=True, type=_PATH, help="Folder for the files of answers.")
def human_answers_command(project: Path, *, folder: Path, out: Path) -> int:
    """Write the accepted answer, the one with most votes and the ten with most votes to every question of SET, as three
    files of answers: the human baseline that InfiBench's Table 6 has.

    \b
    viva build infibench human-answers so2024 --data so2024-set --out people
    viva grade infibench people/accepted.jsonl --data so2024-set
    viva grade infibench people/best-of-ten.jsonl --data so2024-set
    """
    from viva.benchmarks.infibench.built import read_built
    from viva.build.stackexchange.human_answers import human_answers, write_human_answers
    from viva.build.stackexchange.project import Project

    questions, _, _ = read_built(folder)
    found = human_answers(Project(project).pool, {question.id for question in questions})
    for path in write_human_answers(out, found):
        given = [row.question for row in found[path.stem] if row.text]
        answered = plural(len(set(given)), "question")
        click.echo(f"{path}: {plural(len(given), 'answer')} to {answered} of {len(questions):,}")
    return EXIT_OK


COMMANDS = (
    *(kit_command, draft_command, check_command, review_command, approve_command),
    *(coverage_command, calibrate_command, export_command, human_answers_command),
)
