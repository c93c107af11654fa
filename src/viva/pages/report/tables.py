"""Tables as a page shows them: cells that can be sorted by their number, and each table as CSV and LaTeX to save."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import msgspec

from viva.io.tables import CsvText
from viva.render.deciders import deciding_tables
from viva.render.formats import as_csv
from viva.render.markuptext import tables_latex
from viva.render.result import Report, Result, across_models, comparable, score_table, side_by_side, summary
from viva.render.table import Table
from viva.visible import csv_safe

_CELL = re.compile(r"(?P<shown>(?P<mean>[−-]?[\d,]+(?:\.\d+)?)(?:(?:–| to )-?[\d.]+)?†?)(?P<rest>.*)", re.DOTALL)
PageTable: TypeAlias = dict[str, Any]
"""What the template shows of a table: id, title, header (label, whether of words), rows of cells."""
MANY = 24
"""Results beyond which the tables of single models stay out of the page: those with a row a model hold their means."""


class TableMaker:
    """Gives every table its id, and keeps what is saved of it."""

    def __init__(self) -> None:
        self.downloads: dict[str, dict[str, str]] = {}
        """Id → what its files are called without the ending, and their content."""

    def table(self, found: Table, content: str = "", *, title: str = "") -> PageTable:
        """A table of the page; `content` is its CSV, the cells as they stand where that is not given."""
        number = len(self.downloads) + 1
        self.downloads[f"table-{number}"] = {
            "name": f"{number:02}-{_slug(found.title)}",
            "csv": content or printed_csv(found),
            "latex": tables_latex([found], []),
        }
        return {
            "id": f"table-{number}",
            "title": title or found.title,
            "header": list(zip(found.header, found.flush, strict=True)),
            "rows": [[_cell(*each) for each in zip(row, found.flush, strict=True)] for row in found.texts()],
        }

    def summary(self, report: Report) -> PageTable:
        """A row a model and exam, then the published rows beside them, exam by exam."""
        exams = dict.fromkeys(result.exam for result in report.results)
        beside = [row for exam in exams for row in _published(exam, report.results)]
        return self.table(summary(report.results, beside))

    def exam(self, report: Report, exam: str) -> dict[str, Any]:
        """All tables of one exam: over its models, then model by model unless they are too many for a page."""
        of_exam = [result for result in report.results if result.exam == exam]
        places = {f"{table.title} · {exam}": index for index, table in enumerate(of_exam[0].tables) if table.across}
        across = [
            self.table(found, as_csv(_only(report, of_exam, places[found.title]))) for found in across_models(of_exam)
        ]
        own = (
            []
            if len(report.results) > MANY
            else [(result.model, list(self._own(report, result))) for result in of_exam]
        )
        return {"exam": exam, "across": across, "models": own, "left_out": not own}

    def _own(self, report: Report, result: Result) -> Iterator[PageTable]:
        for index, table in enumerate(result.tables):
            found = score_table(table, result.beside)
            if found.rows and not (table.across and len(report.results) > 1):
                yield self.table(found, as_csv(_only(report, [result], index)), title=table.title)
        for found in deciding_tables(result.decided, f" · {result.exam} · {result.model}"):
            yield self.table(found, title=found.title.partition(" · ")[0])

    def languages(self, report: Report) -> list[PageTable]:
        """Languages beside each other, where a benchmark was asked in several."""
        return [self.table(found) for found in side_by_side(report.results) if found.rows]


def _published(exam: str, results: Sequence[Result]) -> list[tuple[str, str, float]]:
    """The published rows beside the models that sat an exam, best first."""
    of_exam = [result for result in results if result.exam == exam]
    beside = comparable({one.model: one for result in of_exam for one in result.beside}.values(), of_exam)
    scored = sorted((-one.score, one.model, one.score) for one in beside if one.score is not None)
    return [(name, exam, score) for _, name, score in scored]


def _only(report: Report, results: Sequence[Result], index: int) -> Report:
    """The report with one table of these results and nothing else."""
    kept = [
        msgspec.structs.replace(result, tables=(result.tables[index],))
        for result in results
        if len(result.tables) > index
    ]
    return msgspec.structs.replace(report, results=tuple(kept))


def printed_csv(found: Table) -> str:
    """The cells as they are printed."""
    table = CsvText([csv_safe(name) for name in found.header])
    table.add_all([csv_safe(text) for text in row] for row in found.texts())
    return table.text()


def _cell(text: str, word: bool) -> dict[str, str | bool]:
    """A cell: `rest`, which is shown smaller, is its interval, a deviation, a mark; the table is sorted by `value`."""
    found = None if word else _CELL.fullmatch(text.strip())
    if found is None:
        return {"text": text, "word": word, "rest": "", "value": ""}
    value = found["mean"].replace(",", "").replace("−", "-")
    return {"text": found["shown"], "word": word, "rest": found["rest"].strip(), "value": value}


def _slug(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-.")[:60].lower() or "table"
