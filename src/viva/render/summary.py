"""A run in one screen: a line a model and exam, and the few things that must be known to read it."""

from __future__ import annotations

from collections.abc import Sequence

from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE, bounds_text, interval_text, mean_text, percent, score_text
from viva.engine.consumption import Consumed
from viva.errors import flag
from viva.published import Neighbour
from viva.render.consumption import UNKNOWN, cut_off_notes, seconds_text, served_grid
from viva.render.result import (
    FILLED,
    LEFT_OUT,
    MIXED,
    Report,
    Result,
    comparable,
    constant_notes,
    counted_results,
    groups_text,
    headline_column,
    mixed,
    mixed_notes,
)
from viva.render.screen import SUMS_UP, screen_terminal
from viva.render.table import Grid
from viva.render.textchart import short_number
from viva.types import UNANSWERED, outcome_name
from viva.visible import dollars, one_line

_HEADER = (
    "model", "exam", "score", "bounds", "95 % interval", "", "other outcomes", "not scored", "US$", "tokens in+out",
    "s each",
)  # fmt: skip
"""The sixth is called by what it counts; seconds are the median of an answer."""
_DROP = ("tokens in+out", "s each", "US$")
"""Given up first on a narrow screen; then the number of answers and the outcomes, never the interval."""
_WAITS = (
    f"{UNSURE} after a range: answers wait for a verdict, and whatever they get the score is in the range. "
    "`viva resume` with --judge MODEL gives a mean."
)
_PLAIN = frozenset({"right", "wrong"})


def summary_grid(results: Sequence[Result]) -> Grid:
    """A line a model and exam, published rows last. One model alone stands in the title; columns in which nothing
    stands are left out."""
    published = _published(results)
    models = list(dict.fromkeys([result.model for result in results] + [one.model for _, one in published]))
    title = "Scores in per cent" + (f" · {models[0]}" if len(models) == 1 else "")
    unit, counts = counted_results(results)
    marked = mixed(results)
    header = tuple(name or unit for name in _HEADER)
    rows = [
        (
            result.model,
            result.exam,
            *_cells(result.overall, count, MIXED if result.model in marked else ""),
            *_took(result.consumed),
        )
        for result, count in zip(results, counts, strict=True)
    ]
    rows += [
        (f"{one.model} (published)", exam, percent(one.score), *[""] * (len(_HEADER) - 3)) for exam, one in published
    ]
    always = ("exam", "score", "95 % interval", unit)
    filled = [
        name in always or (len(models) > 1 if name == "model" else any(row[at] for row in rows))
        for at, name in enumerate(header)
    ]

    def kept(row: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text, some in zip(row, filled, strict=True) if some)

    return Grid(
        title, kept(header), tuple(map(kept, rows)),
        drop=(*_DROP, unit, "other outcomes", "not scored"), keep=("exam", "score", "bounds", "95 % interval"),
        dim=len(published),
    )  # fmt: skip


def _published(results: Sequence[Result]) -> list[tuple[str, Neighbour]]:
    """Published scores that are the same quantity as those of an exam, each once."""
    found: list[tuple[str, Neighbour]] = []
    for exam in dict.fromkeys(result.exam for result in results):
        of_exam = [result for result in results if result.exam == exam and result.answered]
        rows = {(one.model, one.condition): one for result in of_exam for one in result.beside}
        found += [(exam, one) for one in comparable(rows.values(), of_exam) if one.score is not None]
    return found


def _cells(cell: Estimate, count: str, mark: str) -> tuple[str, ...]:
    others = [(name, number) for name, number in cell.outcomes.items() if number and name not in _PLAIN]
    return (
        mean_text(cell) + mark,
        bounds_text(cell),
        interval_text(cell),
        count,
        _counted([one for one in others if one[0] not in UNANSWERED]),
        _counted([one for one in others if one[0] in UNANSWERED]),
    )


def _counted(outcomes: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{outcome_name(name)} {count:,}" for name, count in outcomes)


def _took(took: Consumed | None) -> tuple[str, str, str]:
    """US dollars of all answers, their tokens, and the median of the seconds that one took; empty where unknown to
    all, `unknown` where a server did not count what has a price."""
    if took is None or not took.replies:
        return "", "", ""
    money = "" if not took.priced else UNKNOWN if took.cost is None else dollars(took.cost)
    tokens = f"{short_number(took.input)}+{short_number(took.output)}" if took.counted else UNKNOWN
    return money, tokens, seconds_text(took.latency[50]) if took.latency else ""


def summary_lines(report: Report) -> list[str]:
    """What must be known beside the table, a line each."""
    lines = constant_notes(report.results)
    cells = [(result.overall, result.judged) for result in report.results]
    if any(not cell.complete and cell.mean is not None for cell, _ in cells):
        judge = any(cell.outcomes.get("ungraded") and not judged for cell, judged in cells)
        hint = (
            f"; open answers and rationales need {flag('judge', 'MODEL')}, programs a sandbox (viva doctor)"
            if judge
            else ""
        )
        estimated = any(result.estimated for result in report.results)
        lines.append(f"{UNSURE} {FILLED if estimated else LEFT_OUT}{hint}.")
    lines += [
        f"{one.model} on {one.exam}: the mean leaves out whole groups{groups}."
        for one in report.results
        if (groups := groups_text(one.overall)) and one.overall.mean is not None
    ]
    if any(cell.ranged for cell, _ in cells):
        lines.append(_WAITS)
    lines += [
        f"{one.model} on {one.exam}: no verdict can move the score, since what it takes besides is wrong already."
        for one in report.results
        if one.overall.ranged and one.overall.floor == one.overall.ceiling
    ]
    lines += mixed_notes(mixed(report.results))
    lines += cut_off_notes(report.results)
    sources = dict.fromkeys((exam, one.source.cited, one.condition) for exam, one in _published(report.results))
    exams = [result.exam for result in report.results]
    averages = dict.fromkeys(_average(one, alone=exams.count(one.exam) == 1) for one in report.results)
    published = (f"Published beside {exam}: {where}; {how}." for exam, where, how in sources)
    return [*lines, *filter(None, averages), *report.notes, *published]


def _average(result: Result, *, alone: bool) -> str:
    """Which column of its first table a score is, where there are several; `alone`: with what the others come to."""
    table, overall = next(iter(result.tables), None), result.overall
    if table is None or len(table.columns) < 2:
        return ""
    at = headline_column([(table, overall)])
    row = next((row for row in table.cells if row[at] == overall), None)
    if row is None or table.columns[at].casefold().startswith(SUMS_UP):
        return ""
    others = [f"{name} {score_text(row[place])}" for place, name in enumerate(table.columns) if place != at]
    beside = f" ({', '.join(others)})" if alone else ""
    return f"{result.exam}: the score is {table.columns[at]}{beside}."


def summary_terminal(report: Report, *, width: int | None = None, colour: bool = False) -> str:
    """The table and its lines, in one screen."""
    grid, lines = summary_grid(report.results), summary_lines(report)
    more = f"viva score {one_line(report.run, 200)} {flag('all')}"
    grids = [grid, served_grid(report.results)] if mixed(report.results) else [grid]
    return screen_terminal(grids, lines, width=width, colour=colour, more=more)
