"""`viva build clrbench`, its first half: topics, the collection sheet, checks, coverage."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from viva.authoring.files import content_of, counted
from viva.cli.build.arguments import SHOWN, all_option, project_argument, tell_more
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError
from viva.visible import escape_invisible, one_line

if TYPE_CHECKING:
    from viva.authoring.reasoning.checks import Problem
    from viva.authoring.reasoning.coverage import Concept
    from viva.authoring.reasoning.topics import Finding, Graph
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
    from viva.authoring.files import replace_file
    from viva.authoring.reasoning.project import TOPICS
    from viva.authoring.reasoning.topics import check, merged, read_triples, written_triples

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
        click.echo(f"viva: {counted(len(wrong), 'error')}; {saved}", err=True)
        return EXIT_INCOMPLETE
    if given:
        replace_file(path, written_triples(graph))
    _print([_level_grid(graph)], f"The topics are in {path}; next: viva build clrbench sheet {project}")
    return EXIT_OK


def _outlined(table: str) -> Graph:
    """The graph of `FILE` or `NAME=FILE`."""
    from viva.authoring.reasoning.toc import outline, read_contents
    from viva.authoring.spreadsheet import tidy

    name, _, rest = table.rpartition("=") if not Path(table).exists() else ("", "", table)
    found = outline(read_contents(content_of(Path(rest)), rest), tidy(name))
    notes = []
    if found.left_out:
        first = ", ".join(dict.fromkeys(found.left_out[:3]))
        notes.append(f"{counted(len(found.left_out), 'heading')} that name no topic ({first}, ...)")
    if found.too_deep:
        notes.append(f"{counted(found.too_deep, 'entry', 'entries')} below the third level")
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

        click.echo((files("viva.authoring.reasoning") / "example.csv").read_text(encoding="utf-8"), nl=False)
        return EXIT_OK
    if project is None:
        raise VivaError("which PROJECT? (or --example)")
    from viva.authoring.files import replace_file
    from viva.authoring.reasoning.coverage import coverage
    from viva.authoring.reasoning.project import Project
    from viva.authoring.reasoning.prompt import bundled_instructions
    from viva.authoring.reasoning.sheet import new_sheet, refreshed, stub_places

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
    click.echo(f"{path}: {counted(len(stubs), 'row')} to fill in {'added' if before is not None else 'written'}; "
               f"`viva build clrbench sheet --example` shows filled ones")  # fmt: skip
    return EXIT_OK


@click.command(name="check", short_help="Check the collection sheet.")
@project_argument
@all_option
def check_command(project: Path, *, everything: bool) -> int:
    """Check every row of the sheet: each problem with its cell and what to do. Exit code 3 where there are errors."""
    from viva.authoring.reasoning.project import Project

    opened = Project(project)
    checked = opened.checked
    if opened.graph is None:
        click.echo(f"viva: {project} has no topics.csv, so topics are not looked up", err=True)
    _tell_problems(checked.problems, everything=everything)
    sheet = opened.sheet
    merged = f", {counted(sheet.merged, 'repeated row')} merged" if sheet and sheet.merged else ""
    warnings = len(checked.problems) - len(checked.errors)
    usable = f"{counted(len(checked.questions), 'question')} can be used, {counted(checked.empty, 'row')} to fill in"
    click.echo(f"{usable}{merged}; {counted(len(checked.errors), 'error')}, {counted(warnings, 'warning')}")
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
    from viva.authoring.files import replace_file
    from viva.authoring.reasoning.coverage import coverage
    from viva.authoring.reasoning.picture import picture as draw
    from viva.authoring.reasoning.project import Project

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
    closing = f"{covered}; {counted(total, 'question')} missing"
    _print(grids, closing)
    tell_more(len(missing), everything=everything)
    return EXIT_INCOMPLETE if missing else EXIT_OK


def _missing_grid(missing: list[Concept]) -> Grid:
    from viva.authoring.reasoning.questions import TYPES
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
