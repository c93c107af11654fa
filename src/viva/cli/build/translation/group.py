"""`viva build translate`: a set in another language, by a model, checked by rule and approved by people."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.cli.build.arguments import SHOWN, all_option, tell_more
from viva.cli.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.cli.build.translation.approve import approve_command, export_command, review_command
from viva.cli.build.translation.check import check_command
from viva.errors import EXIT_OK
from viva.visible import one_line

if TYPE_CHECKING:
    from viva.authoring.translation.project import Project
    from viva.engine.asking import Run


_PATH = click.Path(path_type=Path)
_LANGUAGES = click.Choice(["en", "zh", "de", "fr"])


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
@click.option("--project", required=True, type=_PATH, help="Folder that holds everything; it can be gone on with.")
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
    from viva.authoring.drafting import ask_and_keep
    from viva.authoring.translation.estimate import estimate
    from viva.authoring.translation.project import Project

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
