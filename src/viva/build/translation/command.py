"""`viva build translate`: a set in another language, by a model, checked by rule and approved by people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.build.arguments import SHOWN, all_option, project_argument, tell_held, tell_more
from viva.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.build.review_options import decide_by_file, deciding_options, file_options, serve_items
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.build.translation.checks import Finding
    from viva.build.translation.project import Project
    from viva.engine.asking import Run
    from viva.reports.result import Grid
    from viva.types import Language


_PATH = click.Path(path_type=Path)
_LANGUAGES = click.Choice(["en", "zh", "de", "fr"])


@click.command(name="check", short_help="What is wrong with a set of CS-Bench's format.")
@click.argument("target", metavar="SET", type=_PATH)
@click.option("--language", type=_LANGUAGES, help="Of SET, where its files do not say, or are in several.")
@click.option(
    "--reference", "beside", type=_PATH, metavar="SOURCE", help="What it was translated from: questions are paired."
)
@click.option("--beside-language", type=_LANGUAGES, help="Of SOURCE.")
@click.option("--sheet", type=_PATH, metavar="FILE.csv", help="Write every finding to a check sheet for people.")
@all_option
def check_command(
    target: Path,
    *,
    language: Language | None,
    beside: Path | None,
    beside_language: Language | None,
    sheet: Path | None,
    everything: bool,
) -> int:
    """Check every question of SET by rule: golds that are no letter or truth value, empty and equal options, text in
    another script or language, a translator who speaks in place of translating, lost places to fill in. With
    --reference also figures, formulas, code, numerals, units, blanks and golds against the source.

    Questions are paired by their ids, or, where these differ, by what a translation keeps; only pairs that are sure
    are compared. Exit code 3 where errors were found.
    """
    from viva.benchmarks.csbench.files import read_set
    from viva.build.translation.check_sheet import compared, write_sheet
    from viva.build.translation.checks import affected, check_set

    found = read_set(target, language)
    findings = check_set(found.records, found.language)
    notes: list[str] = []
    if beside is not None:
        source = read_set(beside, beside_language)
        if source.language == found.language and source.where == found.where:
            raise VivaError(
                f"--reference {beside} is SET itself: name what it was translated from (--beside-language en)"
            )
        for here, there in ((found.test, source.test), (found.valid or [], source.valid or [])):
            if here and there:
                findings += compared(there, here, source.language, found.language, notes)
    if sheet is not None:
        write_sheet(sheet, findings, found)
    ordered = sorted(findings, key=lambda one: one.severity != "error")
    for finding in ordered if everything else ordered[:SHOWN]:
        where = f"{finding.question} {finding.field}"
        click.echo(f"{finding.severity}: {one_line(f'{where}: {finding.kind}: {finding.message}', 300)}")
    tell_more(len(ordered), everything=everything)
    errors, warned = affected(findings, "error"), affected(findings, "warning")
    total = len(found.records)
    notes.append(
        f"{total:,} questions ({found.language}): errors in {len(errors):,} ({100 * len(errors) / total:.1f} %), only "
        f"warnings in {len(warned - errors):,}."
    )
    from viva.reports.grids import grids_terminal

    grids = [_counts(findings)] if findings else []
    click.echo(grids_terminal(grids, [escape_invisible(note) for note in notes]), nl=False)
    return EXIT_INCOMPLETE if errors else EXIT_OK


def _counts(findings: Sequence[Finding]) -> Grid:
    from viva.reports.result import Grid

    rows = []
    for severity in ("error", "warning"):
        kinds = dict.fromkeys(one.kind for one in findings if one.severity == severity)
        for kind in kinds:
            of_kind = [one for one in findings if (one.kind, one.severity) == (kind, severity)]
            rows.append((kind, severity, f"{len({one.question for one in of_kind}):,}", f"{len(of_kind):,}"))
    return Grid("What the checks found", ("", "severity", "questions", "fields"), tuple(rows))


@click.command(name="review", short_help="Decide about translations in the browser.")
@project_argument
@deciding_options("People wanted for each question.")
def review_command(project: Path, *, everything: bool, **given: Any) -> int:
    """Show every question with its translation and what the checks found, to be edited, approved or rejected: those
    with errors first. Ends with Ctrl-C.

    The headings [Question], [A], ... must stay as they are. A text that somebody edited comes up anew for the others.
    """
    from viva.build.translation.project import Project

    opened = Project(project)
    items = opened.items(everything=everything)
    return serve_items(opened, items, given, refuse=opened.refused, renewed=lambda: opened.items(everything=True))


@click.command(name="approve", short_help="Decide about translations in a spreadsheet.")
@project_argument
@file_options("A filled-in sheet.", "Write the sheet, to be filled in.")
def approve_command(project: Path, **given: Any) -> int:
    """Take over decisions from a CSV, or --write one to be filled in.

    `approve` approves the text in the column translation, `edit` changes the text and leaves it to be approved,
    `reject` rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the page.
    """
    from viva.build.translation.project import Project

    return decide_by_file(lambda: Project(project), called="sheet", **given)


@click.command(name="export", short_help="Write the set of all that is approved.")
@project_argument
@click.option("--out", required=True, type=_PATH, help="Folder for the set.")
@click.option("--force", is_flag=True, help="Replace the set that --out holds.")
@click.option(
    "--unreviewed",
    is_flag=True,
    help="Also write translations without a decision in which no check found an error; build.json counts them.",
)
@all_option
def export_command(project: Path, *, out: Path, force: bool, unreviewed: bool, everything: bool) -> int:
    """Write OUT/CSBench-DE/test.json and valid.json (as `viva run csbench --data OUT --language de` reads them),
    build.json and audit.jsonl: the questions whose translation is approved, with the ids, tags and golds of the source.
    The others are listed with the reason.
    """
    from viva.build.translation.export import export

    made = export(project, out, force=force, unreviewed=unreviewed)
    tell_held([f"{name}: {why}" for name, why in made.held], everything=everything)
    click.echo(
        f"{plural(made.test, 'question')} and {made.valid:,} of the validation half are in {out}, "
        f"{len(made.held):,} held back{f', {made.unseen:,} of them seen by nobody' if made.unseen else ''}; examine "
        f"with: viva run csbench --data {out} --language {made.language} --model ..."
    )
    return EXIT_OK


class _WithDefault(click.Group):
    """`viva build translate SET ...` asks; the other commands are named."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        if args and args[0] in ("--check", "--check-only"):
            args = ["check", *args[1:]]
        elif args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["ask", *args]
        return super().parse_args(ctx, args)


@click.group(name="translate", cls=_WithDefault, short_help="A set in another language, checked and approved.")
def translate_command() -> None:
    """Translate a set of CS-Bench's format by a model, and let people decide about every question.

    \b
    viva build translate SET --to de --project P --model openai/NAME --estimate   what it would cost
    viva build translate SET --to de --project P --model openai/NAME              ask; the same command goes on
    viva build translate review P                                   decide, in the browser: the check sheet
    viva build translate approve P --write sheet.csv                ... or in a spreadsheet
    viva build translate approve P --reviewer NAME --file sheet.csv
    viva build translate export P --out DATA                        the set of what is approved
    viva run csbench --data DATA --language de --model openai/NAME

    \b
    viva build translate --check DATA --language de                 any set by itself
    viva build translate --check DATA --language de --reference DATA --beside-language en

    Exit codes: 0 all is well; 2 wrong use, or files that cannot be read; 3 something is wrong or missing; 4 the
    endpoint refuses key or model; 5 something cannot be written; 130 interrupted.
    """


@click.command(name="ask", short_help="Let a model translate (the command where none is named).")
@click.argument("source", metavar="SET", type=_PATH)
@click.option("--to", "target", required=True, type=_LANGUAGES, help="The language to translate into.")
@click.option("--project", required=True, type=_PATH, help="Folder for all files of the project; may exist already.")
@click.option("--language", type=_LANGUAGES, help="Of SET, where its files do not say, or are in several.")
@model_options
@click.option(
    "--each",
    type=click.Choice(["question", "field"]),
    default="question",
    show_default=True,
    help="What one request holds: a question with its options and answer, or one field.",
)
@click.option("--limit", type=click.IntRange(1), help="Only the first so many questions.")
@click.option("--rejected", is_flag=True, help="Also ask anew what people rejected.")
@click.option("--estimate", "estimating", is_flag=True, help="Say what it would cost, and ask nobody.")
@asking_options(max_tokens=8192, temperature=0.0)
@all_option
def ask_command(source: Path, project: Path, *, everything: bool, **given: Any) -> int:
    """Ask a model for the translation of SET: a folder or file of CS-Bench's format (test.json, and valid.json if any).

    Letters and truth values of golds, ids and tags are never sent, nor are fields with nothing to translate. Replies
    are kept in PROJECT/drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing
    twice. What the model is told is PROJECT/translating.toml. Nothing enters a set before people approved it.
    """
    from viva.build.drafting import ask_and_keep
    from viva.build.translation.estimate import estimate
    from viva.build.translation.project import Project

    model, sampling, asking = asked_for(given)
    opened = Project.begin(project, source, (given["language"], given["target"]), given["each"])
    asked = opened.requests(sampling, given["limit"], rejected=given["rejected"])
    if given["estimating"]:
        click.echo(estimate(opened, model, asked, asking))
        return EXIT_OK
    with opened.locked():
        run, count = ask_and_keep(opened, model, [("", one) for one in asked], asking, "translating")
    return _ending(Project(project), run, count, everything=everything)


def _ending(project: Project, run: Run, asked: int, *, everything: bool) -> int:
    """What to tell after asking, and the exit code."""
    tell_refused(run)
    questions = [question for question in project.questions() if question.start or question.author]
    findings = [finding for question in questions for finding in project.findings(question)]
    listed = [finding for finding in findings if finding.severity == "error" or everything]
    for finding in listed if everything else listed[:SHOWN]:
        where = f"{finding.question} {finding.field}"
        click.echo(f"{finding.severity}: {one_line(f'{where}: {finding.kind}: {finding.message}', 300)}")
    tell_more(len(listed), everything=everything)
    states = Counter(question.state.status for question in questions)
    worst = {finding.question for finding in findings if finding.severity == "error"}
    doubtful = {finding.question for finding in findings} - worst
    come_to = (
        f"{len(questions):,} questions "
        f"({', '.join(f'{count:,} {state}' for state, count in states.items()) or 'none'}); the checks found errors in "
        f"{len(worst):,}, warnings in {len(doubtful):,} more. Decide: viva build translate review {project.path}"
    )
    return ending(run, asked, come_to, "not asked or answered yet")


for _command in (ask_command, check_command, review_command, approve_command, export_command):
    translate_command.add_command(_command)
