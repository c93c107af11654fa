"""Findings of a run: tables of its results, notes, and a selection for one screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from viva.analysis.estimate import UNSURE, Estimate, bounds_text, interval_text, mean_text, score_text
from viva.engine.budget import SHARES, Consumed, who_answered
from viva.errors import flag
from viva.published import Neighbour
from viva.render.findings import Findings
from viva.render.result import (
    FILLED,
    LEFT_OUT,
    MIXED,
    UNDECIDED,
    WHO,
    Report,
    Result,
    across_models,
    beside_of,
    canaries_table,
    constant_notes,
    count_column,
    deciding_tables,
    footnotes,
    groups_text,
    mixed,
    mixed_notes,
    published_notes,
    score_column,
    score_lines,
    score_table,
    side_by_side,
    summary,
    unjudged,
)
from viva.render.table import FIGURE, NAME, Column, Kind, Table, fields, item, places, short_number
from viva.render.terminal import SUMS_UP
from viva.scorers.reading import CUT_OFF_WORDS
from viva.types import OUTCOMES, UNANSWERED, outcome_name
from viva.visible import dollars, one_line, plural

LEGEND = (
    "Per cent with 95 % intervals. Unparsed, empty, truncated and refused replies earn no point and stay in the "
    "denominator"
)
SPREAD = "± is the standard deviation over repeats"


def legend(results: Sequence[Result]) -> str:
    """Return a legend of the figures and of the marks in these tables."""
    cells = [cell for each in results for table in each.tables for row in table.cells for cell in row]
    cells += [each.overall for each in results]
    marked = f" {UNSURE} {LEFT_OUT}." if any(not cell.complete for cell in cells) else ""
    repeated = f" {SPREAD}." if any(cell.sd is not None for cell in cells) else ""
    return f"{LEGEND}.{repeated}{marked}"


def own_tables(result: Result, *, across: bool = False, details: bool = True, mark: str = "") -> list[Table]:
    """Return the tables of one result, without long ones unless `details`; `across`: also those with a row a model;
    `mark`: appended to the titles of its scores.
    """
    tables = [
        replace(table := score_table(filled, result.beside), title=table.title + mark)
        for filled in result.tables
        if (across or not filled.across) and (details or not filled.detail)
    ]
    tables += deciding_tables(result.decided, f" · {result.exam} · {result.model}")
    return [table for table in tables if table.rows]


def _whole(report: Report, *, details: bool = True) -> tuple[list[Table], list[str]]:
    """Return all tables of a run, and the notes."""
    results = [result for result in report.results if result.answered]
    marked = mixed(report.results)
    tables: list[Table] = []
    for result in results:
        tables += own_tables(result, details=details, mark=f" {MIXED}" if result.model in marked else "")
    tables += across_models(results, details=details)
    tables += side_by_side(results)
    if results and len(report.results) > 1:
        tables.append(summary(report.results))
    tables += [consumption_table(results), served_table(results), canaries_table(report.canaries)]
    return [table for table in tables if table.rows], [
        *footnotes(report.results),
        *cut_off_notes(report.results),
        *([legend(results)] if results else []),
        *published_notes(results),
        *report.notes,
        *(f"signature: {result.signature}" for result in results),
    ]


Line: TypeAlias = tuple[str, str, str, str, str, int | None, float | None, Estimate | None, float | None, str, str]
"""A row of the CSV; published figures and results of canaries have a mean and no estimate."""
_LINES = (
    *places("exam", "model", "table", "row", "column", "n", "mean"),
    *fields("7", "low", "high", "floor", "ceiling", "sd", "clusters"),
    *(Column(None, item("7.outcomes", outcome, 0), key=outcome) for outcome in OUTCOMES),
    *(Column(None, str(index), key=name) for index, name in enumerate(("trained", "signature", "published"), 8)),
)


def _lines(report: Report) -> Iterator[Line]:
    """Yield a row a cell: shares in 0..1, the model's training tokens if known, the signature.

    Published figures have separate rows, with source and settings in `published`. So have canaries, in the table
    `canaries`: with judges as models, the share of verdicts that agree, and the mean marks of right and wrong answers.
    """
    for result in report.results:
        for filled in result.tables:
            for label, cells in zip(filled.rows, filled.cells, strict=True):
                for column, cell in zip(filled.columns, cells, strict=True):
                    where = (result.exam, result.model, filled.name, label, column)
                    yield *where, cell.n, cell.mean, cell, result.trained, result.signature, ""
        tables = {filled.name: filled for filled in result.tables}
        for neighbour in result.beside:
            cited = f"{neighbour.source.cited}; {neighbour.condition}"
            for (name, row, column), figure in neighbour.figures.items():
                if name in tables and row in tables[name].rows and column in tables[name].columns:
                    yield result.exam, neighbour.model, name, row, column, None, figure, None, None, "", cited
    for canary in report.canaries:
        told = [("all", "agreement", canary.agreement, len(canary.known))]
        told += [
            (row, "mark", *canary.mean(right=right)) for row, right in (("known right", True), ("known wrong", False))
        ]
        for row, column, mean, count in told:
            yield canary.exam, canary.judge, "canaries", row, column, count, mean, None, None, "", ""


def _content(report: Report) -> Mapping[str, Any]:
    """Return everything, as plain data; a published row's figures are a list, since their keys have three parts."""
    content: dict[str, Any] = msgspec.to_builtins(report)
    for result in content["results"]:
        for neighbour in result["beside"]:
            neighbour["figures"] = [
                {"table": table, "row": row, "column": column, "mean": figure}
                for (table, row, column), figure in neighbour["figures"].items()
            ]
    return content


def findings(report: Report, *, details: bool = False) -> Findings[Report]:
    """Return all tables of a run, and the table of one screen; `rows` has one a cell. `details`: also print the long
    tables to a terminal.
    """
    shown = _whole(report)
    served = [served_table(report.results)] if mixed(report.results) else []
    return Findings(
        found=report,
        shown=shown[0],
        rows=Table("Scores", _LINES, list(_lines(report))),
        notes=shown[1],
        first=([summary_table(report.results), *served], summary_lines(report)),
        terminal=shown if details else _whole(report, details=False),
        more=f"viva score {one_line(report.run, 200)} {flag('all')}",
        content=partial(_content, report),
    )


UNKNOWN = "unknown"
"""Shown, in place of a zero, for what a server did not count."""


def consumption_table(results: Sequence[Result]) -> Table:
    """Return means over the received answers, and percentiles of their latency, without empty columns.

    Recorded replies have no row: their consumption is unknown.
    """
    rows = [(result.model, result.exam, result.consumed) for result in results if result.consumed]
    return _table("What answers took, without judging", _CONSUMED, rows)


def served_table(results: Sequence[Result]) -> Table:
    """Return the models and providers named in the replies, the most frequent first."""
    rows = [
        (result.model, result.exam, each)
        for result in results
        for each in (result.consumed.served if result.consumed else ())
    ]
    return _table("Who answered", _SERVED, rows)


def _table(title: str, columns: Sequence[Column], rows: Sequence[tuple[str, str, object]]) -> Table:
    """Return a table without empty columns; a model or exam common to all rows is in the title."""
    whole = Table(title, (Column("model", "0", NAME), Column("exam", "1", NAME), *columns), rows)
    alone = next((index for index in (0, 1) if len({row[index] for row in rows}) == 1), None)
    kept = tuple(column for index, column in enumerate(whole.filled().columns) if index != alone)
    return Table(title if alone is None else f"{title} · {rows[0][alone]}", kept, rows)


def _mean(mean: float | None, took: Consumed) -> str:
    """Return `1,234`; `1,234 (of 12)` if only 12 answers came with a count."""
    if mean is None:
        return UNKNOWN
    return f"{mean:,.0f}" + (f" (of {took.counted:,})" if took.counted < took.replies else "")


def _money(took: Consumed) -> str:
    if not took.priced:
        return ""
    if took.cost is None:
        return UNKNOWN
    return "–" if took.cost_of_right is None else dollars(took.cost_of_right)


def judging_notes(took: Mapping[str, Consumed]) -> list[str]:
    """Return notes on each judge's consumption: US dollars if its price is known, tokens of prompts and replies; and on
    judges that are several models.
    """
    mixed = {f"the judge {judge}": who for judge, consumed in took.items() if (who := who_answered(consumed.served))}
    return mixed_notes(mixed) + [
        f"Judging, in no row of the table: {one_line(judge)} US$ "
        f"{UNKNOWN if consumed.cost is None else dollars(consumed.cost)} "
        f"({short_number(consumed.input)}+{short_number(consumed.output)} tokens)."
        for judge, consumed in took.items()
        if consumed.priced and consumed.cost != 0
    ]


def seconds_text(value: float) -> str:
    """Return `123`, `4.5`, `0.32`."""
    return f"{value:,.0f}" if value >= 99.5 else f"{value:.1f}" if value >= 0.95 else f"{value:.2f}"


def cut_off_notes(results: Sequence[Result]) -> list[str]:
    """Return notes on each model's replies cut off by the token limit before an answer, with a remedy."""
    notes: list[str] = []
    for result in results:
        for stopped, count in result.cut_off.items():
            where = "thinking" if stopped == "thinking" else "answer"
            notes.append(
                f"{result.model} on {result.exam}: {plural(count, 'answer')} {CUT_OFF_WORDS[stopped]}: a new run with "
                f"a larger {flag('max_tokens', 'N')} gives room; `viva show RUN {flag('cut_off')} {where}` "
                "lists them."
            )
    return notes


_SECONDS = Kind(seconds_text, none="")
_CONSUMED = (
    Column("tokens an answer", "2", Kind(lambda took: _mean(took.mean_output, took) if took.replies else "")),
    Column("of them to think", "2", Kind(lambda took: _mean(took.mean_reasoning, took) if took.thoughts else "")),
    Column("US$ a right one", "2", Kind(_money)), Column("first in s", "2.first", _SECONDS),
    *(Column(f"{share} % in s", item("2.latency", share), _SECONDS) for share in SHARES),
)  # fmt: skip
"""In short words, so that it fits a terminal of 80 columns."""
_WORD = Kind(one_line)
_SERVED = (
    Column("served model", "2.model", _WORD), Column("provider", "2.provider", _WORD),
    Column("fingerprint", "2.system_fingerprint", _WORD), Column("answers", "2.answers", FIGURE),
)  # fmt: skip


_WAITS = f"{UNSURE} after a range: answers wait for a verdict, and whatever they get the score is in the range"
_PLAIN = frozenset({"right", "wrong"})


def summary_table(results: Sequence[Result]) -> Table:
    """Return a row for each model and exam, published rows last, without empty columns. A single model is in the
    title.
    """
    published = published_scores(results)
    rows = score_lines(results, published)
    models = {*(result.model for result in results), *(neighbour.model for _, neighbour in published)}
    count = replace(count_column(results), drop=4)
    columns = (*(WHO if len(models) > 1 else WHO[1:]), score_column(results, mean_text), *_BOUNDS, count, *_TOOK)
    title = "Scores in per cent" + (f" · {rows[0].model}" if len(models) == 1 else "")
    always = ("exam", "score", "95 % interval", count.title or "")
    return Table(title, columns, rows, dim=len(published)).filled(always)


def published_scores(results: Sequence[Result]) -> list[tuple[str, Neighbour]]:
    """Return published scores that measure the same quantity as those of an exam, each once."""
    return [
        (exam, neighbour)
        for exam in dict.fromkeys(result.exam for result in results)
        for neighbour in beside_of([result for result in results if result.exam == exam and result.answered])
        if neighbour.score is not None
    ]


def _outcomes(style: str, *, scored: bool) -> Kind:
    def text(cell: Estimate) -> str:
        return ", ".join(
            f"{outcome_name(name)} {count:,}"
            for name, count in cell.outcomes.items()
            if count and name not in _PLAIN and (name in UNANSWERED) != scored
        )

    return Kind(text, "", words=True, style=style)


def _took(title: str, text: Callable[[Consumed], str], drop: int) -> Column:
    """Return a column of consumption: `unknown` where a server did not count it and it has a price."""
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
"""A narrow screen first drops tokens, seconds and money; then the number of answers and the outcomes, never the
interval."""


def summary_lines(report: Report) -> list[str]:
    """Return caveats on the table, a line each."""
    lines = constant_notes(report.results)
    cells = [(result.overall, result.judged) for result in report.results]
    if any(not cell.complete and cell.mean is not None for cell, _ in cells):
        judge = any(cell.outcomes.get("ungraded") and not judged for cell, judged in cells)
        hint = f"; {unjudged()}" * judge
        estimated = any(result.estimated for result in report.results)
        lines.append(f"{UNSURE} {FILLED if estimated else LEFT_OUT}{hint}.")
    lines += [
        f"{each.model} on {each.exam}: the mean leaves out whole groups{groups}."
        for each in report.results
        if (groups := groups_text(each.overall)) and each.overall.mean is not None
    ]
    if ranged := [judged for cell, judged in cells if cell.ranged]:
        why = f" ({UNDECIDED})." if all(ranged) else f". `viva resume` with {flag('judge', 'MODEL')} gives a mean."
        lines.append(f"{_WAITS}{why}")
    lines += [
        f"{each.model} on {each.exam}: no verdict can move the score, since what it takes besides is wrong already."
        for each in report.results
        if each.overall.ranged and each.overall.floor == each.overall.ceiling
    ]
    lines += mixed_notes(mixed(report.results))
    lines += cut_off_notes(report.results)
    sources = dict.fromkeys(
        (exam, neighbour.source.cited, neighbour.condition) for exam, neighbour in published_scores(report.results)
    )
    exams = [result.exam for result in report.results]
    averages = dict.fromkeys(_average(each, alone=exams.count(each.exam) == 1) for each in report.results)
    published = (f"Published beside {exam}: {where}; {how}." for exam, where, how in sources)
    return [*lines, *filter(None, averages), *report.notes, *published]


def _average(result: Result, *, alone: bool) -> str:
    """Return which of several averages a score is; `alone`: with the values of the others."""
    overall = result.overall
    table = next((filled for filled in result.tables[:1] + result.tables[-1:] if len(filled.columns) > 1), None)
    if table is None:
        return ""
    row = next((row for row in table.cells if overall in row), None)
    column = row.index(overall) if row else 0
    if row is None or table.columns[column].casefold().startswith(SUMS_UP):
        return ""
    others = [f"{name} {score_text(row[place])}" for place, name in enumerate(table.columns) if place != column]
    beside = f" ({', '.join(others)})" if alone else ""
    return f"{result.exam}: the score is {table.columns[column]}{beside}."
