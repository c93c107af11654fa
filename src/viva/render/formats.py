"""A report as terminal tables, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import msgspec
from msgspec.structs import replace

from viva.analysis.wording import UNSURE
from viva.render.deciders import canaries_table, deciding_tables
from viva.render.markuptext import csv_text, json_text, tables_html, tables_latex, tables_markdown
from viva.render.result import (
    LEFT_OUT,
    MIXED,
    Report,
    Result,
    across_models,
    footnotes,
    mixed,
    published_notes,
    score_table,
    side_by_side,
    summary,
)
from viva.render.summary import consumption_table, cut_off_notes, served_table
from viva.render.table import Table
from viva.render.terminal import tables_terminal
from viva.types import OUTCOMES

LEGEND = (
    "Per cent with 95 % intervals. Unparsed, empty, truncated and refused replies earn no point and stay in the "
    "denominator"
)


def legend(results: Sequence[Result]) -> str:
    """Return what the figures are, and the marks that any of these tables has."""
    cells = [cell for one in results for table in one.tables for row in table.cells for cell in row]
    cells += [one.overall for one in results]
    marked = any(not cell.complete for cell in cells)
    return f"{LEGEND}.{f' {UNSURE} {LEFT_OUT}.' if marked else ''}"


def _tables(report: Report, *, details: bool) -> list[Table]:
    tables: list[Table] = []
    results = [result for result in report.results if result.answered]
    marked = mixed(report.results)
    for result in results:
        mark = f" {MIXED}" if result.model in marked else ""
        tables += (
            replace(table := score_table(found, result.beside), title=table.title + mark)
            for found in result.tables
            if not found.across and (details or not found.detail)
        )
        tables += deciding_tables(result.decided, f" · {result.exam} · {result.model}")
    tables += across_models(results, details=details)
    tables += side_by_side(results)
    if results and len(report.results) > 1:
        tables.append(summary(report.results))
    tables += [consumption_table(results), served_table(results), canaries_table(report.canaries)]
    return [table for table in tables if table.rows]


def _closing(report: Report) -> list[str]:
    results = [result for result in report.results if result.answered]
    signatures = [f"signature: {result.signature}" for result in results]
    said = [legend(results)] if results else []
    return [
        *footnotes(report.results),
        *cut_off_notes(report.results),
        *said,
        *published_notes(results),
        *report.notes,
        *signatures,
    ]


def as_terminal(report: Report, *, details: bool = False, width: int | None = None, colour: bool = False) -> str:
    """Return tables for a terminal."""
    return tables_terminal(_tables(report, details=details), _closing(report), width=width, colour=colour)


def as_html(report: Report, *, details: bool = False) -> str:
    """Return tables for a notebook's cell."""
    return tables_html(_tables(report, details=details), _closing(report))


def as_markdown(report: Report) -> str:
    """Markdown tables."""
    return tables_markdown(_tables(report, details=True), _closing(report))


def as_latex(report: Report) -> str:
    """LaTeX tables (booktabs)."""
    return tables_latex(_tables(report, details=True), _closing(report))


def as_csv(report: Report) -> str:
    """Return one row a cell: shares in 0..1, counts of every outcome, the model's training tokens if known, the
    signature.

    Published figures have rows of their own, with a mean alone; `published` says where it stands and how it was asked.
    So have canaries, in the table `canaries`.
    """
    measures = ("n", "mean", "low", "high", "floor", "ceiling", "sd", "clusters")  # of a range there is no mean
    header = ("exam", "model", "table", "row", "column", *measures, *OUTCOMES, "trained", "signature", "published")
    return csv_text(header, itertools.chain(_lines(report, measures), _canary_lines(report)))


def _lines(report: Report, measures: Sequence[str]) -> Iterator[list[object]]:
    empty = [""] * (len(measures) - 2 + len(OUTCOMES) + 2)  # but for n and mean; and tokens and signature
    for result in report.results:
        for found in result.tables:
            for label, cells in zip(found.rows, found.cells, strict=True):
                for column, cell in zip(found.columns, cells, strict=True):
                    values = [getattr(cell, measure) for measure in measures]
                    counts = [cell.outcomes.get(outcome, 0) for outcome in OUTCOMES]
                    where = [result.exam, result.model, found.name, label, column]
                    yield [*where, *values, *counts, result.trained, result.signature, ""]
        tables = {found.name: found for found in result.tables}
        for one in result.beside:
            cited = f"{one.source.cited}; {one.condition}"
            for (name, row, column), figure in one.figures.items():
                if name in tables and row in tables[name].rows and column in tables[name].columns:
                    yield [result.exam, one.model, name, row, column, "", figure, *empty, cited]


def _canary_lines(report: Report) -> Iterator[list[object]]:
    """Judges stand where models do: the share of verdicts that agree, and the mean marks of right and wrong answers."""
    empty = [""] * (6 + len(OUTCOMES) + 3)
    for one in report.canaries:
        where = [one.exam, one.judge, "canaries"]
        yield [*where, "all", "agreement", len(one.known), one.agreement, *empty]
        for row, right in (("known right", True), ("known wrong", False)):
            mean, count = one.mean(right=right)
            yield [*where, row, "mark", count, mean, *empty]


def as_json(report: Report) -> str:
    """Return everything, as plain data; a published row's figures are a list, since their keys have three parts."""
    content = msgspec.to_builtins(report)
    for result in content["results"]:
        for one in result["beside"]:
            one["figures"] = [
                {"table": table, "row": row, "column": column, "mean": figure}
                for (table, row, column), figure in one["figures"].items()
            ]
    return json_text(content)


FORMATS: dict[str, Callable[[Report], str]] = {
    "terminal": as_terminal,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}
