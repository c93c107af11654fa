"""`--beside`: which published rows stand in the tables of a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from viva.engine.folder import ExamRecord, RunRecord
from viva.errors import DataError
from viva.published import NEAREST, NONE, Neighbour, beside, neighbours
from viva.types import ExamSpec


def refuse_unknown(asked: str, specs: Iterable[ExamSpec]) -> None:
    """Refuse a name that no exam has a published row of, before hours are spent.

    Raises DataError with the names that come near in the last exam where any does: of several versions none is chosen.
    """
    sets = [found for spec in specs if (found := neighbours(spec))]
    for name in _names(asked):
        problem: DataError | None = None
        for everything in sets:
            try:
                beside(everything, name, None, "")
                break
            except DataError as unknown:
                problem = unknown if problem is None or "mean" in str(unknown) else problem
        else:
            raise problem or DataError(f"--beside {name!r}: nothing was published that compares with these questions")


def rows_beside(asked: str, exam: ExamRecord, run: RunRecord, score: float | None, model: str) -> tuple[Neighbour, ...]:
    """The published rows in one model's tables of an exam. A name that this exam lacks is another exam's.

    Beside a set of one's own there is none unless it is asked for: nobody published a figure of those questions.
    """
    if not _names(asked) and _of_ones_own(exam):
        return ()
    everything = neighbours(
        exam.spec,
        sample=exam.data is None,
        answers=exam.samples or run.samples,
        questions=exam.questions,
    )
    if not _names(asked):
        return beside(everything, asked, score, model)
    found = {one.model: one for name in _names(asked) for one in _known(everything, name)}
    return tuple(found.values())


def _of_ones_own(exam: ExamRecord) -> bool:
    """Whether the questions are those of a set that `viva build infibench export` wrote."""
    if exam.spec.benchmark != "infibench" or exam.data is None:
        return False
    from viva.benchmarks.infibench.built import find_built

    with contextlib.suppress(DataError):
        return find_built(Path(exam.data)) is not None
    return False


def unknown_notes(asked: str, exams: Iterable[tuple[str, ExamSpec]]) -> list[str]:
    """Which named rows an exam (label, settings) lacks; some other exam of the run has each of them."""
    notes: list[str] = []
    for label, spec in exams:
        everything = neighbours(spec)
        for name in _names(asked):
            try:
                beside(everything, name, None, "")
            except DataError as unknown:
                notes.append(f"{label}: {unknown}" + ("" if str(unknown).endswith("?") else "."))
        if _names(asked) and not everything:
            notes.append(f"{label}: nothing was published that compares with it, so --beside has no row to show.")
    return notes


def _known(everything: tuple[Neighbour, ...], name: str) -> Iterator[Neighbour]:
    try:
        yield from beside(everything, name, None, "")
    except DataError:
        return


def _names(asked: str) -> list[str]:
    return [] if asked.strip() in ("", NONE, NEAREST) else [name.strip() for name in asked.split(",") if name.strip()]
