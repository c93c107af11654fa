"""`viva build translate`: a set in another language, by a model, checked by rule and approved by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from viva.benchmarks.csbench.recordfiles import FOLDERS, VALID, read_set
from viva.build.drafting import DraftOptions, MaxTokens, ask_and_keep, ending, model_and_sampling, price_given
from viva.build.options import (
    CsbenchFiles,
    FilesLanguage,
    Force,
    Language,
    ListAll,
    ProjectPath,
    SetFolder,
    Told,
    counts_text,
    list_first,
    print_tables,
)
from viva.build.project import DRAFTS, DecidingOptions, FileOptions, decide_by_file, serve_items
from viva.build.translation.alignment import compared, write_sheet
from viva.build.translation.checks import Finding, affected, check_set
from viva.build.translation.project import Project, released
from viva.commands import command
from viva.contracts import Model
from viva.engine.asking import Run
from viva.engine.budget import worst_case
from viva.engine.journal import Journal, Keys
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError, flag, option
from viva.fields import note
from viva.prompting import estimate_tokens
from viva.runs.open import price_of
from viva.types import Generate, Usage
from viva.visible import plural

WORDIER = 1.3
"""Assumed tokens of a translation per token of the source; the estimate states it."""


def estimate(project: Project, model: Model, asked: Sequence[Generate], config: DraftOptions) -> str:
    """Return a sentence with the estimated requests, tokens and cost, without sending anything."""
    journal = Journal(project.path / DRAFTS, write=False)
    try:
        keys = Keys(model.identity, project.scope)
        left = [request for request in asked if keys.of(request) not in journal.answered]
    finally:
        journal.close()
    prompts = sum(worst_case(request).input for request in left)
    most = sum(worst_case(request).output for request in left)
    head = estimate_tokens(project.templates.translate["system"] + project.templates.translate["whole"])
    replies = round(WORDIER * sum(max(1, worst_case(request).input - head) for request in left))
    price = price_of(model, price_given(config))
    money = f", price unknown ({flag('price', 'IN/OUT')})"
    if price:
        costs = price.cost(Usage(prompts, replies)), price.cost(Usage(prompts, most))
        money = f": about ${costs[0]:.2f}, at most ${costs[1]:.2f}"
    return (
        f"{model.name}: {len(left):,} requests left of {len(asked):,}, about {prompts:,} + {replies:,} tokens{money}. "
        f"An estimate from the prompts' lengths (no tokenizer); a translation is assumed {WORDIER:g} times as long."
    )


class CheckConfig(Struct, kw_only=True):
    """Check every question of SET by rule: golds that are no letter or truth value, empty and equal options, text in
    another script or language, a translator who speaks in place of translating, lost places to fill in. With
    --reference also figures, formulas, code, numerals, units, blanks and golds against the source.

    Questions are paired by their ids, or, where these differ, by what a translation keeps; only pairs that are sure
    are compared. Exit code 3 where errors were found.
    """

    target: CsbenchFiles
    language: FilesLanguage = None
    beside: Annotated[
        Path | None,
        note("What it was translated from: questions are paired.", metavar="SOURCE", spelled=("--reference",)),
    ] = None
    beside_language: Annotated[Language | None, note("Of SOURCE.")] = None
    sheet: Annotated[Path | None, note("Write every finding to a check sheet for people.", metavar="FILE.csv")] = None
    everything: ListAll = False


@command(CheckConfig, "action")
def check(config: CheckConfig) -> int:
    """What is wrong with a set of CS-Bench's format."""
    read = read_set(config.target, config.language)
    findings = check_set(read.records, read.language)
    notes: list[str] = []
    if config.beside is not None:
        source = read_set(config.beside, config.beside_language)
        if source.language == read.language and source.where == read.where:
            raise VivaError(
                f"{config.beside} is SET itself: name what it was translated from ({option('beside_language')} en)",
                field="beside",
            )
        for here, there in ((read.test, source.test), (read.valid or [], source.valid or [])):
            if here and there:
                findings += compared(there, here, source.language, read.language, notes)
    if config.sheet is not None:
        write_sheet(config.sheet, findings, read)
    ordered = sorted(findings, key=lambda finding: finding.severity != "error")
    list_first(ordered, everything=config.everything)
    errors, warned = affected(findings, "error"), affected(findings, "warning")
    total = len(read.records)
    notes.append(
        f"{total:,} questions ({read.language}): errors in {len(errors):,} ({100 * len(errors) / total:.1f} %), only "
        f"warnings in {len(warned - errors):,}."
    )
    print_tables([_counts(findings)] if findings else [], notes)
    return EXIT_INCOMPLETE if errors else EXIT_OK


def _counts(findings: Sequence[Finding]) -> Told:
    rows = []
    for severity in ("error", "warning"):
        kinds = dict.fromkeys(finding.kind for finding in findings if finding.severity == severity)
        for kind in kinds:
            of_kind = [finding for finding in findings if (finding.kind, finding.severity) == (kind, severity)]
            rows.append((kind, severity, len({each.question for each in of_kind}), len(of_kind)))
    return "What the checks found", ("", "severity", "questions", "fields"), rows


class ReviewConfig(DecidingOptions, kw_only=True):
    """Show every question with its translation and what the checks found, to be edited, approved or rejected: those
    with errors first. Ends with Ctrl-C.

    The headings [Question], [A], ... must stay as they are. A text that somebody edited comes up anew for the others.
    """


@command(ReviewConfig, "action")
def review(config: ReviewConfig) -> int:
    """Decide about translations in the browser."""
    opened = Project(config.project)
    items = opened.items(everything=config.everything)
    return serve_items(opened, items, config, refuse=opened.refused, renewed=lambda: opened.items(everything=True))


class ApproveConfig(FileOptions, kw_only=True):
    """Take over decisions from a sheet (CSV), or --write one to be filled in.

    `approve` approves the text in the column translation, `edit` changes the text and leaves it to be approved,
    `reject` rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the page.
    """


@command(ApproveConfig, "action")
def approve(config: ApproveConfig) -> int:
    """Decide about translations in a spreadsheet."""
    return decide_by_file(Project, config)


class ExportConfig(Struct, kw_only=True):
    """Write OUT/CSBench-DE/test.json and valid.json (as `viva run csbench --data OUT --language de` reads them),
    build.json and audit.jsonl: the questions whose translation is approved, with the ids, tags and golds of the source.
    The others are listed with the reason.
    """

    project: ProjectPath
    out: SetFolder
    force: Force = False
    unreviewed: Annotated[
        bool,
        note("Also write translations without a decision in which no check found an error; build.json counts them."),
    ] = False
    everything: ListAll = False


@command(ExportConfig, "action")
def export(config: ExportConfig) -> int:
    """Write the set of all that is approved."""
    opened = Project(config.project)
    release = released(opened, unreviewed=config.unreviewed)
    made = release.manifest
    opened.release(
        release, config.out / FOLDERS[made.to], force=config.force, everything=config.everything, files=[VALID]
    )
    unseen = f", {made.unreviewed:,} of them seen by nobody" if made.unreviewed else ""
    print(
        f"{plural(made.test, 'question')} and {made.valid:,} of the validation half are in {config.out}, "
        f"{len(release.held):,} held back{unseen}; examine with: viva run csbench {flag('data')} {config.out} "
        f"{flag('language')} {made.to} {flag('model')} ..."
    )
    return EXIT_OK


class AskConfig(DraftOptions, kw_only=True):
    """Ask a model for the translation of SET: a folder or file of CS-Bench's format (test.json, and valid.json if any).

    Letters and truth values of golds, ids and tags are never sent, nor are fields with nothing to translate. Replies
    are kept in PROJECT/drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing
    twice. What the model is told is PROJECT/translating.toml. Nothing enters a set before people approved it.

    \b
    viva build translate SET --to de --project P --model openai/NAME --estimate   what it would cost
    viva build translate SET --to de --project P --model openai/NAME              ask; the same command goes on
    viva build translate review P                                   decide, in the browser: the check sheet
    viva build translate approve P --write sheet.csv                ... or in a spreadsheet
    viva build translate approve P --reviewer NAME --file sheet.csv
    viva build translate export P --out DATA                        the set of what is approved
    viva run csbench --data DATA --language de --model openai/NAME

    \b
    viva build translate check DATA --language de                 any set by itself
    viva build translate check DATA --language de --reference DATA --beside-language en

    Exit codes: 0 all is well; 2 wrong use, or files that cannot be read; 3 something is wrong or missing; 4 the
    endpoint refuses key or model; 5 something cannot be written; 130 interrupted.
    """

    source: CsbenchFiles
    target: Annotated[Language, note("The language to translate into.", spelled=("--to",))]
    project: Annotated[Path, note("Folder for all files of the project; may exist already.")]
    language: FilesLanguage = None
    each: Annotated[
        Literal["question", "field"],
        note("What one request holds: a question with its options and answer, or one field."),
    ] = "question"
    limit: Annotated[Annotated[int, Meta(ge=1)] | None, note("Only the first so many questions.")] = None
    rejected: Annotated[bool, note("Also ask anew what people rejected.")] = False
    estimating: Annotated[bool, note("Say what it would cost, and ask nobody.", spelled=("--estimate",))] = False
    max_tokens: MaxTokens = 8192
    temperature: Annotated[Annotated[float, Meta(ge=0, le=10)] | None, note("Of the replies.")] = 0.0
    everything: ListAll = False


@command(AskConfig, "action")
def ask(config: AskConfig) -> int:
    """Let a model translate (the command where none is named)."""
    model, sampling = model_and_sampling(config)
    opened = Project.begin(config.project, config.source, (config.language, config.target), config.each)
    asked = opened.requests(sampling, config.limit, rejected=config.rejected)
    if config.estimating:
        print(estimate(opened, model, asked, config))
        return EXIT_OK
    with opened.locked():
        run, count = ask_and_keep(opened, model, [("", request) for request in asked], config, "translating")
    return _ending(Project(config.project), run, count, everything=config.everything)


def _ending(project: Project, run: Run, asked: int, *, everything: bool) -> int:
    """Print the result of asking; returns the exit code."""
    questions = [question for question in project.texts() if question.start or question.author]
    findings = [finding for question in questions for finding in project.findings(question)]
    listed = [finding for finding in findings if finding.severity == "error" or everything]
    list_first(listed, everything=everything)
    states = Counter(question.state.status for question in questions)
    worst = affected(findings, "error")
    doubtful = affected(findings, "warning") - worst
    come_to = (
        f"{len(questions):,} questions "
        f"({counts_text(states) or 'none'}); the checks found errors in "
        f"{len(worst):,}, warnings in {len(doubtful):,} more. Decide: viva build translate review {project.path}"
    )
    return ending(run, asked, come_to, "not asked or answered yet")
