"""A report as terminal tables, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable

import msgspec

from viva.reports.result import Grid, Report, footnotes, grid, side_by_side, summary
from viva.reports.text import harmless, latex, markdown, visible
from viva.types import OUTCOMES

LEGEND = (
    "Per cent with 95 % intervals. Unparsed, empty, truncated and refused replies earn no point and stay in the "
    "denominator; what was not answered or not graded is left out of a mean (†) and kept in its bounds."
)


def _grids(report: Report, *, details: bool) -> list[Grid]:
    grids: list[Grid] = []
    for result in report.results:
        grids.extend(grid(table) for table in result.tables if details or not table.detail)
    grids.extend(side_by_side(report.results))
    if len(report.results) > 1:
        grids.append(summary(report.results))
    return [found for found in grids if found.rows]


def _closing(report: Report) -> list[str]:
    signatures = [f"signature: {result.signature}" for result in report.results]
    return [*footnotes(report.results), LEGEND, *report.notes, *signatures]


def as_terminal(report: Report, *, details: bool = False, width: int | None = None, colour: bool = False) -> str:
    """Tables for a terminal. Model text reaches it only through `visible`, never as markup."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    out = io.StringIO()
    console = Console(
        file=out,
        width=width or 200,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
    )
    for found in _grids(report, details=details):
        table = RichTable(title=Text(visible(found.title)), title_justify="left", title_style="bold")
        for index, name in enumerate(found.header):
            words = name in ("outcomes", "model", "exam") or index == 0
            table.add_column(Text(name), justify="left" if words else "right", overflow="fold")
        for row in found.rows:
            table.add_row(*(Text(visible(value)) for value in row))
        console.print(table)
    for line in _closing(report):
        console.print(Text(visible(line)), soft_wrap=True)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def as_markdown(report: Report) -> str:
    """Markdown tables."""
    lines: list[str] = []
    for found in _grids(report, details=True):
        lines += [f"### {markdown(found.title)}", ""]
        lines.append("| " + " | ".join(map(markdown, found.header)) + " |")
        lines.append("|" + "|".join("---" if index == 0 else "---:" for index in range(len(found.header))) + "|")
        lines += ["| " + " | ".join(map(markdown, row)) + " |" for row in found.rows]
        lines.append("")
    lines += [f"- {markdown(line)}" for line in _closing(report)]
    return "\n".join(lines) + "\n"


def as_latex(report: Report) -> str:
    """LaTeX tables (booktabs)."""
    lines: list[str] = ["% needs \\usepackage{booktabs}"]
    for found in _grids(report, details=True):
        lines += [r"\begin{table}", rf"\caption{{{latex(found.title)}}}"]
        lines += [rf"\begin{{tabular}}{{l{'r' * (len(found.header) - 1)}}}", r"\toprule"]
        lines += [" & ".join(map(latex, found.header)) + r" \\", r"\midrule"]
        lines += [" & ".join(map(latex, row)) + r" \\" for row in found.rows]
        lines += [r"\bottomrule", r"\end{tabular}", r"\end{table}", ""]
    lines += [f"% {' '.join(visible(line).split())}" for line in _closing(report)]
    return "\n".join(lines) + "\n"


def as_csv(report: Report) -> str:
    """One row a cell: shares in 0..1, counts of every outcome, the signature."""
    out = io.StringIO()
    table = csv.writer(out, lineterminator="\n")
    measures = ("n", "mean", "low", "high", "floor", "ceiling", "sd")
    table.writerow(["exam", "model", "table", "row", "column", *measures, *OUTCOMES, "signature"])
    for result in report.results:
        for found in result.tables:
            for label, cells in zip(found.rows, found.cells, strict=True):
                for column, cell in zip(found.columns, cells, strict=True):
                    values = [getattr(cell, measure) for measure in measures]
                    counts = [cell.outcomes.get(outcome, 0) for outcome in OUTCOMES]
                    where = [result.exam, result.model, found.name, label, column]
                    table.writerow([*map(harmless, where), *values, *counts, harmless(result.signature)])
    return out.getvalue()


def as_json(report: Report) -> str:
    """Everything, as plain data."""
    return msgspec.json.format(msgspec.json.encode(report), indent=2).decode() + "\n"


FORMATS: dict[str, Callable[[Report], str]] = {
    "terminal": as_terminal,
    "json": as_json,
    "csv": as_csv,
    "markdown": as_markdown,
    "latex": as_latex,
}
