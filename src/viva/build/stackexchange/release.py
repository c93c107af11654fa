"""The set of all that is approved: chosen, graded once more, written.

Graded for real: examples, empty answers, tests in the sandbox.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.benchmarks.custom.examples import UNTRIED, check_examples
from viva.benchmarks.custom.questionfiles import own_items
from viva.benchmarks.custom.questionmodel import OwnQuestion, Problem
from viva.benchmarks.infibench.caseset import MANIFEST, find_built
from viva.benchmarks.rubric_exam import RubricExam
from viva.build.files import counted, write_set
from viva.build.stackexchange.decisions import MEANING, State
from viva.build.stackexchange.export import Chosen, Manifest, export, files
from viva.build.stackexchange.kitchecks import graded_problems, tried_texts
from viva.build.stackexchange.pool import POOL, PoolQuestion
from viva.build.stackexchange.project import Exported, Project, barred
from viva.errors import VivaError
from viva.prompting import Templates
from viva.runs.checks import grader
from viva.types import ExamSpec
from viva.version import __version__
from viva.visible import plural

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
    pairs = [(state.about, state.checked.question) for state in wanted]
    found = grading_problems([(about, own) for about, own in pairs if own is not None], notes, unsafe=unsafe)
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
