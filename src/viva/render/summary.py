"""A run in one screen: a line a model and exam, and the few things that must be known to read it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from viva.analysis.estimate import Estimate
from viva.analysis.wording import UNSURE, bounds_text, interval_text, mean_text, score_text
from viva.engine.budget import Consumed
from viva.errors import flag
from viva.published import Neighbour
from viva.render.costs import UNKNOWN, cut_off_notes, seconds_text, served_table
from viva.render.result import (
    FILLED,
    LEFT_OUT,
    WHO,
    Report,
    Result,
    beside_of,
    constant_notes,
    count_column,
    groups_text,
    mixed,
    mixed_notes,
    score_column,
    score_lines,
)
from viva.render.table import Column, Kind, Table
from viva.render.terminal import SUMS_UP, screen_terminal
from viva.render.textchart import short_number
from viva.types import UNANSWERED, outcome_name
from viva.visible import dollars, one_line

_WAITS = (
    f"{UNSURE} after a range: answers wait for a verdict, and whatever they get the score is in the range. "
    "`viva resume` with --judge MODEL gives a mean."
)
_PLAIN = frozenset({"right", "wrong"})


def summary_table(results: Sequence[Result]) -> Table:
    """Return a line a model and exam, published rows last. One model alone stands in the title; columns in which
    nothing stands are left out.
    """
    published = [(one.model, exam, one.score) for exam, one in published_scores(results)]
    rows = score_lines(results, published)
    models = {line.model for line in score_lines(results)} | {model for model, *_ in published}
    count = replace(count_column(results), drop=4)
    columns = (*(WHO if len(models) > 1 else WHO[1:]), score_column(results, mean_text), *_BOUNDS, count, *_TOOK)
    title = "Scores in per cent" + (f" · {rows[0].model}" if len(models) == 1 else "")
    always = ("exam", "score", "95 % interval", count.title or "")
    return Table(title, columns, rows, dim=len(published)).filled(always)


def published_scores(results: Sequence[Result]) -> list[tuple[str, Neighbour]]:
    """Return published scores that are the same quantity as those of an exam, each once."""
    exams = {
        exam: [one for one in results if one.exam == exam and one.answered] for exam in {r.exam: 0 for r in results}
    }
    return [(exam, one) for exam, own in exams.items() for one in beside_of(own) if one.score is not None]


def _outcomes(style: str, *, scored: bool) -> Kind:
    def text(cell: Estimate) -> str:
        return ", ".join(
            f"{outcome_name(name)} {count:,}"
            for name, count in cell.outcomes.items()
            if count and name not in _PLAIN and (name in UNANSWERED) != scored
        )

    return Kind(text, "", words=True, style=style)


def _took(title: str, text: Callable[[Consumed], str], drop: int) -> Column:
    """Return a column of what answers took: `unknown` where a server did not count what has a price."""
    shown = Kind(lambda took: text(took) if took.replies else "", none="")
    return Column(title, "result.consumed", shown, drop=drop)


_BOUNDS = (
    Column("bounds", "result.overall", Kind(bounds_text, none=""), keep=True),
    Column("95 % interval", "result.overall", Kind(interval_text, none=""), keep=True),
)  # fmt: skip
_TOOK = (
    Column("other outcomes", "result.overall", _outcomes("yellow", scored=True), drop=5),
    Column("not scored", "result.overall", _outcomes("red", scored=False), drop=6),
    _took("US$", lambda took: "" if not took.priced else UNKNOWN if took.cost is None else dollars(took.cost), 3),
    _took(
        "tokens in+out",
        lambda took: f"{short_number(took.input)}+{short_number(took.output)}" if took.counted else UNKNOWN,
        1,
    ),
    _took("s each", lambda took: seconds_text(took.latency[50]) if took.latency else "", 2),
)  # fmt: skip
"""Given up first on a narrow screen are tokens, seconds and money; then the number of answers and the outcomes, never
the interval."""


def summary_lines(report: Report) -> list[str]:
    """Return what must be known beside the table, a line each."""
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
    sources = dict.fromkeys((exam, one.source.cited, one.condition) for exam, one in published_scores(report.results))
    exams = [result.exam for result in report.results]
    averages = dict.fromkeys(_average(one, alone=exams.count(one.exam) == 1) for one in report.results)
    published = (f"Published beside {exam}: {where}; {how}." for exam, where, how in sources)
    return [*lines, *filter(None, averages), *report.notes, *published]


def _average(result: Result, *, alone: bool) -> str:
    """Return which column of a table of several a score is; `alone`: with what the others come to."""
    overall = result.overall
    table = next((one for one in result.tables[:1] + result.tables[-1:] if len(one.columns) > 1), None)
    if table is None:
        return ""
    row = next((row for row in table.cells if overall in row), None)
    at = row.index(overall) if row else 0
    if row is None or table.columns[at].casefold().startswith(SUMS_UP):
        return ""
    others = [f"{name} {score_text(row[place])}" for place, name in enumerate(table.columns) if place != at]
    beside = f" ({', '.join(others)})" if alone else ""
    return f"{result.exam}: the score is {table.columns[at]}{beside}."


def summary_terminal(report: Report, *, width: int | None = None, colour: bool = False) -> str:
    """Return the table and its lines, in one screen."""
    table, notes = summary_table(report.results), summary_lines(report)
    more = f"viva score {one_line(report.run, 200)} {flag('all')}"
    tables = [table, served_table(report.results)] if mixed(report.results) else [table]
    return screen_terminal(tables, notes, width=width, colour=colour, more=more)
