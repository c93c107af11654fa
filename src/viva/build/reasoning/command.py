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

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from viva.build.drafting import DraftOptions, ask_and_keep, ending, model_and_sampling
from viva.build.files import content_of, decoded, replace_file, tidy
from viva.build.options import (
    SHOWN,
    Force,
    ListAll,
    ProjectPath,
    SetFolder,
    SetName,
    Told,
    list_first,
    print_tables,
    tell_more,
    tell_notes,
)
from viva.build.project import DecidingOptions, FileOptions, decide_by_file, serve_items
from viva.build.reasoning import coverage as coverages
from viva.build.reasoning import project as sets
from viva.build.reasoning import sheet as sheets
from viva.build.reasoning import topics
from viva.build.reasoning.coverage import Concept, Level, picture
from viva.build.reasoning.project import TOPICS, Project, opened_project, read_instructions
from viva.build.reasoning.sheet import TYPES
from viva.commands import command
from viva.errors import EXIT_INCOMPLETE, EXIT_OK, VivaError, flag, option
from viva.fields import note
from viva.files import shipped_text
from viva.render.charts import check_chart, save
from viva.runs.progress import say
from viva.visible import one_line, plural

Least = Annotated[Annotated[int, Meta(ge=1, le=100)], note("Questions of each type a concept.")]
Concepts = Annotated[Level, note("Which topics are concepts.")]


class GraphConfig(Struct, kw_only=True):
    """Make topics.csv of tables of contents (indented, numbered, or Markdown) and triples; without any, check it.

    Three levels: discipline, topic, subtopic. What a table of contents has below the third is left out.
    """

    project: ProjectPath
    tables: Annotated[
        tuple[str, ...],
        note("Table of contents; NAME: the discipline of all of it.", metavar="[NAME=]FILE", spelled=("--toc",)),
    ] = ()
    triples: Annotated[tuple[Path, ...], note("CSV, TSV or JSONL of head, has_subtopic, tail.", metavar="FILE")] = ()
    add: Annotated[bool, note("Add to the graph that PROJECT has.")] = False
    force: Annotated[bool, note("Replace the graph that PROJECT has.")] = False
    everything: ListAll = False


@command(GraphConfig, "action")
def graph(config: GraphConfig) -> int:
    """Make and check the topic graph."""
    path = config.project / TOPICS
    given = [_outlined(table) for table in config.tables] + [
        topics.read_triples(content_of(file), str(file)) for file in config.triples
    ]
    if path.exists() and given and not (config.add or config.force):
        raise VivaError(f"{path} is there already: {option('add')} to it, or replace it with {option('force')}")
    if not given and not path.exists():
        raise VivaError(
            f"what are the topics? {option('toc', 'FILE')} (a table of contents) or {option('triples', 'FILE')}"
        )
    earlier = [topics.read_triples(path.read_bytes(), str(path))] if path.exists() and not config.force else []
    graph = topics.merged([*earlier, *given])
    findings = topics.check(graph)
    wrong = [finding for finding in findings if finding.error]
    list_first(findings, everything=config.everything, file=sys.stderr)
    if wrong:
        saved = "nothing was written" if given else "mend topics.csv"
        say(f"viva: {plural(len(wrong), 'error')}; {saved}")
        return EXIT_INCOMPLETE
    if given:
        replace_file(path, topics.written_triples(graph))
    # The paper has 16 disciplines, 40 topics, 26 subtopics.
    rows = [
        (f"{level} ({name})", len(graph.at(level)))
        for level, name in enumerate(("disciplines", "topics", "subtopics"), 1)
    ]
    table = ("Topic graph", ("level", "topics"), (*rows, ("all", len(graph.names))))
    print_tables([table], [f"The topics are in {path}; next: viva build clrbench sheet {config.project}"])
    return EXIT_OK


def _outlined(table: str) -> topics.Graph:
    """Read the topic graph from an argument `FILE` or `NAME=FILE`."""
    name, _, rest = table.rpartition("=") if not Path(table).exists() else ("", "", table)
    contents = topics.outline(decoded(content_of(Path(rest)), rest)[0], tidy(name))
    notes = []
    if contents.left_out:
        first = ", ".join(dict.fromkeys(contents.left_out[:3]))
        notes.append(f"{plural(len(contents.left_out), 'heading')} that name no topic ({first}, ...)")
    if contents.too_deep:
        notes.append(f"{plural(contents.too_deep, 'entry', 'entries')} below the third level")
    if notes:
        tell_notes([f"{rest}: left out {' and '.join(notes)}"])
    return contents.graph


class SheetConfig(Struct, kw_only=True):
    """Write collection.csv with a row for every question still wanted, or add those rows to the one that is there.

    What people wrote is never changed: a refresh adds rows at the end, and ids where there are none.
    """

    project: Annotated[Path | None, note("The folder of the set that is made.", argument=True)] = None
    least: Least = 2
    level: Concepts = "leaf"
    example: Annotated[bool, note("Print a filled sheet instead: a question of each type.")] = False


@command(SheetConfig, "action")
def sheet(config: SheetConfig) -> int:
    """Write or refresh the collection sheet."""
    if config.example:
        print(shipped_text(__file__, "example.csv"), end="")
        return EXIT_OK
    if config.project is None:
        raise VivaError(f"which PROJECT? (or {option('example')})")
    opened = Project(config.project)
    concepts = coverages.coverage(
        opened.needed_graph(), opened.checked.questions if opened.sheet else [], config.level, config.least
    )
    there = opened.sheet.stubs if opened.sheet else Counter()
    stubs = [
        (concept.path, kind)
        for concept in concepts
        for kind, count in concept.missing.items()
        for _ in range(count - there[concept.path, kind])
    ]
    path = config.project / opened.sheet_name
    before = opened.read(opened.sheet_name)
    content = sheets.new_sheet(stubs) if opened.sheet is None else sheets.refreshed(opened.sheet, stubs)
    if content is not None:
        if before is not None and path.read_bytes() != before:
            raise VivaError(f"{path} was saved by somebody else just now; try again")
        replace_file(path, content)
    opened.instructions()
    print(f"{path}: {plural(len(stubs), 'row')} to fill in {'added' if before is not None else 'written'}; "
               f"`viva build clrbench sheet {flag('example')}` shows filled ones")  # fmt: skip
    return EXIT_OK


class CheckConfig(Struct, kw_only=True):
    """Check every row of the sheet: each problem with its cell and what to do. Exit code 3 where there are errors."""

    project: ProjectPath
    everything: ListAll = False


@command(CheckConfig, "action")
def check(config: CheckConfig) -> int:
    """Check the collection sheet."""
    opened = Project(config.project)
    checked = opened.checked
    if opened.graph is None:
        say(f"viva: {config.project} has no topics.csv, so topics are not looked up")
    ordered = sorted(checked.problems, key=lambda problem: not problem.error)
    list_first(list(map(str, ordered)), everything=config.everything)
    sheet = opened.sheet
    merged = f", {plural(sheet.merged, 'repeated row')} merged" if sheet and sheet.merged else ""
    warnings = len(checked.problems) - len(checked.errors)
    usable = f"{plural(len(checked.questions), 'question')} can be used, {plural(checked.empty, 'row')} to fill in"
    print(f"{usable}{merged}; {plural(len(checked.errors), 'error')}, {plural(warnings, 'warning')}")
    return EXIT_INCOMPLETE if checked.errors else EXIT_OK


class CoverageConfig(Struct, kw_only=True):
    """Say which concepts lack questions of which type, and draw the graph. Exit code 3 where something is missing."""

    project: ProjectPath
    least: Least = 2
    level: Concepts = "leaf"
    approved: Annotated[bool, note("Count only questions whose rationale is approved.")] = False
    chart: Annotated[
        Path | None, note("Draw the graph with its coverage: .svg, .png, .html or .json.", metavar="FILE")
    ] = None
    everything: ListAll = False


@command(CoverageConfig, "action")
def coverage(config: CoverageConfig) -> int:
    """Which topics lack questions."""
    check_chart(config.chart)
    opened = Project(config.project)
    graph = opened.needed_graph()
    questions = opened.checked.questions if opened.sheet else []
    if config.approved and opened.sheet:
        questions = [each.question for each in opened.texts() if each.state.status == "approved"]
    concepts = coverages.coverage(graph, questions, config.level, config.least)
    if config.chart:
        save(picture(graph, concepts, f"{config.project.resolve().name}: topics and questions"), config.chart)
    missing = [concept for concept in concepts if concept.missing]
    wanted = sum(bool(concept.wanted) for concept in concepts)
    tables = [_missing(missing if config.everything else missing[:SHOWN])] if missing else []
    total = sum(sum(concept.missing.values()) for concept in missing)
    covered = f"{wanted - len(missing):,} of {wanted:,} concepts have {config.least} questions of each type"
    print_tables(tables, [f"{covered}; {plural(total, 'question')} missing"])
    tell_more(len(missing), everything=config.everything)
    return EXIT_INCOMPLETE if missing else EXIT_OK


def _missing(missing: list[Concept]) -> Told:
    rows = [(" › ".join(concept.path), *map(concept.missing.get, TYPES)) for concept in missing]
    return "Questions missing", ("concept", *TYPES), rows


class DraftConfig(DraftOptions, kw_only=True):
    """Draft a rationale for every usable question of the sheet that has none, by PROJECT's instructions.toml.

    Replies are kept in drafts.jsonl as they come: interrupted or killed, the same command goes on, and asks nothing
    twice. A draft is a proposal: it enters no set before an expert approves it.
    """

    project: ProjectPath
    rejected: Annotated[bool, note("Also draft anew what experts rejected, with their remarks.")] = False


@command(DraftConfig, "action")
def draft(config: DraftConfig) -> int:
    """Let a model draft the rationales that are missing."""
    opened = opened_project(config.project)
    instructions = read_instructions(*opened.instructions())
    model, sampling = model_and_sampling(config)
    with opened.locked():
        requests = opened.requests(instructions, sampling, rejected=config.rejected)
        run, asked = ask_and_keep(opened, model, requests, config)
    opened = opened_project(config.project)
    questions = {question.asked: question for question in opened.checked.questions}
    replied = {questions[asked]: draft for asked, draft in opened.drafts.items() if asked in questions}
    doubts = [(question, draft.doubt) for question, draft in replied.items() if draft.doubt]
    for question, doubt in doubts[:SHOWN]:
        print(f"row {question.row}, {question.id}: the model doubts the answer: {one_line(doubt, 300)}")
    silent = sum(not draft.text and not draft.doubt for draft in replied.values())
    drafted = sum(bool(draft.text) for draft in replied.values())
    come_to = f"{drafted:,} questions have a draft, {len(doubts):,} are doubted, {silent:,} replies hold none"
    return ending(run, asked, come_to)


class ReviewConfig(DecidingOptions, kw_only=True):
    """Show questions with their rationales on a local page, to be edited, approved or rejected. Ends with Ctrl-C.

    A text that somebody edited comes up anew for the others when the page is started again.
    """


@command(ReviewConfig, "action")
def review(config: ReviewConfig) -> int:
    """Decide about rationales in the browser."""
    opened = opened_project(config.project)
    return serve_items(opened, opened.items(everything=config.everything), config)


class ApproveConfig(FileOptions, kw_only=True):
    """Take over decisions about rationales from a CSV, or --write one to be filled in.

    `approve` approves the text in the column rationale, `edit` changes the text and leaves it to be approved, `reject`
    rejects it. All rows are taken over, or none. Every decision is a line of reviews.jsonl, as from the review page.
    """


@command(ApproveConfig, "action")
def approve(config: ApproveConfig) -> int:
    """Decide about rationales in a spreadsheet."""
    return decide_by_file(Project, config)


class ExportConfig(Struct, kw_only=True):
    """Write test.jsonl, exemplars.jsonl, build.json and audit.jsonl: questions whose rationale is approved, no others.

    One question of each discipline and type becomes the exemplar: the marked one, else one drawn. What is held back is
    told with the reason.
    """

    project: ProjectPath
    out: SetFolder
    force: Force = False
    seed: Annotated[int, note("Draws exemplars where the sheet marks none.")] = 0
    name: SetName = ""
    everything: ListAll = False


@command(ExportConfig, "action")
def export(config: ExportConfig) -> int:
    """Write the set of all that is approved."""
    opened = opened_project(config.project)
    opened.needed_graph()
    made = sets.released(
        *opened.replayed(),
        opened.checked,
        name=config.name or config.project.resolve().name,
        seed=config.seed,
        sources=opened.sources(),
    )
    opened.release(made, config.out, force=config.force, everything=config.everything)
    shots = "" if made.manifest.exemplars else f" {flag('shots', '0')}"
    print(
        f"{plural(made.manifest.test, 'question')} and {plural(made.manifest.exemplars, 'exemplar')} are "
        f"in {config.out}, {len(made.held):,} held back; fingerprint {made.manifest.fingerprint}; "
        f"examine with: viva run clrbench {flag('data')} {config.out}{shots} {flag('model')} ..."
    )
    return EXIT_OK
