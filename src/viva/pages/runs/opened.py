"""A run opened to be looked at: what this page needs of it, brought by whoever starts the page (the command line)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Protocol

from msgspec import Struct

from viva.analysis.estimate import Estimate
from viva.engine.stages import Evaluation, EvidenceStore
from viva.types import ScoreRow


class Grid(Protocol):
    """A table as strings."""

    @property
    def title(self) -> str:
        """What it is about."""
        ...

    @property
    def header(self) -> Sequence[str]:
        """The columns."""
        ...

    @property
    def rows(self) -> Sequence[Sequence[str]]:
        """As many texts as columns, each."""
        ...


class ResultRow(Struct, frozen=True, kw_only=True):
    """One model's result on one exam, to be drawn."""

    exam: str
    model: str
    estimate: Estimate


class Tables(Struct, frozen=True, kw_only=True):
    """A run's tables: over all models, of every sitting (model and exam), and what belongs below."""

    results: Sequence[ResultRow]
    took: Grid | None = None
    """What answers took; None where nobody counted."""
    first: Sequence[Grid]
    languages: Sequence[Grid] = ()
    """Models that were asked in several languages, language beside language."""
    each: Sequence[tuple[str, str, Sequence[Grid]]] = ()
    """Exam, model, tables."""
    notes: Sequence[str] = ()


class Opened(Struct, frozen=True, kw_only=True):
    """What is done with a run's files."""

    evaluations: Sequence[Evaluation]
    signatures: Sequence[str]
    """What produced the numbers of each sitting."""
    open_evidence: Callable[[ExitStack], EvidenceStore]
    """All that was found out about the answers; the stack closes it."""
    tables: Callable[[Sequence[Sequence[ScoreRow]]], Tables]
    """From the rows of each sitting."""


Opener = Callable[[Path], Opened]
"""Opens a run folder. Raises VivaError for one whose questions or models cannot be opened, saying why."""

ResultsReader = Callable[[Path], Sequence[ResultRow]]
"""The results of a run, as `viva runs` lists them. Raises VivaError for one that is not graded, or changed since."""
