"""What a study returns: tables, notes, a chart; printed, written or given to a program in one of six forms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from viva.errors import EXIT_OK
from viva.render.grids import WORDS
from viva.render.printing import Drawing, Records, StudyResult
from viva.render.table import Grid, Table

F = TypeVar("F")


@dataclass(frozen=True, repr=False, kw_only=True)
class Findings(StudyResult, Generic[F]):
    """The findings of one study. Shares are shares of 1 in `rows`, CSV, JSON and the frame, and per cent in print."""

    found: F
    """What the study computed, for a program that goes on with it."""
    shown: Sequence[Table]
    """The tables that people see; one without a titled column is in JSON only."""
    rows: Table
    """What CSV, the frame and JSON's `rows` hold."""
    notes: Sequence[str]
    """The lines below the tables: how to read them, and what they leave out."""
    first: tuple[Sequence[Table], Sequence[str]] | None = None
    """Tables and lines for one screen where they are not the same."""
    drawing: Drawing = None
    exit_code: int = EXIT_OK
    verdict: str = ""
    words = WORDS

    def tables(self) -> list[Grid]:
        """The tables as texts."""
        return [table.grid() for table in self.shown if table.printed]

    def closing(self) -> list[str]:
        """The lines below the tables."""
        return list(self.notes)

    def overview(self) -> tuple[Sequence[Grid], Sequence[str]]:
        """The tables and lines of one screen."""
        shown, notes = self.first or (self.shown, self.notes)
        return [table.grid() for table in shown if table.printed], notes

    def records(self) -> Records:
        """Column names and rows, unrounded."""
        return self.rows.records()

    def data(self) -> Mapping[str, Any]:
        """Return what JSON holds: `rows` as in the CSV, `tables` as they are printed but unrounded, and `notes`."""
        return {"rows": self.rows.data()["rows"], "tables": [table.data() for table in self.shown], "notes": self.notes}
