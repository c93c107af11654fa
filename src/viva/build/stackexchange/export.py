"""Write the set: a question file per area, attribution.csv (authors to credit), the audit trail, and build.json.

A question file has the YAML tree of each question.yaml, with the set's tags. It is read back and compared: if it
differs from what the experts approved, no set is written.

Before that, the chosen questions are graded once more: examples, empty answers, tests in the sandbox.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date
from itertools import chain
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
from viva.build.files import counted, unix_lines
from viva.build.options import counts_text
from viva.build.project import Held, Release
from viva.build.stackexchange.coverage import MEANING, Exposure, State, exposed, holders
from viva.build.stackexchange.kit import accepted_text, answer_url, url
from viva.build.stackexchange.kitchecks import at, graded_problems, metrics_of, tried_texts
from viva.build.stackexchange.pool import POOL, PoolQuestion
from viva.build.stackexchange.project import Project, key_of
from viva.errors import DataError, VivaError
from viva.io.tables import CsvText
from viva.prompting import Templates
from viva.runs.checks import grader
from viva.types import ExamSpec
from viva.version import __version__
from viva.visible import plural

_WIDTH = 1_000_000


def question_node(text: str, tags: Mapping[str, str]) -> Node:
    """Return the node of a question.yaml's question, its tags replaced by these."""
    node = at(read_yaml(unix_lines(text).removeprefix("\ufeff")), "questions", 0)
    assert isinstance(node, Entries)
    given = _mapping({name: _text(value) for name, value in tags.items()})
    return Entries(tuple((key, given if key.value == "tags" else value) for key, value in node.entries), 0, 0)


def emit(title: str, questions: Sequence[Node], *, blocks: bool = True) -> bytes:
    """Return a question file as YAML. Without `blocks` every text is in quotes: less readable, but safe for any
    text.
    """
    import yaml

    root = _mapping({"title": _text(title), "questions": Listing(tuple(questions), 0, 0)})
    events = [yaml.StreamStartEvent(), yaml.DocumentStartEvent(explicit=False), *_events(root, blocks)]
    events += [yaml.DocumentEndEvent(explicit=False), yaml.StreamEndEvent()]
    written: str = yaml.emit(events, allow_unicode=True, width=_WIDTH)
    return written.encode("utf-8")


def misread(content: bytes, wanted: Sequence[OwnQuestion], name: str) -> str:
    """Return how a file, read back, differs from these questions and tags; "" if it does not."""
    if len(content) > MAX_BYTES:
        return f"{name} would have {len(content):,} bytes; a question file has at most {MAX_BYTES:,}"
    read = read_content(content, Path(name))
    if read.errors:
        return f"{name} cannot be written so that it is read as it was meant: {read.errors[0]}"
    if len(read.questions) != len(wanted):
        return f"{name} would hold {len(read.questions):,} of {len(wanted):,} questions"
    other = next(
        (own for question, own in zip(read.questions, wanted, strict=True) if _bare(question) != _bare(own)), None
    )
    return f"{other.id} cannot be written so that it is read as it was meant; simplify its YAML" if other else ""


def _bare(own: OwnQuestion) -> OwnQuestion:
    """Return a question without line numbers, for comparison."""
    examples = tuple(msgspec.structs.replace(example, line=0) for example in own.examples)
    return msgspec.structs.replace(own, line=0, examples=examples)


def _text(text: str) -> Scalar:
    return Scalar(text, 0, 0, quoted=True, block="\n" in text)


def _mapping(entries: Mapping[str, Node]) -> Entries:
    return Entries(tuple((Scalar(name, 0, 0), node) for name, node in entries.items()), 0, 0)


def _events(node: Node, blocks: bool) -> Iterator[Any]:
    """Yield the tree as PyYAML's events. Texts are always quoted or blocks; other scalars are plain."""
    import yaml

    if isinstance(node, Scalar):
        style = "|" if blocks and node.block and node.value.strip() else '"' if node.quoted or node.block else None
        yield yaml.ScalarEvent(None, None, (True, True), "null" if node.null else node.value, style=style)
        return
    kind, parts = ("Sequence", node.items) if isinstance(node, Listing) else ("Mapping", tuple(chain(*node.entries)))
    yield getattr(yaml, f"{kind}StartEvent")(None, None, implicit=True, flow_style=False)
    for part in parts:
        yield from _events(part, blocks)
    yield getattr(yaml, f"{kind}EndEvent")()


ATTRIBUTION = "attribution.csv"
OTHER = "other.yaml"
LICENCES = ((date(2011, 4, 8), "CC BY-SA 2.5"), (date(2018, 5, 2), "CC BY-SA 3.0"))
"""Stack Overflow's licences of posts before these days; later ones are under CC BY-SA 4.0."""
LICENCE = "CC BY-SA 4.0"
COLUMNS = ("question", "what", "post", "address", "created", "licence", "use")


class Manifest(Struct, kw_only=True):
    """All of build.json: nothing in it depends on when and where the set was made."""

    kind: str = KIND
    format: int = FORMAT
    viva: str = __version__
    name: str
    pilot: bool
    """Whether it has questions that are not approved: for calibration, not for publication."""
    questions: int
    areas: dict[str, int]
    languages: dict[str, int]
    metrics: dict[str, int]
    types: dict[str, int]
    quotas: dict[str, int]
    """Language → questions wanted."""
    held_back: dict[str, int]
    """Reason → number of questions of the pool that are held back."""
    after: str
    """Only questions asked from this day on."""
    exposure: dict[str, Exposure]
    """Model → how much of the set it may have read in training."""
    authors: list[str]
    reviewers: list[str]
    drafted_by: dict[str, int]
    licence: str = LICENCE
    files: tuple[str, ...]
    urls: dict[str, str]
    texts: dict[str, str]
    """Question → hash of the approved text."""
    sources: dict[str, str]
    """File of the project → SHA-256."""
    fingerprint: str
    """Hash of the question files (twelve hexadecimal digits), as in run.json."""


def files() -> tuple[str, ...]:
    """Return the names of all question files that a set may have."""
    return (*[_file(area.name) for area in areas()], OTHER)


def _file(area: str) -> str:
    """Return the name of an area's question file: `DS & ML` is ds-ml.yaml."""
    slug = "-".join("".join(c if c.isascii() and c.isalnum() else " " for c in area.casefold()).split())
    return f"{slug}.yaml" if area in {known.name for known in areas()} else OTHER


def tags_of(state: State) -> dict[str, str]:
    """Return a question's tags in the set: the paper's, its date, and further ones by its author."""
    own = _own(state)
    known = {
        "area": state.about.area,
        "language": state.about.language,
        "type": own.tags.get("type", ""),
        "metric": " + ".join(metrics_of(own.rubric)),
        "created": state.about.created[:10],
    }
    return known | {name: value for name, value in own.tags.items() if name not in known and name != "author"}


def _own(state: State) -> OwnQuestion:
    """Return the parsed question of a state that enters the set."""
    assert state.checked.question is not None
    return state.checked.question


def question_files(chosen: Iterable[State], name: str) -> dict[str, bytes]:
    """Return the question files of a set called `name`. Raises DataError for a question that cannot be written."""
    groups: dict[str, list[State]] = {file: [] for file in files()}
    for state in chosen:
        groups[_file(state.about.area)].append(state)
    written: dict[str, bytes] = {}
    for file, group in groups.items():
        if not group:
            continue
        wanted = [msgspec.structs.replace(_own(state), tags=tags_of(state)) for state in group]
        nodes = [question_node(state.text or "", tags_of(state)) for state in group]
        title = f"{name}: {group[0].about.area if file != OTHER else 'other areas'}"
        for blocks in (True, False):
            written[file] = emit(title, nodes, blocks=blocks)
            problem = misread(written[file], wanted, file)
            if not problem:
                break
        else:
            raise DataError(problem)
    return written


def licence_of(created: str) -> str:
    """Return the licence of a post by its date."""
    day = date.fromisoformat(created[:10])
    return next((name for last, name in LICENCES if day < last), LICENCE)


def _attribution(chosen: Iterable[State]) -> bytes:
    """Return attribution.csv: one row per post used in the set. The page at the URL names the post's author."""
    table = CsvText(COLUMNS)
    for state in chosen:
        about = state.about
        table.add((state.id, "question", about.id, url(about), *_posted(about.created), "paraphrased"))
        for answer in about.answers:
            if answer.id == about.accepted and accepted_text(about):
                row = (state.id, "answer", answer.id, answer_url(answer.id), *_posted(answer.created))
                table.add((*row, "adapted: criteria and example answers"))
    return table.text().encode()


def _posted(created: str) -> tuple[str, str]:
    return created[:10], licence_of(created)


FAILED = "it fails its own examples"


def released(
    project: Project,
    out: Path,
    name: str,
    *,
    pilot: bool,
    after: date | None,
    cutoffs: Mapping[str, date],
    unsafe: bool,
) -> Release[Manifest]:
    """Return the set of approved questions; `pilot`: others as well; `after`: only those asked from that day on.

    `out` is the folder that it will be written to. Raises VivaError.
    """
    if (out / POOL).exists() or ((out / MANIFEST).exists() and find_built(out) != out):
        raise VivaError(
            f"{out} holds a pool, a project or another build.json; name a folder of the set's own", field="out"
        )
    wanted, held = _chosen(project, after, pilot=pilot)
    notes: list[str] = []
    wanted, failed = _graded(wanted, notes, unsafe=unsafe)
    held += [(state.id, f"{FAILED}: {problem.where}: {problem.text}") for state, problem in failed]
    held_back = counted(why.partition(":")[0] for _, why in held)
    if not wanted:
        raise DataError(f"there is nothing to export ({counts_text(held_back) or 'the pool is empty'})")
    called = name or project.path.resolve().name
    written = question_files(wanted, called)
    tags = [tags_of(state) for state in wanted]
    drafts = [project.draft_of(state.about) for state in wanted]
    made = Manifest(
        name=called,
        pilot=pilot,
        questions=len(wanted),
        areas=counted(tag["area"] for tag in tags),
        languages=counted(tag["language"] for tag in tags),
        metrics=counted(tag["metric"] for tag in tags),
        types=counted(tag["type"] for tag in tags),
        quotas=project.quotas,
        held_back=held_back,
        after=after.isoformat() if after else "",
        exposure=exposed((state.about for state in wanted), cutoffs),
        authors=sorted({name for state in wanted for name in state.authors}),
        reviewers=sorted({name for state in wanted for name in state.standing.approved_by}),
        drafted_by=counted((draft and draft.model) or "experts" for draft in drafts),
        files=tuple(written),
        urls={state.id: url(state.about) for state in wanted},
        texts={state.id: key_of(state) for state in wanted},
        sources=project.sources(),
        fingerprint=fingerprint(written.values()),
    )
    notes += [
        f"{model} (cut-off {exposure.cutoff}) may have read {exposure.before:,} of the {made.questions:,} originals"
        for model, exposure in made.exposure.items()
        if exposure.before
    ]
    return Release(held=held, manifest=made, contents={**written, ATTRIBUTION: _attribution(wanted)}, notes=notes)


def _chosen(project: Project, after: date | None, *, pilot: bool) -> tuple[list[State], Held]:
    """Return the questions of the set (for a pilot, all that can be asked), and the others with reasons."""
    states = project.states()
    placed = holders(project.places(states, after))
    wanted: list[State] = []
    held: Held = []
    for state in states:
        why = state.barred(after)
        able = state.checked.question is not None and state.status in ("approved", "waiting", "disputed")
        if why:
            held.append((state.id, why))
        elif (able and pilot) or (state.status == "approved" and state.about.id in placed):
            wanted.append(state)
        elif state.status == "approved":
            held.append((state.id, "beyond the quota"))
        else:
            held.append((state.id, MEANING[state.status]))
    return wanted, held


def _graded(
    wanted: Sequence[State], notes: list[str], *, unsafe: bool
) -> tuple[list[State], list[tuple[State, Problem]]]:
    """Return the questions whose examples score as they should, and the others with their first error."""
    asked = [(state.about, own) for state in wanted if (own := state.checked.question) is not None]
    problems_of = grading_problems(asked, notes, unsafe=unsafe)
    untried = sum(
        any(problem.text.startswith(UNTRIED) for problem in problems_of.get(state.about.id, ())) for state in wanted
    )
    if untried:
        notes.append(f"viva: the examples of {plural(untried, 'question')} could not be graded here; see check")
    errors = {
        identity: [problem for problem in problems if problem.severity == "error"]
        for identity, problems in problems_of.items()
    }
    failed = [(state, wrong[0]) for state in wanted if (wrong := errors.get(state.about.id))]
    return [state for state in wanted if not errors.get(state.about.id)], failed


Placed = tuple[PoolQuestion, OwnQuestion]


def grading_problems(
    questions: Sequence[Placed], notes: list[str], *, unsafe: bool = False
) -> dict[int, list[Problem]]:
    """Grade examples and empty answers; returns Stack Overflow id → problems.

    All programs run once, in one sandbox. Without a sandbox, `notes` says so and each such question has a warning.
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
