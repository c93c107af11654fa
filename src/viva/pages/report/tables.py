"""Tables as a page shows them: cells that can be sorted by their number, and each table as CSV and LaTeX to save."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from viva.io.tables import CsvText
from viva.render.deciders import deciding_tables
from viva.render.formats import as_csv
from viva.render.result import Report, Result, across_models, comparable, score_table, side_by_side, summary
from viva.render.table import Table
from viva.render.text import tables_latex
from viva.visible import csv_safe

_CELL = re.compile(r"(?P<shown>(?P<mean>[−-]?[\d,]+(?:\.\d+)?)(?:(?:–| to )-?[\d.]+)?†?)(?P<rest>.*)", re.DOTALL)
MANY = 24
"""Results beyond which the tables of single models stay out of the page: those with a row a model hold their means."""


class PageCell(Struct, frozen=True):
    """One cell: a number with its counts and bounds, or a text."""

    text: str
    rest: str = ""
    """The interval, a deviation, a mark: shown smaller."""
    value: str = ""
    """What the table is sorted by; "" for the text itself."""
    word: bool = False


class PageTable(Struct, frozen=True, kw_only=True):
    """One table of the page."""

    id: str
    title: str
    header: tuple[tuple[str, bool], ...]
    """(label, whether the column holds words)"""
    rows: tuple[tuple[PageCell, ...], ...]
    file: str
    """What its files are called, without the ending."""
    csv: str
    latex: str


class ExamTables(Struct, frozen=True, kw_only=True):
    """The tables of one exam: over its models, then model by model."""

    exam: str
    across: tuple[PageTable, ...]
    models: tuple[tuple[str, tuple[PageTable, ...]], ...]
    left_out: bool = False
    """Whether the models' own tables are too many for a page."""


class TableMaker:
    """Gives every table its id."""

    def __init__(self) -> None:
        self._made = 0

    def table(self, found: Table, content: str = "", *, title: str = "") -> PageTable:
        """A table of the page; `content` is its CSV, the cells as they stand where that is not given."""
        self._made += 1
        words, texts = found.flush, found.texts()
        return PageTable(
            id=f"table-{self._made}",
            title=title or found.title,
            header=tuple(zip(found.header, words, strict=True)),
            rows=tuple(tuple(_cell(text, word) for text, word in zip(row, words, strict=True)) for row in texts),
            file=f"{self._made:02}-{_slug(found.title)}",
            csv=content or printed_csv(found),
            latex=tables_latex([found], []),
        )

    def summary(self, report: Report) -> PageTable:
        """A row a model and exam, then the published rows beside them, exam by exam."""
        exams = dict.fromkeys(result.exam for result in report.results)
        beside = [row for exam in exams for row in _published(exam, report.results)]
        return self.table(summary(report.results, beside))

    def exam(self, report: Report, exam: str) -> ExamTables:
        """All tables of one exam."""
        of_exam = [result for result in report.results if result.exam == exam]
        places = {f"{table.title} · {exam}": index for index, table in enumerate(of_exam[0].tables) if table.across}
        across = [
            self.table(found, as_csv(_only(report, of_exam, places[found.title]))) for found in across_models(of_exam)
        ]
        own = (
            []
            if len(report.results) > MANY
            else [(result.model, tuple(self._own(report, result))) for result in of_exam]
        )
        return ExamTables(exam=exam, across=tuple(across), models=tuple(own), left_out=not own)

    def _own(self, report: Report, result: Result) -> Iterator[PageTable]:
        for index, table in enumerate(result.tables):
            found = score_table(table, result.beside)
            if found.rows and not (table.across and len(report.results) > 1):
                yield self.table(found, as_csv(_only(report, [result], index)), title=table.title)
        for found in deciding_tables(result.decided, f" · {result.exam} · {result.model}"):
            yield self.table(found, title=found.title.partition(" · ")[0])

    def languages(self, report: Report) -> tuple[PageTable, ...]:
        """Languages beside each other, where a benchmark was asked in several."""
        return tuple(self.table(found) for found in side_by_side(report.results) if found.rows)


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


def _cell(text: str, word: bool) -> PageCell:
    found = None if word else _CELL.fullmatch(text.strip())
    if found is None:
        return PageCell(text, word=word)
    value = found["mean"].replace(",", "").replace("−", "-")
    return PageCell(found["shown"], rest=found["rest"].strip(), value=value)


def _slug(title: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "-", title).strip("-.")[:60].lower() or "table"
