"""Types of published tables. Figures stay as printed; only those of a `Neighbour` are shares of 1.

Also: finding a model's row, lenient in spelling, never in version; and a model's size, by its name or else by its
makers' statement (`sizes.csv`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Literal, TypeVar

from msgspec import Struct

from viva.errors import DataError
from viva.files import shipped_text
from viva.io.tables import read_csv

Kind = Literal["model", "baseline", "human", "average", "ablation", "count", "run"]
"""The kind of a row: a model; a guesser; people; the mean of other rows; a model under other sampling; a row of counts
or settings; or a model of a run, added to the published ones."""

_SIZE_ALONE = re.compile(r"[\d.]+b(?:instruct)?")


class Source(Struct, frozen=True, kw_only=True):
    """The source of a table."""

    paper: str
    """Authors, title, venue and year."""
    url: str
    table: str
    """"Table 2", or where the figures are if they are in no numbered table."""
    version: str
    """Version of the paper or leaderboard; a date if it has no number."""
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
"""The word column of temperature and top-p, as in "(0.2,0.9)"."""


class Entry(Struct, frozen=True, kw_only=True):
    """One row. `words`: column → text (family, type, access, ...); `figures`: column → number.

    A figure that was not published is absent.
    """

    model: str
    """The published name; in tables of counts, what is counted."""
    figures: dict[str, float]
    words: dict[str, str] = {}
    size: Size | None = None
    kind: Kind = "model"

    @property
    def name(self) -> str:
        """The model's name, unique in the table: with its family where the table gives only its size ("StarCoder2 7B"),
        and with its sampling for an ablation ("GPT4-0613 at (0.4,0.9)").
        """
        if self.kind == "ablation":
            return f"{self.model} at {self.words[SAMPLING]}"
        alone = _SIZE_ALONE.fullmatch(plain(self.model)) and self.words.get("family")
        return f"{self.words['family']} {self.model}" if alone else self.model


class Table(Struct, frozen=True, kw_only=True):
    """One published table. `notes`: its contradictions and oddities, in words and numbers."""

    benchmark: str
    name: str
    title: str
    source: Source
    columns: tuple[Column, ...]
    entries: tuple[Entry, ...]
    notes: tuple[str, ...] = ()

    @property
    def models(self) -> tuple[Entry, ...]:
        """The rows of kind "model"."""
        return tuple(entry for entry in self.entries if entry.kind == "model")


class Neighbour(Struct, frozen=True, kw_only=True):
    """A published row as an exam's tables show it. Shares of 1."""

    model: str
    source: Source
    score: float | None
    """The figure for the exam's headline; None where only parts of it were published."""
    figures: dict[tuple[str, str, str], float]
    """(layout, row, column) of the exam's tables → the published figure."""
    condition: str
    """The paper's settings, and how this exam differs ("zero-shot, English; here: 5-shot")."""
    differs: tuple[str, ...] = ()
    """Differences of this exam, a phrase each; () where its settings are the published ones."""
    kind: Kind = "model"

    @property
    def name(self) -> str:
        """The model, as an entry has it."""
        return self.model


def plain(name: str) -> str:
    """Return a name without what people write differently: case, spaces, hyphens, underscores, brackets."""
    return re.sub(r"[\s_()\[\]-]+", "", name.casefold())


def share(percent: float) -> float:
    """Return per cent as a share of 1, without rounding noise."""
    return round(percent / 100, 10)


N = TypeVar("N", Entry, Neighbour)


def find(rows: Sequence[N], model: str) -> N | None:
    """Return the row of a model: the same name but for case, spaces, hyphens, brackets, and a vendor's prefix.

    `openai/gpt-4-0613` is GPT-4-0613, `llama3-8b` is Llama3-8B. Nothing is guessed: a name without a version
    (gpt-3.5-turbo) may be any, so it has no row. Ablations, which differ only in sampling, are never found; nor is a
    name that two rows have.
    """
    wanted = plain(model.rpartition("/")[2])
    matching = [row for row in rows if row.kind != "ablation" and wanted == plain(row.name)]
    return matching[0] if len(matching) == 1 else None


def called(rows: Sequence[N], name: str, field: str = "") -> N:
    """Return the row of a user's name, given with the option `field`. Raises DataError with similar names."""
    row = find(rows, name)
    if row is None:
        near = " or ".join(repr(other.name) for other in similar(rows, name, 12))
        hint = f"do you mean {near}?" if near else "`viva published` lists the tables"
        raise DataError(f"no published row is called {name[:60]!r}; {hint}", field=field)
    return row


def similar(rows: Sequence[N], name: str, limit: int = 3) -> list[N]:
    """Return rows whose names begin like `name`: versions of a model for the user to choose from."""
    wanted = plain(name.rpartition("/")[2])
    if len(wanted) < 3:
        return []
    near = [(row, plain(row.name)) for row in rows if row.kind != "ablation"]
    return [row for row, other in near if other.startswith(wanted) or wanted.startswith(other)][:limit]


_NUMBER = r"(\d+(?:\.\d+)?)"
_STATED = re.compile(rf"{_NUMBER}\s*[bB](?:\s*/\s*{_NUMBER}\s*[bB])?", re.ASCII)
_IN_A_NAME = re.compile(rf"(?<![A-Za-z0-9.]){_NUMBER}[bB](?![A-Za-z0-9])", re.ASCII)
_MIXTURE = re.compile(r"\d+\s*[x×*]\s*\d+(?:\.\d+)?\s*b", re.IGNORECASE)


def stated(text: str) -> Size | None:
    """Parse a size such as "70B" or "16B / 2.8B" (all / active); None for "?" and anything else."""
    match = _STATED.fullmatch(text.strip())
    if match is None:
        return None
    total, active = float(match[1]), float(match[2] or match[1])
    return Size(total, active) if 0 < active <= total else None


def size(model_name: str) -> Size | None:
    """Return parameters of a model by its name: "Qwen1.5-110B", "openai/Mixtral-8x7B-Instruct", "16B / 2.8B".

    Nominal, as in the name (Llama2-7B: 7, although it has 6.74). A mixture of experts has neither number in its name,
    and needs an entry in `sizes.csv`. None where unknown, as for GPT-4; nothing is guessed.
    """
    if _STATED.fullmatch(model_name.strip()):
        return stated(model_name)
    name = model_name.rpartition("/")[2]
    listed = known(name)
    if listed is not None or _MIXTURE.search(name):
        return listed
    numbers = dict.fromkeys(_IN_A_NAME.findall(name))
    if len(numbers) != 1:
        return None
    billions = float(next(iter(numbers)))
    return Size(billions, billions) if billions else None


def known(name: str) -> Size | None:
    """Return the size in `sizes.csv`; a mixture of experts is also found by the beginning of its name."""
    wanted = plain(name)
    for key, listed in _listed().items():
        if wanted == key or (listed.active < listed.total and wanted.startswith(key)):
            return listed
    return None


@cache
def _listed() -> dict[str, Size]:
    text = shipped_text(__file__, "sizes.csv")
    return {
        plain(row["model"]): Size(float(row["total"]), float(row["active"]))
        for _, row in read_csv("sizes.csv", text)[1]
    }
