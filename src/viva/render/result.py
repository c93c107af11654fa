"""What a report is made of: results, signatures, and the grid of strings that every printed form shares."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec
from msgspec import Struct

from viva.analysis.breakdown import Table
from viva.analysis.canaries import CanaryMarks
from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE, bounds_text, cell_text, percent
from viva.engine.consumption import Consumed, who_answered
from viva.engine.signing import settings as settings  # noqa: PLC0414
from viva.engine.signing import signature as signature  # noqa: PLC0414
from viva.errors import flag
from viva.published import Neighbour
from viva.render.table import Grid, outcomes_text
from viva.types import NOT_ASKED, UNANSWERED, Constant, Served, StopReason, outcome_name
from viva.visible import one_line

MIXED = "§"
"""Marks a score of answers of several models or providers."""
LEFT_OUT = (
    "the mean leaves out what was not scored; its bounds are the least and the most that the score can be when that is "
    "decided, and the interval holds whatever it is"
)
FILLED = "the estimate takes what was predicted for what was not scored"
"""What the mark says of a mean, and of the estimate of an adaptive run."""
_NAMED = 4
"""Parts that a note names."""
_NO_REPLY = frozenset({"error", NOT_ASKED, "unsound"})
RANGE = (
    "there is no mean, since what is decided there depends on what it is worth (a similarity can only say right, an "
    "unreadable reply can only be wrong) and says nothing of the answers that wait for a verdict. The range is from "
    "the least to the most that the score can be when they are decided; the interval holds it whatever they are (by "
    "Imbens and Manski)"
)
"""Why a cell has no mean."""


class Result(Struct, frozen=True, kw_only=True):
    """One model's result on one exam."""

    exam: str
    benchmark: str
    language: str
    model: str
    overall: Estimate
    tables: tuple[Table, ...]
    signature: str
    judged: bool = False
    """Whether there was a judge."""
    decided: tuple[Grid, ...] = ()
    """Who decided which share, and how far judges agreed; only where there was more than a rule."""
    reviewed: bool = False
    """Whether experts decided any of it."""
    trained: float | None = None
    """Tokens that a checkpoint was trained on, where that is known."""
    programs: int = 0
    shared: int = 0
    """Answers whose programs were run and say with what isolation, and those of them that shared a process with a
    test."""
    beside: tuple[Neighbour, ...] = ()
    """Published rows to be shown in the tables, each with how it was asked."""
    pass_line: float | None = None
    """The share from which on people pass such an examination."""
    constant: Constant | None = None
    withheld: bool = False
    """Whether published figures are left out, since the means that they would stand beside lack parts."""

    estimated: int = 0
    """Questions that the overall score is estimated for, where only some of them were asked; 0 where all were."""
    consumed: Consumed | None = None
    """What the answers took; None for recorded replies."""
    cut_off: dict[StopReason, int] = {}
    """Replies that the limit of tokens cut off before they said anything: why they ended → how many."""

    @property
    def missing(self) -> int:
        """How many answers never came; asking again may bring them."""
        return sum(self.overall.outcomes.get(outcome, 0) for outcome in ("error", NOT_ASKED))

    @property
    def answered(self) -> bool:
        """Whether any reply came, so that there is something to show."""
        return any(count for outcome, count in self.overall.outcomes.items() if outcome not in _NO_REPLY)


class Report(Struct, frozen=True, kw_only=True):
    """A run's results, and what should be known beside them."""

    run: str
    results: tuple[Result, ...]
    notes: tuple[str, ...] = ()
    canaries: tuple[CanaryMarks, ...] = ()
    """What judges gave answers whose marks are known."""


def comparable(rows: Iterable[Neighbour], results: Sequence[Result]) -> tuple[Neighbour, ...]:
    """Return published rows with the figures that are the same quantity as in all of `results`.

    A published figure is over all parts of its set. Beside a mean that lacks some (formats that no judge graded,
    subjects that were not asked) it would be taken for what this mean could be.
    """
    apart = {
        (table.name, row, column)
        for result in results
        for table in result.tables
        for row, cells in zip(table.rows, table.cells, strict=True)
        for column, cell in zip(table.columns, cells, strict=True)
        if not cell.same_parts
    }
    whole = all(result.overall.same_parts for result in results)
    kept = [
        msgspec.structs.replace(
            one,
            score=one.score if whole else None,
            figures={cell: figure for cell, figure in one.figures.items() if cell not in apart},
        )
        for one in rows
    ]
    return tuple(one for one in kept if one.score is not None or one.figures)


def counted(cells: Sequence[Estimate]) -> tuple[str, list[str]]:
    """Return a column of what cells rest on: its name is what they count, or each says it where that differs."""
    units = {cell.unit for cell in cells if cell.n}
    if len(units) > 1:
        return "n", [f"{cell.n:,} {cell.unit}" for cell in cells]
    return (units.pop() if units else "answers"), [f"{cell.n:,}" for cell in cells]


def counted_results(results: Sequence[Result]) -> tuple[str, list[str]]:
    """The same of overall scores: an estimate says how many questions it is for."""
    unit, counts = counted([result.overall for result in results])
    of = [f" of {result.estimated:,}" if result.estimated else "" for result in results]
    return unit, [count + more for count, more in zip(counts, of, strict=True)]


def left_out(models: Sequence[str]) -> str:
    """The models whose score is a range, and that a command of points leaves out, with the reason."""
    named = _some([one_line(model, 40) for model in models])
    return (
        f"left out, since a score is a range there, with answers that wait for a verdict: {named}; grade these with "
        f"{flag('judge', 'MODEL')}."
    )


def grid(table: Table, beside: Sequence[Neighbour] = ()) -> Grid:
    """A table's cells with, for every row, its number of answers and their outcomes (of its last column).

    A published row is a column, right of the one that its figures stand for.
    """
    at, published = _published_columns(table, beside)
    totals = [cells[-1] for cells in table.cells]
    columns = (*table.columns[:at], *published, *table.columns[at:])
    unit, counts = counted(totals)
    rows = tuple(
        (
            label,
            *map(cell_text, cells[:at]),
            *(figures.get(label, "") for figures in published.values()),
            *map(cell_text, cells[at:]),
            count,
            outcomes_text(total),
        )
        for label, cells, total, count in zip(table.rows, table.cells, totals, counts, strict=True)
        if total.n
    )
    return Grid(f"{table.title} · {table.exam} · {table.model}", ("", *columns, unit, "outcomes"), rows)


def _published_columns(table: Table, beside: Sequence[Neighbour]) -> tuple[int, dict[str, dict[str, str]]]:
    """Where published columns stand, and header → row → figure, for every published row that has figures here.

    They are of the column that most figures are known for, of several the last, which is the average.
    """
    counts = [
        sum((table.name, row, column) in one.figures for one in beside for row in table.rows)
        for column in table.columns
    ]
    most = max(counts, default=0)
    at = max((index for index, count in enumerate(counts) if count == most), default=0) + 1
    found: dict[str, dict[str, str]] = {}
    for one in beside if most else ():
        figures = {row: one.figures.get((table.name, row, table.columns[at - 1])) for row in table.rows}
        texts = {row: percent(figure) for row, figure in figures.items() if figure is not None}
        if texts:
            found[f"{one.model} (published)"] = texts
    return at, found


def summary(results: Sequence[Result]) -> Grid:
    """A row a model and exam: the overall score."""
    unit, counts = counted_results(results)
    marked = mixed(results)
    header = ("model", "exam", "score", unit, "outcomes")
    rows = tuple(
        (
            result.model,
            result.exam,
            cell_text(result.overall) + (MIXED if result.model in marked else ""),
            count,
            outcomes_text(result.overall),
        )
        for result, count in zip(results, counts, strict=True)
    )
    return Grid("Summary (per cent, 95 % interval)", header, rows)


def side_by_side(results: Sequence[Result]) -> list[Grid]:
    """Languages beside each other: for every model that sat one benchmark in several, its tables' last columns."""
    grids: list[Grid] = []
    groups: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        groups.setdefault((result.benchmark, result.model), []).append(result)
    for (benchmark, model), of_exam in groups.items():
        if len({result.language for result in of_exam}) < 2:
            continue
        for index, table in enumerate(of_exam[0].tables):
            if table.detail or table.across or any(len(result.tables) <= index for result in of_exam):
                continue
            columns = [dict(zip(r.tables[index].rows, r.tables[index].cells, strict=True)) for r in of_exam]
            labels = dict.fromkeys(label for result in of_exam for label in result.tables[index].rows)
            rows = tuple(
                (label, *(cell_text(column[label][-1]) if label in column else "–" for column in columns))
                for label in labels
            )
            title = f"{table.title}, languages side by side · {benchmark} · {model}"
            grids.append(Grid(title, ("", *(result.language for result in of_exam)), rows))
    return grids


def across_models(results: Sequence[Result], *, details: bool = True) -> list[Grid]:
    """The tables that have a row a model, of every exam that several models sat: the paper's main tables.

    Published rows come last, and are marked; with one of them a single model has such a table, too.
    """
    grids: list[Grid] = []
    for exam in dict.fromkeys(result.exam for result in results):
        of_exam = [result for result in results if result.exam == exam]
        beside = comparable(
            {(one.model, one.condition): one for result in of_exam for one in result.beside}.values(), of_exam
        )
        for index, table in enumerate(of_exam[0].tables):
            if not table.across or (table.detail and not details):
                continue
            rows = [(result.model, *map(cell_text, result.tables[index].cells[0])) for result in of_exam]
            rows += _published_rows(table, beside)
            if len(rows) > 1:
                grids.append(Grid(f"{table.title} · {exam}", ("model", *table.columns), tuple(rows)))
    return grids


def _published_rows(table: Table, beside: Sequence[Neighbour]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for one in beside:
        figures = [one.figures.get((table.name, table.rows[0], column)) for column in table.columns]
        if any(figure is not None for figure in figures):
            rows.append((f"{one.model} (published)", *map(percent, figures)))
    return rows


def published_notes(results: Sequence[Result]) -> list[str]:
    """Where published figures stand, and what was otherwise when they were asked: a line an exam and source."""
    lines: dict[tuple[str, str, str], None] = {}
    for result in results:
        for one in result.beside:
            lines[result.exam, one.source.cited, one.condition] = None
    benchmarks = {result.exam: result.benchmark for result in results}
    apart = [
        f"{result.model} on {result.exam}: too little of {_some(result.overall.lacks) or 'it'} is scored for a "
        "published score beside this one; published figures stand only beside means over the same parts."
        for result in results
        if result.withheld and not result.overall.same_parts
    ]
    return apart + [
        f"Published beside {exam}, each figure for the column before it: {source}; {condition}. "
        f"`viva published {benchmarks[exam]}` has the whole tables, and what contradicts itself in them."
        for exam, source, condition in lines
    ]


def constant_notes(results: Sequence[Result]) -> list[str]:
    """What the best constant answer scores on each exam, and how many tests prove nothing, in a line."""
    scores, tests = list[str](), list[str]()
    for exam, one in {result.exam: result.constant for result in results}.items():
        if one is None:
            continue
        texts = dict.fromkeys(
            f"{text.count(chr(10)) + 1:,} keywords" if "\n" in text else one_line(text, 20)
            for text in one.answers.values()
        )
        scores.append(f"{percent(one.score)} on {exam} ({', '.join(texts)})")
        if one.unproven:
            tests.append(f"{len(one.unproven):,} of {one.tested:,} questions with tests on {exam}")
    passed = f"; a program that does nothing passes {', '.join(tests)}" if tests else ""
    return [f"The best constant answer scores {', '.join(scores)}{passed}."] if scores else []


def _some(names: Sequence[str]) -> str:
    """The first few, and how many more there are."""
    return ", ".join(names[:_NAMED]) + (f" and {len(names) - _NAMED:,} more" if names[_NAMED:] else "")


def headline_column(shown: Sequence[tuple[Table, Estimate]]) -> int:
    """Which column averages as the headline does: it holds every model's overall score; the last one where none does.

    CMMLU's published average is over subjects, InfiBench's is the best of ten: neither is its tables' last column.
    """
    columns = range(len(shown[0][0].columns))
    found = [at for at in columns if all(any(row[at] == overall for row in table.cells) for table, overall in shown)]
    return found[0] if found else columns[-1]


def _passed(result: Result) -> str:
    """What of an exam lies over its pass line, below it, and too near to tell: by the intervals of its first table."""
    line, cell = result.pass_line, result.overall
    if line is None or cell.mean is None or not cell.complete or not result.tables:
        return ""
    table = result.tables[0]
    at = headline_column([(table, cell)])
    groups: dict[str, list[str]] = {"above it": [], "below it": [], "too near to tell": []}
    for label, cells in zip(table.rows, table.cells, strict=True):
        if (one := cells[at]).low is not None and one.high is not None:
            side = "above it" if one.low >= line else "below it" if one.high < line else "too near to tell"
            groups[side].append(one_line(label, 40))
    said = "; ".join(f"{side}: {', '.join(names)}" for side, names in groups.items() if names)
    verdict = "passes" if cell.mean >= line else "does not reach"
    return (
        f"{result.model} on {result.exam}: {percent(cell.mean)} {verdict} the pass line of {100 * line:g} %"
        f"{f' (by 95 % intervals {said})' if said else ''}."
    )


def groups_text(cell: Estimate) -> str:
    """`, and is over 4 of 8 groups`: where a mean over groups knows nothing of some; else empty."""
    some = cell.scored_groups < cell.groups
    return f", and is over {cell.scored_groups:,} of {cell.groups:,} groups" if some else ""


def mixed(results: Sequence[Result]) -> dict[str, str]:
    """Models that several models or providers answered for, over all exams → who they are."""
    served: dict[str, list[Served]] = {}
    for one in results:
        served.setdefault(one.model, []).extend(one.consumed.served if one.consumed else ())
    return {model: said for model, found in served.items() if (said := who_answered(found))}


def mixed_notes(models: Mapping[str, str]) -> list[str]:
    """What the mark behind the scores of such models says."""
    return [f"{MIXED} {one_line(model, 60)}: {said}." for model, said in models.items()]


def footnotes(results: Sequence[Result]) -> list[str]:
    """What a reader must know about marked means; every one that leaves something out has its bounds in the table."""
    notes = [*constant_notes(results), *mixed_notes(mixed(results))]
    for result in results:
        if result.programs:
            notes.append(
                f"{result.model} on {result.exam}: of {result.programs:,} answers with programs, {result.shared:,} "
                "shared a process with their test, which a program written against Viva's harness could fool; "
                "`viva show` says which, `viva docs safety` what that means."
            )
        cell = result.overall
        if note := _passed(result):
            notes.append(note)
        if cell.complete:
            continue
        left = {name: count for name, count in cell.outcomes.items() if count and name in UNANSWERED}
        said = ", ".join(f"{count:,} {outcome_name(name)}" for name, count in left.items())
        if not result.answered:
            notes.append(f"{result.model} on {result.exam}: nothing was answered ({said}), so there is no table.")
            continue
        if result.estimated:
            notes.append(
                f"{UNSURE} {result.model} on {result.exam}: {said} of the questions drawn; the estimate takes what was "
                "predicted for them."
            )
            continue
        hint = ""
        if "ungraded" in left:
            hint = f" (blanks, open-ended answers and rationales need {flag('judge', 'MODEL')})"
            if result.judged:
                hint = (
                    " (the judges said `none` or had no majority, which stands; or a verdict is missing or unreadable: "
                    "`viva resume` asks for it)"
                )
        if cell.ranged:
            notes.append(f"{UNSURE} {result.model} on {result.exam}: {said}{hint}, and the score is a range.")
            continue
        bounds = f"over all {cell.n:,} the score lies between {bounds_text(cell).replace('–', ' and ')}"
        notes.append(
            f"{UNSURE} {result.model} on {result.exam}: the mean leaves out {said}{hint}{groups_text(cell)}; {bounds}."
        )
    printed = (cell for result in results for table in result.tables for row in table.cells for cell in row)
    if any(cell.ranged for cell in (*(result.overall for result in results), *printed)):
        notes.append(f"{UNSURE} after a range: {RANGE}.")
    return notes
