"""The set: a question file an area, who is to be named (attribution.csv), the audit trail, and build.json.

A question file is the tree of each question.yaml, with the tags of a set, written as YAML. It is read again and
compared: a set says what its experts approved, or is not written.

Before it is written, what is chosen is graded once more, for real: examples, empty answers, tests in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from viva.benchmarks.basics import fingerprint
from viva.benchmarks.custom.examples import UNTRIED, check_examples
from viva.benchmarks.custom.positions import Listing, Node, Scalar, read_yaml
from viva.benchmarks.custom.positions import Mapping as Entries
from viva.benchmarks.custom.questionfiles import own_items
from viva.benchmarks.custom.questionloading import MAX_BYTES, read_content
from viva.benchmarks.custom.questionmodel import OwnQuestion, Problem
from viva.benchmarks.infibench.cases import areas
from viva.benchmarks.infibench.caseset import FORMAT, KIND, MANIFEST, find_built
from viva.benchmarks.rubric_exam import RubricExam
from viva.build.files import counted, readable_json, write_set
from viva.build.options import counts_text
from viva.build.stackexchange.coverage import MEANING, State, created, exposed
from viva.build.stackexchange.kit import accepted_text, answer_url, digest, question_id, url
from viva.build.stackexchange.kitchecks import at, graded_problems, metrics_of, tried_texts
from viva.build.stackexchange.pool import POOL, PoolQuestion
from viva.build.stackexchange.project import Exported, Project, barred
from viva.errors import DataError, VivaError
from viva.io.tables import CsvText
from viva.prompting import Templates
from viva.runs.checks import grader
from viva.types import ExamSpec
from viva.version import __version__
from viva.visible import plural

_WIDTH = 1_000_000


def question_node(text: str, tags: Mapping[str, str]) -> Node:
    """Return the question of a question.yaml, with these tags in place of its own."""
    node = at(read_yaml(text.replace("\r\n", "\n").replace("\r", "\n").removeprefix("\ufeff")), "questions", 0)
    assert isinstance(node, Entries)
    given = _mapping({name: _text(value) for name, value in tags.items()})
    return Entries(tuple((key, given if key.value == "tags" else value) for key, value in node.entries), 0, 0)


def emit(title: str, questions: Sequence[Node], *, blocks: bool = True) -> bytes:
    """Return a question file as YAML. Without `blocks` every text is in quotes: less readable, and right for any
    text.
    """
    import yaml

    root = _mapping({"title": _text(title), "questions": Listing(tuple(questions), 0, 0)})
    events = [yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False), *_events(root, blocks)]
    events += [yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent()]
    written: str = yaml.emit(events, allow_unicode=True, width=_WIDTH)
    return written.encode("utf-8")


def verify(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> None:
    """Raise DataError unless the file reads as these questions, tags included."""
    if len(content) > MAX_BYTES:
        raise DataError(f"{name} would have {len(content):,} bytes; a question file has at most {MAX_BYTES:,}")
    read = read_content(content, Path(name))
    if read.errors:
        raise DataError(f"{name} cannot be written so that it is read as it was meant: {read.errors[0]}")
    if len(read.questions) != len(wanted):
        raise DataError(f"{name} would hold {len(read.questions):,} of {len(wanted):,} questions")
    for one, other in zip(read.questions, wanted, strict=True):
        if _bare(one) != _bare(other):
            raise DataError(f"{other.id} cannot be written so that it is read as it was meant; simplify its YAML")


def reads_as(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> bool:
    """Return whether `verify` is content."""
    try:
        verify(content, wanted, name)
    except DataError:
        return False
    return True


def _bare(own: OwnQuestion) -> OwnQuestion:
    """Return a question without the lines that it stands in."""
    examples = tuple(msgspec.structs.replace(example, line=0) for example in own.examples)
    return msgspec.structs.replace(own, line=0, examples=examples)


def _text(text: str) -> Scalar:
    return Scalar(text, 0, 0, quoted=True, block="\n" in text)


def _mapping(entries: Mapping[str, Node]) -> Entries:
    return Entries(tuple((Scalar(name, 0, 0), node) for name, node in entries.items()), 0, 0)


def _events(node: Node, blocks: bool) -> Iterator[Any]:
    """Yield the tree as PyYAML's events. A text is quoted or a block, whatever it looks like; the rest is plain."""
    import yaml

    if isinstance(node, Scalar):
        if node.null:
            yield yaml.ScalarEvent(None, None, (True, True), "null")
        elif blocks and node.block and node.value.strip():
            yield yaml.ScalarEvent(None, None, (True, True), node.value, style="|")
        else:
            yield yaml.ScalarEvent(
                None, None, (True, True), node.value, style='"' if node.quoted or node.block else None
            )
    elif isinstance(node, Listing):
        yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
        for item in node.items:
            yield from _events(item, blocks)
        yield yaml.SequenceEndEvent()
    else:
        yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
        for name, value in node.entries:
            yield from _events(name, blocks)
            yield from _events(value, blocks)
        yield yaml.MappingEndEvent()


ATTRIBUTION, AUDIT = "attribution.csv", "audit.jsonl"
OTHER = "other.yaml"
LICENCES = ((date(2011, 4, 8), "CC BY-SA 2.5"), (date(2018, 5, 2), "CC BY-SA 3.0"))
"""Stack Overflow's licence of what was posted before a day; CC BY-SA 4.0 after them."""
LICENCE = "CC BY-SA 4.0"
COLUMNS = ("question", "what", "post", "address", "created", "licence", "use")


class Chosen(Struct, frozen=True, kw_only=True):
    """A question that enters the set: its file's text as it was approved, and as it is read."""

    about: PoolQuestion
    text: str
    own: OwnQuestion
    authors: tuple[str, ...]
    approved_by: tuple[str, ...]
    drafted_by: str = ""
    """The model whose draft its prompt began as."""


class Exposure(Struct, frozen=True):
    """How much of the set a model may have read: questions asked up to its cut-off, and after it."""

    cutoff: str
    before: int
    after: int


class Manifest(Struct, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    kind: str = KIND
    format: int = FORMAT
    viva: str
    name: str
    pilot: bool
    """Whether questions are in it that nobody approved yet: for calibration, not for publication."""
    questions: int = 0
    areas: dict[str, int] = {}
    languages: dict[str, int] = {}
    metrics: dict[str, int] = {}
    types: dict[str, int] = {}
    quotas: dict[str, int]
    """Language → questions wanted."""
    held_back: dict[str, int]
    """Why questions of the pool are not in it → how many."""
    after: str = ""
    """Only questions asked from this day on."""
    exposure: dict[str, Exposure] = {}
    """Model → how much of the set it may have read in training."""
    authors: list[str] = []
    reviewers: list[str] = []
    drafted_by: dict[str, int] = {}
    licence: str = LICENCE
    files: tuple[str, ...] = ()
    urls: dict[str, str] = {}
    texts: dict[str, str] = {}
    """Question → digits of the text that was approved."""
    sources: dict[str, str]
    """File of the project → SHA-256."""
    fingerprint: str = ""
    """Twelve hexadecimal digits over the question files: the one that runs have."""


def files() -> tuple[str, ...]:
    """Return all that a set may consist of."""
    return (MANIFEST, *[_file(area.name) for area in areas()], OTHER, ATTRIBUTION, AUDIT)


def _file(area: str) -> str:
    """Return the question file of an area: `DS & ML` is ds-ml.yaml."""
    slug = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in area.casefold()).split())
    return f"{slug}.yaml" if area in {known.name for known in areas()} else OTHER


def tags_of(one: Chosen) -> dict[str, str]:
    """Return the tags of a question of the set: the paper's, its date, and what its author added."""
    known = {
        "area": one.about.area,
        "language": one.about.language,
        "type": one.own.tags.get("type", ""),
        "metric": " + ".join(metrics_of(one.own.rubric)),
        "created": one.about.created[:10],
    }
    return known | {name: value for name, value in one.own.tags.items() if name not in known and name != "author"}


def export(chosen: Sequence[Chosen], audit: bytes, begun: Manifest, cutoffs: Mapping[str, date]) -> dict[str, bytes]:
    """Return the set's files by name; `begun` says what its questions do not.

    Raises DataError where nothing is chosen, or a question cannot be written.
    """
    if not chosen:
        raise DataError(f"there is nothing to export ({counts_text(begun.held_back) or 'the pool is empty'})")
    groups: dict[str, list[Chosen]] = {}
    for one in chosen:
        groups.setdefault(_file(one.about.area), []).append(one)
    written: dict[str, bytes] = {}
    for name in (name for name in files() if name in groups):
        group = groups[name]
        wanted = [msgspec.structs.replace(one.own, tags=tags_of(one)) for one in group]
        nodes = [question_node(one.text, tags_of(one)) for one in group]
        title = f"{begun.name}: {group[0].about.area if name != OTHER else 'other areas'}"
        written[name] = emit(title, nodes)
        if not reads_as(written[name], wanted, name):
            written[name] = emit(title, nodes, blocks=False)
            verify(written[name], wanted, name)
    manifest = _finished(begun, chosen, written, cutoffs)
    return {
        **written,
        ATTRIBUTION: _attribution(chosen),
        AUDIT: audit,
        MANIFEST: readable_json(manifest),
    }


def _finished(
    begun: Manifest, chosen: Sequence[Chosen], written: Mapping[str, bytes], cutoffs: Mapping[str, date]
) -> Manifest:
    """Return the manifest with what the questions say."""
    tags = [tags_of(one) for one in chosen]
    days = {one.about.id: created(one.about.created) for one in chosen}
    exposure = {
        model: Exposure(cutoffs[model].isoformat(), len(old), len(days) - len(old))
        for model, old in exposed(days, cutoffs).items()
    }
    return msgspec.structs.replace(
        begun,
        questions=len(chosen),
        areas=counted(tag["area"] for tag in tags),
        languages=counted(tag["language"] for tag in tags),
        metrics=counted(tag["metric"] for tag in tags),
        types=counted(tag["type"] for tag in tags),
        exposure=exposure,
        authors=sorted({name for one in chosen for name in one.authors}),
        reviewers=sorted({name for one in chosen for name in one.approved_by}),
        drafted_by=counted(one.drafted_by or "experts" for one in chosen),
        files=tuple(written),
        urls={question_id(one.about): url(one.about) for one in chosen},
        texts={question_id(one.about): digest(question_id(one.about), one.text) for one in chosen},
        fingerprint=fingerprint(written.values()),
    )


def licence_of(created: str) -> str:
    """The licence of a post by the day it was posted."""
    day = date.fromisoformat(created[:10])
    return next((name for last, name in LICENCES if day < last), LICENCE)


def _attribution(chosen: Sequence[Chosen]) -> bytes:
    """Return a row a post that something of is in the set. Its page, under the address, names who wrote it."""
    table = CsvText(COLUMNS)
    for one in chosen:
        about = one.about
        row = (question_id(about), "question", about.id, url(about), about.created[:10], licence_of(about.created))
        table.add((*row, "paraphrased"))
        for answer in about.answers:
            if answer.id == about.accepted and accepted_text(about):
                posted = (answer.created[:10], licence_of(answer.created))
                row = (question_id(about), "answer", answer.id, answer_url(answer.id), *posted)
                table.add((*row, "adapted: criteria and example answers"))
    return table.text().encode()


Held = list[tuple[State, str]]
"""Questions that are not in a set, and why."""


class Released(Struct, frozen=True, kw_only=True):
    """What was written: the questions of the set, the others with the reason, and how many failed their examples."""

    questions: int
    held: Held
    failed: int
    manifest: Manifest
    notes: list[str]


def release(
    project: Project,
    out: Path,
    name: str,
    *,
    pilot: bool,
    after: date | None,
    cutoffs: Mapping[str, date],
    unsafe: bool,
    force: bool,
) -> Released:
    """Write the set of what is approved; `pilot`: also of what nobody approved; `after`: asked from that day on.

    Raises VivaError, StorageError.
    """
    if (out / POOL).exists() or ((out / MANIFEST).exists() and find_built(out) != out):
        raise VivaError(
            f"{out} holds a pool, a project or another build.json; name a folder of the set's own", field="out"
        )
    wanted, held = _chosen(project, after, pilot=pilot)
    notes: list[str] = []
    wanted, failed = _graded(wanted, notes, unsafe=unsafe)
    held += [(state, f"it fails its own examples: {problem.where}: {problem.text}") for state, problem in failed]
    begun = Manifest(
        viva=__version__,
        name=name or project.path.resolve().name,
        pilot=pilot,
        quotas=project.quotas,
        held_back=counted(why.partition(":")[0] for _, why in held),
        after=after.isoformat() if after else "",
        sources=project.sources(),
    )
    trail = project.read(project.log.path.name) or b""
    contents = export([_as_chosen(project, state) for state in wanted], trail, begun, cutoffs)
    write_set(out, contents, files(), MANIFEST, force=force)
    made = msgspec.json.decode(contents[MANIFEST], type=Manifest)
    project.remember(Exported(made.fingerprint, made.pilot, made.texts))
    notes += [
        f"{model} (cut-off {one.cutoff}) may have read {one.before:,} of the {made.questions:,} originals"
        for model, one in made.exposure.items()
        if one.before
    ]
    return Released(questions=len(wanted), held=held, failed=len(failed), manifest=made, notes=notes)


def _chosen(project: Project, after: date | None, *, pilot: bool) -> tuple[list[State], Held]:
    """Return the questions of a set, and the others with the reason; for a pilot everything that can be asked."""
    states = project.states()
    holders = set(project.places(states, after).holders)
    wanted: list[State] = []
    held: Held = []
    for state in states:
        why = barred(state, after)
        able = state.checked.question is not None and state.status in ("approved", "waiting", "disputed")
        if why:
            held.append((state, why))
        elif (able and pilot) or (state.status == "approved" and state.about.id in holders):
            wanted.append(state)
        elif state.status == "approved":
            held.append((state, "beyond the quota"))
        else:
            held.append((state, MEANING[state.status]))
    return wanted, held


def _graded(
    wanted: Sequence[State], notes: list[str], *, unsafe: bool
) -> tuple[list[State], list[tuple[State, Problem]]]:
    """Return those whose examples score as they should, and the others with the first problem."""
    asked = [(state.about, own) for state in wanted if (own := state.checked.question) is not None]
    found = grading_problems(asked, notes, unsafe=unsafe)
    untried = sum(
        any(problem.text.startswith(UNTRIED) for problem in found.get(state.about.id, ())) for state in wanted
    )
    if untried:
        notes.append(f"viva: the examples of {plural(untried, 'question')} could not be graded here; see check")
    kept: list[State] = []
    failed: list[tuple[State, Problem]] = []
    for state in wanted:
        errors = [problem for problem in found.get(state.about.id, ()) if problem.severity == "error"]
        if errors:
            failed.append((state, errors[0]))
        else:
            kept.append(state)
    return kept, failed


def _as_chosen(project: Project, state: State) -> Chosen:
    """Return a question as it enters the set: text, authors, who approved and who drafted it."""
    assert state.text is not None
    assert state.checked.question is not None
    drafted = project.draft_of(state.about)
    return Chosen(
        about=state.about,
        text=state.text,
        own=state.checked.question,
        authors=state.authors,
        approved_by=state.standing.approved_by,
        drafted_by=drafted.model if drafted else "",
    )


Placed = tuple[PoolQuestion, OwnQuestion]


def grading_problems(
    questions: Sequence[Placed], notes: list[str], *, unsafe: bool = False
) -> dict[int, list[Problem]]:
    """Return question (its number) → what grading its examples and empty answers tells; none where all is well.

    All programs run once, in one sandbox. Where there is none, `notes` says so and each such question has a warning.
    """
    exam = RubricExam(
        ExamSpec(benchmark="infibench"),
        own_items([own for _, own in questions], ""),
        fingerprint="",
        templates=Templates({}),
    )
    answers = ((own, text) for about, own in questions if own.rubric.tests for text in tried_texts(about, own))
    grade = grader(exam, answers, notes, unsafe=unsafe, announced=True)
    return {about.id: [*check_examples(own, grade), *graded_problems(about, own, grade)] for about, own in questions}
