"""A run in one table: a line a model and exam, and the few things that must be known to read it (`--summary`)."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

from viva.analysis.breakdown import Cell
from viva.reports.consumption import consumption_grid, cut_off_notes
from viva.reports.grids import WORDS, grids_terminal
from viva.reports.result import RANGE, UNSURE, Grid, Report, Result, counted, percent, score_text, zeroed_text
from viva.types import UNANSWERED, outcome_name
from viva.visible import one_line

WIDTH = 120
"""Characters where nobody says how wide it may be: in a file or a pipe."""
NOTES = 4
"""Notes of a run that are shown; the others are counted."""
_HEADER = ("model", "exam", "score", "95 % interval", "", "other outcomes", "not scored")
"""The fifth is called by what it counts."""
_PLAIN = frozenset({"right", "wrong"})


def summary_grid(results: Sequence[Result]) -> Grid:
    """A line a model and exam. One model alone stands in the title; columns in which nothing stands are left out."""
    models = list(dict.fromkeys(result.model for result in results))
    title = "Scores in per cent" + (f" · {models[0]}" if len(models) == 1 else "")
    unit, counts = counted([result.overall for result in results])
    header = tuple(name or unit for name in _HEADER)
    rows = [
        (result.model, result.exam, *_cells(result.overall, count))
        for result, count in zip(results, counts, strict=True)
    ]
    filled = [
        name not in ("model", "other outcomes", "not scored")
        or (name == "model" and len(models) > 1)
        or (name != "model" and any(row[at] for row in rows))
        for at, name in enumerate(header)
    ]

    def kept(row: Sequence[str]) -> tuple[str, ...]:
        return tuple(text for text, some in zip(row, filled, strict=True) if some)

    return Grid(title, kept(header), tuple(map(kept, rows)))


def _cells(cell: Cell, count: str) -> tuple[str, ...]:
    others = [(name, number) for name, number in cell.outcomes.items() if number and name not in _PLAIN]
    return (
        score_text(cell) + zeroed_text(cell),
        "" if cell.low is None else f"{percent(cell.low)}–{percent(cell.high)}",
        count,
        _counted([one for one in others if one[0] not in UNANSWERED]),
        _counted([one for one in others if one[0] in UNANSWERED]),
    )


def _counted(outcomes: Sequence[tuple[str, int]]) -> str:
    return ", ".join(f"{outcome_name(name)} {count:,}" for name, count in outcomes)


def summary_lines(report: Report) -> list[str]:
    """What must be known beside the table, a line each."""
    lines: list[str] = []
    cells = [(result.overall, result.judged) for result in report.results]
    if any(not cell.complete and not cell.one_sided for cell, _ in cells):
        judge = any(cell.outcomes.get("ungraded") and not judged for cell, judged in cells)
        hint = "; open answers and rationales need --judge MODEL, programs a sandbox (viva toolchains)" if judge else ""
        zero = "; (0: …) counts answers not judged 0" if any(cell.zeroed is not None for cell, _ in cells) else ""
        lines.append(f"{UNSURE} the mean leaves out what was not scored{zero}{hint}.")
    if any(cell.one_sided for cell, _ in cells):
        lines.append(f"{UNSURE} after a range: {RANGE}. `viva resume` with --judge MODEL gives a mean.")
    lines += cut_off_notes(report.results)
    lines += report.notes[:NOTES]
    if len(report.notes) > NOTES:
        lines.append(f"{len(report.notes) - NOTES} more notes: viva score {one_line(report.run, 200)}")
    return lines


def summary_terminal(report: Report, *, width: int | None = None, colour: bool = False) -> str:
    """The table and its lines for a terminal, `WIDTH` wide where it is none."""
    grid, words = summary_grid(report.results), {*WORDS, "other outcomes", "not scored"}
    wide = width or WIDTH
    lines = [fill(line, wide, break_long_words=False, break_on_hyphens=False) for line in summary_lines(report)]
    took = consumption_grid(report.results)
    return grids_terminal([grid, *([took] if took.rows else [])], lines, width=wide, colour=colour, words=words)
