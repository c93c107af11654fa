"""`viva build clrbench`: an examination with reasons, from tables of contents to a set that experts approved."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.build.arguments import SHOWN, all_option, project_argument, tell_held, tell_more
from viva.build.draft_options import asked_for, asking_options, ending, model_options, tell_refused
from viva.build.files import content_of
from viva.build.review_options import decide_by_file, deciding_options, file_options, serve_items
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.runs.live_line import say
from viva.visible import escape_invisible, one_line, plural

if TYPE_CHECKING:
    from viva.build.reasoning.checks import Problem
    from viva.build.reasoning.coverage import Concept
    from viva.build.reasoning.topics import Finding, Graph
    from viva.reports.result import Grid


_PATH = click.Path(path_type=Path)
_LEVELS = click.Choice(["leaf", "1", "2", "3", "all"])


@click.command(name="graph", short_help="Make and check the topic graph.")
@project_argument
@click.option(
    "--toc",
    "tables",
    multiple=True,
    metavar="[NAME=]FILE",
    help="Table of contents; NAME: the discipline of all of it.",
)
@click.option(
    "--triples", multiple=True, type=_PATH, metavar="FILE", help="CSV, TSV or JSONL of head, has_subtopic, tail."
)
@click.option("--add", is_flag=True, help="Add to the graph that PROJECT has.")
@click.option("--force", is_flag=True, help="Replace the graph that PROJECT has.")
@all_option
def graph_command(
    project: Path, tables: tuple[str, ...], triples: tuple[Path, ...], *, add: bool, force: bool, everything: bool
) -> int:
    """Make topics.csv of tables of contents (indented, numbered, or Markdown) and triples; without any, check it.

    Three levels: discipline, topic, subtopic. What a table of contents has below the third is left out.
    """
    from viva.build.files import replace_file
    from viva.build.reasoning.project import TOPICS
    from viva.build.reasoning.topics import check, merged, read_triples, written_triples

    path = project / TOPICS
    given = [_outlined(table) for table in tables] + [read_triples(content_of(file), str(file)) for file in triples]
    if path.exists() and given and not (add or force):
        raise VivaError(f"{path} is there already: --add to it, or replace it with --force")
    if not given and not path.exists():
        raise VivaError("what are the topics? --toc FILE (a table of contents) or --triples FILE")
    earlier = [read_triples(path.read_bytes(), str(path))] if path.exists() and not force else []
    graph = merged([*earlier, *given])
    findings = check(graph)
    wrong = [finding for finding in findings if finding.error]
    _tell_findings(findings, everything=everything)
    if wrong:
        saved = "nothing was written" if given else "mend topics.csv"
        say(f"viva: {plural(len(wrong), 'error')}; {saved}")
        return EXIT_INCOMPLETE
    if given:
        replace_file(path, written_triples(graph))
    _print([_level_grid(graph)], f"The topics are in {path}; next: viva build clrbench sheet {project}")
    return EXIT_OK


def _outlined(table: str) -> Graph:
    """The graph of `FILE` or `NAME=FILE`."""
    from viva.build.reasoning.toc import outline, read_contents
    from viva.build.spreadsheet import tidy

    name, _, rest = table.rpartition("=") if not Path(table).exists() else ("", "", table)
    found = outline(read_contents(content_of(Path(rest)), rest), tidy(name))
    notes = []
    if found.left_out:
        first = ", ".join(dict.fromkeys(found.left_out[:3]))
        notes.append(f"{plural(len(found.left_out), 'heading')} that name no topic ({first}, ...)")
    if found.too_deep:
        notes.append(f"{plural(found.too_deep, 'entry', 'entries')} below the third level")
    if notes:
        click.echo(escape_invisible(f"{rest}: left out {' and '.join(notes)}"), err=True)
    return found.graph


def _tell_findings(findings: list[Finding], *, everything: bool) -> None:
    for finding in findings if everything else findings[:SHOWN]:
        head = "error" if finding.error else "note"
        click.echo(f"{head}: {finding.kind}: {one_line(finding.message, 600)}", err=True)
    tell_more(len(findings), everything=everything)


def _level_grid(graph: Graph) -> Grid:
    """Counts a level: in the paper 16 disciplines, 40 topics, 26 subtopics."""
    from viva.reports.result import Grid

    rows = [
        (f"{level} ({name})", f"{len(graph.at(level)):,}")
        for level, name in enumerate(("disciplines", "topics", "subtopics"), 1)
    ]
    return Grid("Topic graph", ("level", "topics"), (*rows, ("all", f"{len(graph.names):,}")))


@click.command(name="sheet", short_help="Write or refresh the collection sheet.")
@click.argument("project", type=_PATH, required=False)
@click.option(
    "--least", type=click.IntRange(1, 100), default=2, show_default=True, help="Questions of each type a concept."
)
@click.option("--level", type=_LEVELS, default="leaf", show_default=True, help="Which topics are concepts.")
@click.option("--example", is_flag=True, help="Print a filled sheet instead: a question of each type.")
def sheet_command(project: Path | None, *, least: int, level: Any, example: bool) -> int:
    """Write collection.csv with a row for every question still wanted, or add those rows to the one that is there.

    What people wrote is never changed: a refresh adds rows at the end, and ids where there are none.
    """
    if example:
        from importlib.resources import files

        click.echo((files("viva.build.reasoning") / "example.csv").read_text(encoding="utf-8"), nl=False)
        return EXIT_OK
    if project is None:
        raise VivaError("which PROJECT? (or --example)")
    from viva.build.files import replace_file
    from viva.build.reasoning.coverage import coverage
    from viva.build.reasoning.project import Project
    from viva.build.reasoning.prompt import bundled_instructions
    from viva.build.reasoning.sheet import new_sheet, refreshed, stub_places

    opened = Project(project)
    concepts = coverage(opened.needed_graph(), opened.checked.questions if opened.sheet else [], level, least)
    stubs = [
        (concept.path, kind)
        for concept in concepts
        for kind, count in concept.missing.items()
        for _ in range(count - stub_places(opened.sheet, concept.path, kind))
    ]
    path = project / opened.sheet_name
    before = opened.read(opened.sheet_name)
    content = new_sheet(stubs) if opened.sheet is None else refreshed(opened.sheet, stubs)
    if content is not None:
        if before is not None and path.read_bytes() != before:
            raise VivaError(f"{path} was saved by somebody else just now; try again")
        replace_file(path, content)
    opened.instructions(bundled_instructions())
    click.echo(f"{path}: {plural(len(stubs), 'row')} to fill in {'added' if before is not None else 'written'}; "
               f"`viva build clrbench sheet --example` shows filled ones")  # fmt: skip
    return EXIT_OK


@click.command(name="check", short_help="Check the collection sheet.")
@project_argument
@all_option
def check_command(project: Path, *, everything: bool) -> int:
    """Check every row of the sheet: each problem with its cell and what to do. Exit code 3 where there are errors."""
    from viva.build.reasoning.project import Project

    opened = Project(project)
    checked = opened.checked
    if opened.graph is None:
        say(f"viva: {project} has no topics.csv, so topics are not looked up")
    _tell_problems(checked.problems, everything=everything)
    sheet = opened.sheet
    merged = f", {plural(sheet.merged, 'repeated row')} merged" if sheet and sheet.merged else ""
    warnings = len(checked.problems) - len(checked.errors)
    usable = f"{plural(len(checked.questions), 'question')} can be used, {plural(checked.empty, 'row')} to fill in"
    click.echo(f"{usable}{merged}; {plural(len(checked.errors), 'error')}, {plural(warnings, 'warning')}")
    return EXIT_INCOMPLETE if checked.errors else EXIT_OK


def _tell_problems(problems: list[Problem], *, everything: bool) -> None:
    ordered = sorted(problems, key=lambda problem: not problem.error)
    for problem in ordered if everything else ordered[:SHOWN]:
        head = "error" if problem.error else "warning"
        click.echo(f"{head}: {problem.where}: {problem.kind}: {one_line(problem.message, 400)}")
    tell_more(len(problems), everything=everything)


@click.command(name="coverage", short_help="Which topics lack questions.")
@project_argument
@click.option(
    "--least", type=click.IntRange(1, 100), default=2, show_default=True, help="Questions of each type a concept."
)
@click.option("--level", type=_LEVELS, default="leaf", show_default=True, help="Which topics are concepts.")
@click.option("--approved", is_flag=True, help="Count only questions whose rationale is approved.")
@click.option("--picture", type=_PATH, metavar="FILE.svg", help="Draw the graph with its coverage.")
@all_option
def coverage_command(
    project: Path, *, least: int, level: Any, approved: bool, picture: Path | None, everything: bool
) -> int:
    """Say which concepts lack questions of which type, and draw the graph. Exit code 3 where something is missing."""
    from viva.build.files import replace_file
    from viva.build.reasoning.coverage import coverage
    from viva.build.reasoning.picture import picture as draw
    from viva.build.reasoning.project import Project

    if picture and picture.suffix.lower() != ".svg":
        raise VivaError(f"--picture {picture}: the picture is an SVG; name a file that ends in .svg")
    opened = Project(project)
    graph = opened.needed_graph()
    questions = opened.checked.questions if opened.sheet else []
    if approved and opened.sheet:
        questions = [proposal.question for proposal in opened.folded().approved]
    concepts = coverage(graph, questions, level, least)
    if picture:
        replace_file(picture, draw(graph, concepts, f"{project.resolve().name}: topics and questions").encode())
    missing = [concept for concept in concepts if concept.missing]
    wanted = sum(bool(concept.wanted) for concept in concepts)
    grids = [_missing_grid(missing if everything else missing[:SHOWN])] if missing else []
    total = sum(sum(concept.missing.values()) for concept in missing)
    covered = f"{wanted - len(missing):,} of {wanted:,} concepts have {least} questions of each type"
    closing = f"{covered}; {plural(total, 'question')} missing"
    _print(grids, closing)
    tell_more(len(missing), everything=everything)
    return EXIT_INCOMPLETE if missing else EXIT_OK


def _missing_grid(missing: list[Concept]) -> Grid:
    from viva.build.reasoning.questions import TYPES
    from viva.reports.result import Grid

    rows = tuple(
        (
            one_line(" › ".join(concept.path), 90),
            *(f"{concept.missing[kind]:,}" if kind in concept.missing else "" for kind in TYPES),
        )
        for concept in missing
    )
    return Grid("Questions missing", ("concept", *TYPES), rows)


def _print(grids: list[Grid], *closing: str) -> None:
    from viva.reports.grids import grids_terminal

    click.echo(grids_terminal(grids, [escape_invisible(line) for line in closing]), nl=False)


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
    from viva.build.drafting import ask_and_keep
    from viva.build.reasoning.project import opened_project
    from viva.build.reasoning.prompt import bundled_instructions, read_instructions

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
    from viva.build.reasoning.project import opened_project

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
    from viva.build.reasoning.project import opened_project

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

    from viva.build.reasoning.export import AUDIT, EXEMPLARS, FILES, MANIFEST, TEST, export
    from viva.build.reasoning.project import opened_project
    from viva.build.staging import write_set
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
        f"{plural(made.manifest.test, 'question')} and {plural(made.manifest.exemplars, 'exemplar')} are in {out}, "
        f"{len(made.held):,} held back; fingerprint {made.manifest.fingerprint}; "
        f"examine with: viva run clrbench --data {out}{shots} --model ..."
    )
    return EXIT_OK


@click.group(name="clrbench", short_help="Questions with reasons, which experts approve.")
def clrbench_command() -> None:
    """Make an examination like CLR-Bench in the folder PROJECT, which holds everything and can be killed at any time.

    \b
    viva build clrbench graph PROJECT --toc "Operating Systems=os.txt"   topics, from tables of contents
    viva build clrbench sheet PROJECT                                    collection.csv, to be filled in
    viva build clrbench check PROJECT                                    find errors in it
    viva build clrbench coverage PROJECT --picture topics.svg            what is missing
    viva build clrbench draft PROJECT --model openai/NAME                rationales, drafted
    viva build clrbench review PROJECT                                   ... decided about, in the browser
    viva build clrbench approve PROJECT --write decisions.csv            ... or in a spreadsheet
    viva build clrbench export PROJECT --out SET
    viva run clrbench --data SET --model openai/NAME

    Exit codes: 0 all is well; 2 wrong use, or files that cannot be read; 3 something is wrong or missing; 4 the
    endpoint refuses key or model; 5 something cannot be written; 130 interrupted.
    """


for _command in (
    *(graph_command, sheet_command, check_command, coverage_command),
    *(draft_command, review_command, approve_command, export_command),
):
    clrbench_command.add_command(_command)
