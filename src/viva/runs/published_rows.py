"""`--published-rows`: which published rows stand in the tables of a run.

None stand beside the bundled samples, whose questions are Viva's own, and beside a baseline only published baselines:
in tables, in every printed form, in reports and charts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from viva.benchmarks import find_benchmark
from viva.engine.folder import ExamRecord, RunRecord
from viva.errors import DataError, flag, option
from viva.published import NEAREST, NONE, Neighbour, neighbours, published_rows
from viva.render.result import Result, comparable
from viva.types import ExamSpec

if TYPE_CHECKING:
    from viva.analysis.breakdown import Table

BASELINE = "baseline/"
"""What the names of rules in place of models begin with: beside these stand published baselines at most."""
_SAMPLE = "the bundled sample's questions are Viva's own, and nobody published a figure of those"


def settings_of(exams: Iterable[ExamRecord]) -> list[tuple[ExamSpec, bool]]:
    """Return settings of a run's exams, and whether each asks the bundled sample."""
    return [(exam.spec, exam.data is None) for exam in exams]


def refuse_unknown(asked: str, exams: Iterable[tuple[ExamSpec, bool]]) -> None:
    """Refuse a name that no exam (settings, whether of the bundled sample) has a published row of.

    That is before hours are spent. Raises DataError with the names that come near in the last exam where any does: of
    several versions none is chosen.
    """
    exams = list(exams)
    if _names(asked) and exams and all(sample for _, sample in exams):
        raise DataError(
            f"{asked!r}: {_SAMPLE}; ask the published questions ({option('data', 'DIR')}), or leave it out",
            field="published_rows",
        )
    sets = [found for spec, sample in exams if not sample and (found := neighbours(spec))]
    for name in _names(asked):
        problem: DataError | None = None
        for everything in sets:
            try:
                published_rows(everything, name, None, "")
                break
            except DataError as unknown:
                problem = unknown if problem is None or "mean" in str(unknown) else problem
        else:
            raise problem or DataError(
                f"{name!r}: nothing was published that compares with these questions", field="published_rows"
            )


def with_published_rows(result: Result, asked: str, exam: ExamRecord, run: RunRecord) -> Result:
    """Return the result with the published rows in its tables. A name that this exam lacks is another exam's.

    Beside a set of one's own there is none unless it is asked for, and beside the bundled sample none at all: nobody
    published a figure of those questions. Beside a baseline there are published baselines alone. Where the score lacks
    parts, the nearest rows are those of the largest part that is scored.
    """
    if exam.data is None or (not _names(asked) and _is_custom(exam)):
        return result
    everything = neighbours(
        exam.spec, answers=exam.samples or run.samples, questions=exam.questions, template=_template(run, result.model)
    )
    if result.model.startswith(BASELINE):
        everything = tuple(one for one in everything if one.kind == "baseline")
    score = result.overall.mean
    if not result.overall.same_parts:
        cell, score = _largest(everything, result.tables)
        parts = [msgspec.structs.replace(one, score=one.figures.get(cell)) for one in everything]
        everything = tuple(one for one in parts if one.score is not None or _names(asked))
    rows = published_rows(everything, asked, score, result.model) if not _names(asked) else _named(everything, asked)
    kept = comparable(rows, [result])
    lost = bool(everything) and asked != NONE and not result.overall.same_parts
    return msgspec.structs.replace(result, beside=kept, withheld=lost)


def _template(run: RunRecord, model: str) -> str:
    """Return the family of templates that a model is asked with; "" where it has its own."""
    record = run.model(model)
    if record is None:
        return ""
    return record.weights.template if record.weights else record.template


def _named(everything: tuple[Neighbour, ...], asked: str) -> tuple[Neighbour, ...]:
    return tuple({one.model: one for name in _names(asked) for one in _known(everything, name)}.values())


def _largest(rows: Sequence[Neighbour], tables: Sequence[Table]) -> tuple[tuple[str, str, str], float | None]:
    """Return the cell with most answers of those that published figures may stand beside, and its mean."""
    known = {cell for one in rows for cell in one.figures}
    found = [
        (cell.n, (table.name, row, column), cell.mean)
        for table in tables
        for row, cells in zip(table.rows, table.cells, strict=True)
        for column, cell in zip(table.columns, cells, strict=True)
        if (table.name, row, column) in known and cell.same_parts and cell.mean is not None
    ]
    _, place, mean = max(found, default=(0, ("", "", ""), None), key=lambda one: one[0])
    return place, mean


def _is_custom(exam: ExamRecord) -> bool:
    """Return whether the questions are those of a set that `viva build infibench export` wrote."""
    if exam.data is None or not find_benchmark(exam.spec.benchmark).about.built_sets:
        return False
    from viva.benchmarks.infibench.caseset import find_built

    with contextlib.suppress(DataError):
        return find_built(Path(exam.data)) is not None
    return False


def unknown_notes(asked: str, exams: Iterable[ExamRecord], models: Iterable[str]) -> list[str]:
    """Return which named rows an exam lacks (some other exam of the run has each), and beside whom none of them
    stand.
    """
    notes: list[str] = []
    for exam in exams if _names(asked) else ():
        label = exam.spec.label
        if exam.data is None:
            notes.append(f"{label}: {flag('published_rows')} {asked!r} has no row to show: {_SAMPLE}.")
            continue
        everything = neighbours(exam.spec)
        for name in _names(asked):
            try:
                published_rows(everything, name, None, "")
            except DataError as unknown:
                notes.append(f"{label}: {unknown}" + ("" if str(unknown).endswith("?") else "."))
        if not everything:
            notes.append(
                f"{label}: nothing was published that compares with it, so {flag('published_rows')} has no row to show."
            )
    rules = [model for model in dict.fromkeys(models) if model.startswith(BASELINE)]
    if _names(asked) and rules:
        notes.append(
            f"{', '.join(rules)}: beside a baseline stand published baselines only, whatever "
            f"{flag('published_rows')} says."
        )
    return notes


def _known(everything: tuple[Neighbour, ...], name: str) -> Iterator[Neighbour]:
    try:
        yield from published_rows(everything, name, None, "")
    except DataError:
        return


def _names(asked: str) -> list[str]:
    return [] if asked.strip() in ("", NONE, NEAREST) else [name.strip() for name in asked.split(",") if name.strip()]
