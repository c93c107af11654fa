"""`viva build infibench`, from the pool to the set: kits, drafts, checks, decisions, coverage, pilot runs, export."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from viva.benchmarks.custom.questionmodel import Problem
from viva.benchmarks.infibench.caseset import read_built
from viva.build.drafting import DraftOptions, ask_and_keep, ending, model_and_sampling
from viva.build.files import content_of, replace_file
from viva.build.options import (
    SHOWN,
    Force,
    HostExecution,
    ListAll,
    ProjectPath,
    SetFolder,
    SetName,
    list_first,
    print_tables,
    tell_notes,
)
from viva.build.project import DecidingOptions, refuse_name, serve_items, tell_decisions
from viva.build.stackexchange.coverage import (
    Cell,
    State,
    coverage_table,
    exposure_table,
    holders,
    metric_lines,
    read_cutoffs,
    read_day,
)
from viva.build.stackexchange.export import FAILED, files, grading_problems, released
from viva.build.stackexchange.kit import (
    asked,
    human_references,
    read_instructions,
    request,
)
from viva.build.stackexchange.project import MANY, Exported, Project, decide, refusal, take_over, take_pool
from viva.commands import command
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, DataError, flag, option
from viva.fields import note
from viva.runs.progress import say
from viva.visible import escape_invisible, one_line, plural

After = Annotated[
    str | None, note("Only questions asked from this day on: what models cannot have read.", metavar="DATE")
]
Cutoffs = Annotated[
    Path | None, note('Models\' training cut-offs: lines of "MODEL" = 2024-04-30.', metavar="FILE.toml")
]
NEAREST = 5
"""Prompts listed as most similar to their originals."""


def day_of(after: str | None) -> date | None:
    """Parse --after."""
    return None if after is None else read_day(after, "--after")


def cutoffs_of(path: Path | None) -> dict[str, date]:
    """Read the file of --cutoffs."""
    return {} if path is None else read_cutoffs(content_of(path), str(path))


class KitConfig(Struct, kw_only=True):
    """Write questions/ID/original.md (the question with its positively voted answers, as harmless text) and
    questions/ID/question.yaml (to be written by an expert) for every question that has a place in the set.

    What people wrote is never changed; run it again when a question of the reserve has moved up.

    \b
    viva build infibench kit so2024 --pool pool
    viva build infibench kit so2024 --after 2024-04-30
    """

    project: ProjectPath
    pool: Annotated[Path | None, note("Take the pool that lies there into PROJECT first.", metavar="FOLDER")] = None
    everything: Annotated[bool, note("Also for the questions in reserve.", spelled=("--all",))] = False
    after: After = None


@command(KitConfig, "action")
def kit(config: KitConfig) -> int:
    """A folder for every question: the original, and the file to write."""
    day = day_of(config.after)
    if config.pool is not None:
        take_pool(config.pool, config.project)
    opened = Project(config.project)
    states = opened.states()
    if sum(state.text is None for state in states) > MANY:
        say("viva: writing kits")
    new = opened.write_kits(states, None if config.everything else holders(opened.places(states, day)))
    opened.instructions()
    kits = sum(state.text is not None for state in states) + new
    print(
        f"{config.project / 'questions'}: {plural(new, 'new kit')}, {kits:,} in all; "
        f"write each question.yaml, then: viva build infibench check {config.project}"
    )
    return EXIT_OK


class CheckConfig(Struct, kw_only=True):
    """Check every question.yaml that somebody wrote into, but the rejected ones (or only QUESTION): its grading
    language, its expressions, its examples (the accepted answer must score full, an empty one must not; tests run in
    the sandbox), weights and `max`, and how much of the prompt is the original's. Exit code 3 where there are errors.

    \b
    viva build infibench check so2024
    viva build infibench check so2024 so-11227809 --all
    """

    project: ProjectPath
    questions: Annotated[tuple[str, ...], note("Only these.", metavar="QUESTION...", argument=True)] = ()
    no_run: Annotated[bool, note("Only read: grade no example, run no test.")] = False
    unsafe_host_execution: HostExecution = False
    everything: ListAll = False


@command(CheckConfig, "action")
def check(config: CheckConfig) -> int:
    """What is wrong in the kits, with file and line."""
    opened = Project(config.project)
    named = {opened.find(question).id for question in config.questions}
    states = [state for state in opened.states() if not named or state.about.id in named]
    skipped = ("unwritten",) if named else ("unwritten", "rejected")
    written = [state for state in states if state.text is not None and state.status not in skipped]
    sound = [(state.about, own) for state in written if (own := state.checked.question) is not None]
    notes: list[str] = []
    graded: Mapping[int, Sequence[Problem]] = {}
    if sound and not config.no_run:
        graded = grading_problems(sound, notes, unsafe=config.unsafe_host_execution)
    told = [
        (state, problem) for state in written for problem in (*state.checked.problems, *graded.get(state.about.id, ()))
    ]
    told.sort(key=lambda pair: pair[1].severity != "error")
    shown = [escape_invisible(f"{opened.file(state.about)}:{problem}", limit=600) for state, problem in told]
    list_first(shown, everything=config.everything)
    tell_notes(notes)
    _print_shared_text(written, everything=config.everything)
    wrong = [state.id for state, problem in told if problem.severity == "error"]
    errors, faulty = len(wrong), len(set(wrong))
    print(
        f"{plural(len(written), 'question')} written, {len(written) - faulty:,} without errors, "
        f"{sum(state.status == 'unwritten' for state in states):,} not written yet; {plural(errors, 'error')}, "
        f"{plural(len(told) - errors, 'warning')}"
    )
    return EXIT_INCOMPLETE if errors else EXIT_OK


def _print_shared_text(states: Sequence[State], *, everything: bool) -> None:
    """Print the prompts' overlap with their originals: the most similar ones, or all."""
    read = [state for state in states if state.checked.shared_text.words]
    nearest = sorted(read, key=lambda state: -state.checked.shared_text.share)
    for state in nearest if everything else nearest[:NEAREST]:
        print(f"likeness: {state.id}: {state.checked.shared_text}")
    if len(nearest) > NEAREST and not everything:
        print(f"likeness: {len(nearest) - NEAREST:,} more are less like their originals")


class CoverageConfig(Struct, kw_only=True):
    """Say how many questions of each language are approved, waiting, faulty and missing, against the pool's quotas.
    A rejected question gives its place to the next one in reserve. Exit code 3 where something is missing.

    \b
    viva build infibench coverage so2024
    viva build infibench coverage so2024 --cutoffs cutoffs.toml     who may have read what
    viva build infibench coverage so2024 --after 2024-04-30         only what is newer
    """

    project: ProjectPath
    after: After = None
    cutoffs: Cutoffs = None
    everything: ListAll = False


@command(CoverageConfig, "action")
def coverage(config: CoverageConfig) -> int:
    """What is approved and what is missing, by language."""

    day, table = day_of(config.after), cutoffs_of(config.cutoffs)
    opened = Project(config.project)
    states = opened.states()
    dealt = opened.places(states, day)
    tables = [coverage_table(dealt)]
    if table:
        tables.append(exposure_table(dealt, table))
    approved = sum(cell.counts["approved"] for cell in dealt)
    missing = sum(cell.missing for cell in dealt)
    closing = [
        *metric_lines(dealt),
        *_moved(opened, dealt, everything=config.everything),
        f"{approved:,} of {sum(cell.quota for cell in dealt):,} questions approved, {missing:,} missing",
    ]
    print_tables(tables, closing)
    return EXIT_INCOMPLETE if missing else EXIT_OK


def _moved(opened: Project, dealt: Iterable[Cell], *, everything: bool) -> Iterable[str]:
    """Yield lines about questions of the reserve that now have a place."""
    moved = [state for cell in dealt for state in cell.moved_up]
    for state in moved if everything else moved[:SHOWN]:
        made = "" if state.text is not None else f" (no kit yet: viva build infibench kit {opened.path})"
        yield f"moved up: {state.id}, {state.about.language}{made}"
    if len(moved) > SHOWN and not everything:
        yield f"... and {len(moved) - SHOWN:,} more moved up, which {flag('all')} lists"


class DraftConfig(DraftOptions, kw_only=True):
    """Draft a paraphrase of every question that has a kit and is not written yet, by PROJECT's instructions.toml.

    A draft is a proposal: it is written into draft.md, and into question.yaml if nobody has changed that file. Replies
    are kept in drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing twice.

    \b
    viva build infibench draft so2024 --model openai/NAME --max-cost 5
    """

    project: ProjectPath
    after: After = None


@command(DraftConfig, "action")
def draft(config: DraftConfig) -> int:
    """Let a model draft the prompts that are not written yet."""
    day = day_of(config.after)
    opened = Project(config.project)
    instructions = read_instructions(*opened.instructions())
    model, sampling = model_and_sampling(config)
    with opened.locked():
        states = opened.states()
        placed = holders(opened.places(states, day))
        todo = [
            each_state
            for each_state in states
            if each_state.status == "unwritten" and each_state.text is not None and each_state.about.id in placed
        ]
        requests = [
            (asked(state.about), request(state.about, instructions, sampling))
            for state in todo
            if opened.draft_of(state.about) is None
        ]
        run, wanted = ask_and_keep(opened, model, requests, config)
        opened = Project(config.project)
        opened.put_drafts({state.about.id for state in todo})
    drafts = [(about, opened.drafts.get(asked(about))) for about in opened.pool]
    unfit = [(about, draft.doubt) for about, draft in drafts if draft and draft.doubt and not draft.text]
    for about, why in unfit[:SHOWN]:
        print(f"so-{about.id}: the model finds it unfit: {one_line(why, 300)}")
    drafted = sum(bool(draft and draft.text) for _, draft in drafts)
    return ending(run, wanted, f"{drafted:,} questions have a draft, {len(unfit):,} are unfit")


class ReviewConfig(DecidingOptions, kw_only=True):
    """Show questions beside their originals on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    Nobody approves what they wrote: the author tag counts, and every edit on the page. An edit is written into
    question.yaml, and comes up for the others at once. Filters: language, area, metric, type, status, author.

    \b
    viva build infibench review so2024 --reviewer "G. Hopper"
    """

    everything: Annotated[bool, note("Also what is approved or rejected already.")] = False
    kits: Annotated[bool, note("Also what is not written yet: to be written on the page, or turned down.")] = False


@command(ReviewConfig, "action")
def review(config: ReviewConfig) -> int:
    """Cross-check questions in the browser."""
    if config.reviewer:
        refuse_name(config.reviewer)
    opened = Project(config.project)
    items = partial(opened.items, everything=config.everything, kits=config.kits)
    return serve_items(
        opened,
        items(),
        config,
        f"{flag('everything')} shows what is decided, {flag('kits')} what is not written yet",
        refuse=partial(refusal, opened),
        saved=partial(take_over, opened),
        renewed=items,
    )


class ApproveConfig(Struct, kw_only=True):
    """Decide about each QUESTION as its file now stands: all of them, or none. What is not written yet can be rejected,
    where a question is unfit. Every decision is a line of reviews.jsonl, as from the review page.

    \b
    viva build infibench approve so2024 so-11227809 so-231767 --reviewer "G. Hopper"
    viva build infibench approve so2024 so-4 --reviewer "G. Hopper" --reject --comment "no answer is right for good"
    """

    project: ProjectPath
    questions: Annotated[tuple[str, ...], note("Which are decided about.", metavar="QUESTION...", argument=True)]
    reviewer: Annotated[str, note("Who decides; nobody approves what they wrote.", metavar="NAME")]
    reject: Annotated[bool, note("Reject them: their places go to the reserve.")] = False
    comment: Annotated[str, note("Why; kept in the audit trail.")] = ""


@command(ApproveConfig, "action")
def approve(config: ApproveConfig) -> int:
    """Approve or reject questions without a browser."""
    refuse_name(config.reviewer)
    opened = Project(config.project)
    count = decide(opened, config.questions, config.reviewer, reject=config.reject, comment=config.comment)
    tell_decisions(count, Counter(state.status for state in opened.states()))
    return EXIT_OK


class CalibrateConfig(Struct, kw_only=True):
    """Look at PROJECT's questions by what models answered in RUN... (of a set that `export --pilot` wrote): questions
    that no answer or every answer passes, that could not be graded, or whose scores go against the rest. Answers are
    shown with their scores. Exit code 3 where there is a finding.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva run infibench --data pilot --model openai/SMALL --run runs/small
    viva run infibench --data pilot --model openai/LARGE --run runs/large
    viva build infibench calibrate so2024 runs/small runs/large
    """

    project: ProjectPath
    runs: Annotated[tuple[Path, ...], note("Runs of the pilot set.", metavar="RUN...", argument=True)]
    answers: Annotated[int, Meta(ge=0, le=50), note("Show so many a finding.")] = 2
    everything: ListAll = False


@command(CalibrateConfig, "action")
def calibrate(config: CalibrateConfig) -> int:
    """Which questions are no good, by pilot runs."""
    from viva.build.stackexchange import pilots

    opened = Project(config.project)
    replies, changed = pilots.replies_of(opened, config.runs)
    if replies.is_empty():
        raise DataError(
            f"the runs asked none of the questions of {config.project}; run the set that `export {option('pilot')}` "
            "wrote"
        )
    questions = pilots.tried(replies)
    told = pilots.findings(questions)
    shown = []
    for finding in told:
        since = " (changed since it was run)" if finding.question in changed else ""
        lines = [f"=== {finding.question}{since}: {pilots.KINDS[finding.kind]}"]
        lines.append(f"    {escape_invisible(finding.said)}")
        for reply in pilots.shown(replies, finding, config.answers):
            lines.append(f"--- {one_line(reply['model'], 80)} scores {reply['score']:.3g}")
            lines.append(textwrap.indent(escape_invisible(reply["text"]), "    ", lambda _: True))
            lines.append(f"    why: {one_line(reply['why'], 400)}")
        shown.append("\n".join(lines))
    list_first(shown, everything=config.everything)
    if changed:
        named = ", ".join(sorted(changed)[:10]) + (" and more" if len(changed) > 10 else "")
        say(f"viva: {plural(len(changed), 'question')} changed since the runs: {escape_invisible(named)}")
    models = replies["model"].n_unique()
    if models < 3:
        say(f"viva: {plural(models, 'model')}: whether a question goes with the rest takes three")
    bad = len({finding.question for finding in told})
    print(
        f"{plural(len(questions), 'question')} tried by {plural(models, 'model')}; {bad:,} with a finding, "
        f"{len(questions) - bad:,} without"
    )
    return EXIT_INCOMPLETE if told else EXIT_OK


class ExportConfig(Struct, kw_only=True):
    """Write a question file for each area, attribution.csv, build.json and audit.jsonl. The set has the approved
    questions of every language, up to its quota, with their examples graded once more. The others are listed with the
    reason. Exit code 3 if an approved question fails its own examples.

    \b
    viva build infibench export so2024 --pilot --out pilot
    viva build infibench export so2024 --out so2024-set --cutoffs cutoffs.toml
    viva run infibench --data so2024-set --model openai/NAME
    """

    project: ProjectPath
    out: SetFolder
    force: Force = False
    name: SetName = ""
    pilot: Annotated[
        bool, note("Everything without errors, approved or not: for `calibrate`, not to be published.")
    ] = False
    after: After = None
    cutoffs: Cutoffs = None
    unsafe: HostExecution = False
    everything: ListAll = False


@command(ExportConfig, "action")
def export(config: ExportConfig) -> int:
    """Write the set of all that is approved."""
    opened = Project(config.project)
    release = released(
        opened,
        config.out,
        config.name,
        pilot=config.pilot,
        after=day_of(config.after),
        cutoffs=cutoffs_of(config.cutoffs),
        unsafe=config.unsafe,
    )
    made = release.manifest
    opened.remember(Exported(made.fingerprint, made.pilot, made.texts))  # before anything is told: a reader may be gone
    opened.release(release, config.out, force=config.force, everything=config.everything, files=files())
    count = made.questions
    print(
        f"{plural(count, 'question')} {'is' if count == 1 else 'are'} in {config.out}, "
        f"{len(release.held):,} held back; fingerprint {made.fingerprint}; "
        f"examine with: viva run infibench {flag('data')} {config.out} {flag('model')} ..."
    )
    return EXIT_INCOMPLETE if FAILED in made.held_back else EXIT_OK


class HumanAnswersConfig(Struct, kw_only=True):
    """Write the accepted answer, the one with most votes and the ten with most votes to every question of SET, as three
    files of answers: the human baseline that InfiBench's Table 6 has.

    \b
    viva build infibench human-answers so2024 --data so2024-set --out people
    viva grade infibench people/accepted.jsonl --data so2024-set
    viva grade infibench people/best-of-ten.jsonl --data so2024-set
    """

    project: ProjectPath
    folder: Annotated[Path, note("The set that was exported.", metavar="SET", spelled=("--data",))]
    out: Annotated[Path, note("Folder for the files of answers.")]


@command(HumanAnswersConfig, "action")
def human_answers(config: HumanAnswersConfig) -> int:
    """What people answered, as answers that can be graded."""
    questions, _, _ = read_built(config.folder)
    references = human_references(Project(config.project).pool, {question.id for question in questions})
    for name, rows in references.items():
        path = config.out / f"{name}.jsonl"
        replace_file(path, msgspec.json.Encoder().encode_lines(rows))
        given = [row.question for row in rows if row.text]
        answered = plural(len(set(given)), "question")
        print(f"{path}: {plural(len(given), 'answer')} to {answered} of {len(questions):,}")
    return EXIT_OK
