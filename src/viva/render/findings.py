"""Results of studies: tables, notes and a chart, for output in one of six forms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, TypeVar

from viva.errors import EXIT_OK, VivaError, missing_extras
from viva.render.markuptext import TABLE_FORMATS, csv_text, json_text, tables_html
from viva.render.table import Records, Table
from viva.render.terminal import screen_terminal, tables_terminal

if TYPE_CHECKING:
    import polars as pl

    from viva.render.charts import Chart

F = TypeVar("F")
Drawing: TypeAlias = "Callable[[], Chart] | None"
"""Draws a study's chart on demand; None for a study without one."""


@dataclass(frozen=True, repr=False, kw_only=True)
class Findings(Generic[F]):
    """The findings of one study. Shares are shares of 1 in `rows`, CSV, JSON and the frame, and per cent in print."""

    found: F
    """The computed result, for programs."""
    shown: Sequence[Table]
    """The printed tables; one without a titled column is in JSON only."""
    rows: Table
    """The rows of CSV, the frame and JSON's `rows`."""
    notes: Sequence[str]
    """The lines below the tables: how to read them, and what they leave out."""
    first: tuple[Sequence[Table], Sequence[str]] | None = None
    """Tables and notes for one screen, if different."""
    terminal: tuple[Sequence[Table], Sequence[str]] | None = None
    """Tables and notes for a terminal or a notebook, if different."""
    more: str = "--all"
    """The option that shows what one screen leaves out."""
    content: Callable[[], Mapping[str, Any]] | None = None
    """The content of JSON, if not these tables."""
    wide: int | None = None
    """Width in columns of an output of unknown width."""
    undivided: str = ""
    """Error message if no CSV or frame can hold all rows, with the remedy; "" if it can."""
    drawing: Drawing = None
    """Raises VivaError for what a chart cannot show."""
    exit_code: int = EXIT_OK
    """The command's exit code."""
    verdict: str = ""
    """A sentence on stderr after the tables, such as why the exit code is not 0."""
    announced: bool = False
    """Whether tables are also printed if --out gets the rows as CSV, because only tables have the uncertainty."""
    empty: bool = False
    """Whether there is nothing to print."""

    def tables(self) -> list[Table]:
        """Return the printed tables."""
        return _printed(self.shown)

    @missing_extras()
    def chart(self) -> Chart | None:
        """Return an Altair chart; None for a study without one. Raises VivaError for results that one chart cannot
        show.
        """
        return self.drawing() if self.drawing else None

    def to_terminal(self, width: int | None = None, *, colour: bool = False) -> str:
        """Return the whole tables for a terminal of `width` columns."""
        shown, notes = self.terminal or (self.shown, self.notes)
        return tables_terminal(_printed(shown), notes, width=width or self.wide, colour=colour)

    def to_screen(self, width: int | None = None, *, colour: bool = False) -> str:
        """Return the default output of a command: tables cut to one screen."""
        shown, notes = self.first or (self.shown, self.notes)
        return screen_terminal(_printed(shown), notes, width=width, colour=colour, more=self.more)

    def to_text(self, form: str = "terminal", *, width: int | None = None, colour: bool = False) -> str:
        """Return the text in a form of `--format`: terminal, json, csv, markdown or latex; `width`: of the terminal, in
        columns.
        """
        if form == "terminal":
            return self.to_terminal(width, colour=colour)
        if form == "json":
            return self.to_json()
        return self.to_csv() if form == "csv" else TABLE_FORMATS[form](self.tables(), self.notes)

    def to_csv(self) -> str:
        """Return the rows as CSV, numbers in the format of their columns, without formulas that a spreadsheet would
        run.
        """
        return csv_text(*self.records(written=True))

    def to_json(self) -> str:
        """Return everything, as `--format json` prints it."""
        return json_text(self.data())

    @missing_extras()
    def to_frame(self) -> pl.DataFrame:
        """Return the rows as a Polars frame with unescaped texts; columns with a format are numeric even if empty."""
        import polars as pl

        header, rows = self.records()
        frame = pl.DataFrame(list(rows), schema=header, orient="row", infer_schema_length=None, strict=False)
        numbers = [name for column in self.rows.columns if column.form and (name := column.name)]
        return frame.with_columns(pl.col(numbers).cast(pl.Float64))

    def records(self, *, written: bool = False) -> Records:
        """Return column names and rows, unrounded. Raises VivaError where rows are of several kinds."""
        if self.undivided:
            raise VivaError(self.undivided)
        return self.rows.records(written=written)

    def data(self) -> Mapping[str, Any]:
        """Return the content of JSON: `rows` as in CSV, `tables` as printed but unrounded, and `notes`."""
        if self.content:
            return self.content()
        return {"rows": self.rows.data()["rows"], "tables": [table.data() for table in self.shown], "notes": self.notes}

    def __repr__(self) -> str:
        return self.to_text().rstrip("\n")

    def _repr_html_(self) -> str:
        shown, notes = self.terminal or (self.shown, self.notes)
        return tables_html(_printed(shown), notes)


def _printed(tables: Sequence[Table]) -> list[Table]:
    return [table for table in tables if table.printed]
