"""What a published table is made of. Figures stay as printed; `figures` of a `Neighbour` alone are shares of 1."""

from __future__ import annotations

import re
from typing import Literal

from msgspec import Struct

Kind = Literal["model", "baseline", "human", "average", "ablation", "count", "run"]
"""What a row is about: a model; a guesser; people; the mean of other rows; a model under other sampling; in tables
of counts and settings no examinee at all; or a model of a run, put among the published ones."""

_SIZE_ALONE = re.compile(r"[\d.]+b(?:instruct)?")


class Source(Struct, frozen=True, kw_only=True):
    """Where a table stands."""

    paper: str
    """Authors, title, venue and year."""
    url: str
    table: str
    """"Table 2", or where the figures are if they are in no numbered table."""
    version: str
    """Of the paper, or of the leaderboard; a date where there is no number."""
    bibtex: str
    """Key of the paper's BibTeX entry."""

    @property
    def cited(self) -> str:
        """Paper, table and version in one phrase."""
        return ", ".join([self.paper, self.table, *([] if self.version in self.paper else [self.version])])


class Size(Struct, frozen=True):
    """Parameters in billions: all of them, and those that one token passes through; equal for dense models."""

    total: float
    active: float


class Column(Struct, frozen=True):
    """One column of figures. `unit`: "%", "questions", "billions", "coefficient", "answers", "points"."""

    name: str
    label: str
    unit: str = "%"


SAMPLING = "generation_parameters"
"""The word of temperature and top-p, as in "(0.2,0.9)"."""


class Entry(Struct, frozen=True, kw_only=True):
    """One row. `words` has what is no figure (family, type, access, ...); `figures` what is, by the column's name.

    A figure that was not published is absent.
    """

    model: str
    """As published; of tables of counts, what is counted."""
    figures: dict[str, float]
    words: dict[str, str] = {}
    size: Size | None = None
    kind: Kind = "model"

    @property
    def name(self) -> str:
        """The model, so that no two rows of a table are called alike: with its family where the table gives only its
        size ("StarCoder2 7B"), an ablation with its sampling ("GPT4-0613 at (0.4,0.9)").
        """
        if self.kind == "ablation":
            return f"{self.model} at {self.words[SAMPLING]}"
        alone = _SIZE_ALONE.fullmatch(plain(self.model)) and self.words.get("family")
        return f"{self.words['family']} {self.model}" if alone else self.model


class Table(Struct, frozen=True, kw_only=True):
    """One published table. `notes`: what contradicts itself or is odd, in words and numbers."""

    benchmark: str
    name: str
    title: str
    source: Source
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[Entry, ...]:
        """The rows that are models: no baseline, no people, no average, no ablation."""
        return tuple(entry for entry in self.entries if entry.kind == "model")


class Neighbour(Struct, frozen=True, kw_only=True):
    """A published row as it stands beside an exam's tables. Shares of 1."""

    model: str
    source: Source
    score: float | None
    """The figure beside the exam's headline; None where only parts of it were published."""
    figures: dict[tuple[str, str, str], float]
    """(layout, row, column) of the exam's tables → the published figure."""
    condition: str
    """How it was asked, and what is otherwise in this exam ("zero-shot, English; here: 5-shot")."""
    differs: tuple[str, ...] = ()
    """What is otherwise in this exam, a phrase each; empty where the settings are the published ones."""
    kind: Kind = "model"

    @property
    def name(self) -> str:
        """The model, as an entry has it."""
        return self.model


def plain(name: str) -> str:
    """Return a name without what people write differently: case, spaces, hyphens, underscores, brackets."""
    return re.sub(r"[\s_()\[\]-]+", "", name.casefold())


def share(percent: float) -> float:
    """Per cent as a share of 1, without the noise of the division."""
    return round(percent / 100, 10)
