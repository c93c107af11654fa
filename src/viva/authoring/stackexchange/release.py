"""The set of all that is approved: chosen, graded once more, written."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from viva.authoring.files import counted
from viva.errors import StorageError, VivaError

if TYPE_CHECKING:
    from datetime import date

    from viva.authoring.stackexchange.export import Chosen, Manifest
    from viva.authoring.stackexchange.project import Project, State
    from viva.benchmarks.custom.model import Problem


Held = list[tuple["State", str]]
"""Questions that are not in a set, and why."""


def refuse_others(out: Path) -> None:
    """A folder with a build.json of another kind keeps it."""
    from viva.authoring.stackexchange.pool import POOL
    from viva.benchmarks.infibench.built import MANIFEST, find_built

    if (out / POOL).exists() or ((out / MANIFEST).exists() and find_built(out) != out):
        raise VivaError(f"--out {out} holds a pool, a project or another build.json; name a folder of the set's own")


def chosen(project: Project, after: date | None, *, pilot: bool) -> tuple[list[State], Held]:
    """The questions of a set, and the others with the reason; for a pilot everything that can be asked."""
    from viva.authoring.stackexchange.decisions import MEANING
    from viva.authoring.stackexchange.project import barred

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


def graded(
    wanted: Sequence[State], notes: list[str], *, unsafe: bool
) -> tuple[list[State], list[tuple[State, Problem]]]:
    """Those whose examples score as they should, and the others with the first problem."""
    from viva.authoring.stackexchange.grading import grading_problems
    from viva.benchmarks.custom.examples import UNTRIED

    pairs = [(state.about, state.checked.question) for state in wanted]
    found = grading_problems([(about, own) for about, own in pairs if own is not None], notes, unsafe=unsafe)
    untried = sum(
        any(problem.text.startswith(UNTRIED) for problem in found.get(state.about.id, ())) for state in wanted
    )
    if untried:
        notes.append(f"viva: the examples of {counted(untried, 'question')} could not be graded here; see check")
    kept: list[State] = []
    failed: list[tuple[State, Problem]] = []
    for state in wanted:
        errors = [problem for problem in found.get(state.about.id, ()) if problem.severity == "error"]
        if errors:
            failed.append((state, errors[0]))
        else:
            kept.append(state)
    return kept, failed


def as_chosen(project: Project, state: State) -> Chosen:
    """A question as it enters the set: text, authors, who approved and who drafted it."""
    from viva.authoring.stackexchange.export import Chosen
    from viva.authoring.stackexchange.prompt import asked

    assert state.text is not None
    assert state.checked.question is not None
    drafted = project.drafts.get(asked(state.about))
    return Chosen(
        about=state.about,
        text=state.text,
        own=state.checked.question,
        authors=state.authors,
        approved_by=state.standing.approved_by,
        drafted_by=drafted.model if drafted and drafted.text else "",
    )


def write_set(out: Path, contents: Mapping[str, bytes], *, force: bool) -> None:
    """The set, whole or not at all."""
    from viva.authoring.stackexchange.export import files
    from viva.authoring.staging import staged
    from viva.benchmarks.infibench.built import MANIFEST

    with staged(out, files(), MANIFEST, force=force) as stage:
        for name, content in contents.items():
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())


def remember(project: Project, made: Manifest) -> None:
    """Which texts went into the set, so that `calibrate` can tell what changed since. Raises StorageError."""
    import msgspec

    from viva.authoring.stackexchange.project import EXPORTS, Exported

    line = msgspec.json.encode(Exported(made.fingerprint, made.pilot, made.texts)) + b"\n"
    try:
        with (project.path / EXPORTS).open("ab") as file:
            file.write(line)
    except OSError as problem:
        raise StorageError(f"cannot write {project.path / EXPORTS}: {problem.strerror or problem}") from None


def exposed(made: Manifest) -> list[str]:
    """Models that may have read some of the set."""
    return [
        f"{model} (cut-off {one.cutoff}) may have read {one.before:,} of the {made.questions:,} originals"
        for model, one in made.exposure.items()
        if one.before
    ]
