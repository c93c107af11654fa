"""What a study found, and the forms in which it is printed, by the names of `--format`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from viva.errors import EXIT_OK, missing_extras
from viva.io.tables import CsvText
from viva.render.grids import TABLE_FORMATS, WORDS, grids_terminal
from viva.render.notebook import tables_html
from viva.render.screen import screen_terminal
from viva.render.table import Grid
from viva.render.text import json_text
from viva.visible import csv_safe

if TYPE_CHECKING:
    import polars as pl

    from viva.render.charts import Chart

Records: TypeAlias = tuple[Sequence[str], Iterable[Sequence[object]]]
"""Column names and rows."""
Drawing: TypeAlias = "Callable[[], Chart] | None"
"""A chart that is drawn when it is asked for; None where a study has none."""


class StudyResult(ABC):
    """What a study found: tables for people, a frame and plain data for programs, and a chart where there is one."""

    words: Collection[str] = WORDS
    """Columns of words, which are set flush left."""
    announced: ClassVar[bool] = False
    """Whether it is printed also where --out takes the rows as CSV: what they are worth is in the tables alone."""

    exit_code: int = EXIT_OK
    """What the command ends with."""
    verdict: str = ""
    """A sentence on stderr after the tables, such as why the exit code is not 0."""
    empty: bool = False
    """Whether there is nothing to print."""

    @abstractmethod
    def tables(self) -> list[Grid]:
        """Tables of texts, as they are printed."""

    @abstractmethod
    def closing(self) -> list[str]:
        """The lines below the tables: how to read them, and what they leave out."""

    @abstractmethod
    def records(self) -> Records:
        """Column names and rows, unrounded: what a CSV file and a frame hold."""

    @abstractmethod
    def data(self) -> object:
        """Everything, as plain data: what the JSON holds."""

    drawing: Drawing = None
    """Given by the study, which knows tables and chart. Raises VivaError for what a chart cannot show."""

    @missing_extras()
    def chart(self) -> Chart | None:
        """An Altair chart; None where a study has none. Raises VivaError for what one chart cannot show."""
        return self.drawing() if self.drawing else None

    @missing_extras()
    def to_frame(self) -> pl.DataFrame:
        """The rows of the CSV file as a Polars frame; nothing in its texts is escaped."""
        import polars as pl

        header, rows = self.records()
        return pl.DataFrame(list(rows), schema=list(header), orient="row", infer_schema_length=None, strict=False)

    def to_csv(self) -> str:
        """The rows as CSV, with nothing that a spreadsheet would run."""
        return csv_text(*self.records())

    def to_json(self) -> str:
        """Everything, as `--format json` prints it."""
        return json_text(self.data())

    def to_terminal(self, width: int | None = None, *, colour: bool = False) -> str:
        """Tables as a terminal shows them, in so many columns."""
        return grids_terminal(self.tables(), self.closing(), width=width, colour=colour, words=self.words)

    def overview(self) -> tuple[Sequence[Grid], Sequence[str]]:
        """The tables and lines of one screen, the most important ones first; what does not fit is left out."""
        return self.tables(), self.closing()

    def to_screen(self, width: int | None = None, *, colour: bool = False) -> str:
        """What a command prints unless everything is asked for: one screen, in so many columns."""
        grids, closing = self.overview()
        return screen_terminal([grid.table(self.words) for grid in grids], closing, width=width, colour=colour)

    def to_text(self, form: str = "terminal", *, width: int | None = None, colour: bool = False) -> str:
        """In a form of `--format`: terminal, json, csv, markdown or latex; `width`: of the terminal, in columns."""
        if form == "terminal":
            return self.to_terminal(width, colour=colour)
        if form == "json":
            return self.to_json()
        if form == "csv":
            return self.to_csv()
        return TABLE_FORMATS[form]([grid.table(self.words) for grid in self.tables()], self.closing())

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")

    def _repr_html_(self) -> str:
        return tables_html([grid.table(self.words) for grid in self.tables()], self.closing())


def csv_text(header: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV, with nothing that a spreadsheet would run."""
    table = CsvText(header)
    table.add_all([csv_safe(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return table.text()
