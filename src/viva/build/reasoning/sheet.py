"""The collection sheet: one question per row, filled in by people with any spreadsheet program.

collection.csv has the columns of `COLUMNS`; further columns are kept as they are. collection.jsonl has one object per
line in the schema of the set. A row without question and answer is a place to fill in.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from itertools import count
from typing import Final, TypeAlias

from msgspec import Struct
from msgspec.structs import asdict

from viva.benchmarks.clrbench.schema import LETTERS, Record, Type
from viva.build.files import (
    LONGEST_CELL,
    Table,
    cell_name,
    clean,
    column_name,
    decoded,
    digest_of,
    read_table,
    tidy,
    written_table,
)
from viva.errors import DataError
from viva.fields import pick
from viva.files import shipped_table
from viva.io.tables import json_lines

NAMES: Final[dict[Type, str]] = {
    "MC": "multiple choice",
    "MS": "multi-select",
    "TF": "true or false",
    "FB": "fill in the blank",
    "OE": "open-ended",
}
TYPES: Final = tuple(NAMES)
CHOICES: Final = ("MC", "MS")
CELLS: Final = shipped_table(__file__, "cells.toml", dict[str, frozenset[str]])
"""Spellings that people use in cells, by meaning."""
DIFFICULTIES: Final = ("easy", "medium", "hard")


class Collected(Struct, frozen=True, kw_only=True):
    """A question that passed the checks of its row.

    `gold` is the right letter or letters ("ACD"), "true" or "false", or the answer's text; `accepted` are other
    wordings of it (FB). `row` is its row number in the sheet; `rationale` is the author's, or empty.
    """

    row: int
    id: str
    path: tuple[str, ...]
    type: Type
    question: str
    options: tuple[str, ...] = ()
    gold: str
    accepted: tuple[str, ...] = ()
    rationale: str = ""
    difficulty: str = ""
    source: str = ""
    exemplar: bool = False

    @property
    def lettered(self) -> list[str]:
        """The options with their letters."""
        return list(map("{}. {}".format, LETTERS, self.options))

    @property
    def gold_text(self) -> str:
        """The right answer in words."""
        if self.type in CHOICES:
            return "\n".join(option for option in self.lettered if option[0] in self.gold)
        return " / ".join((self.gold, *self.accepted))

    @property
    def asked(self) -> str:
        """Key of drafts: hash of question and right answer (32 hexadecimal digits)."""
        return digest_of([self.type, self.question, self.options, self.gold, self.accepted])


def as_item(question: Collected, rationale: str, name: str) -> Record:
    """Return a question with its approved rationale as a record of the set."""
    gold = question.gold
    answers = tuple(gold) if question.type == "MS" else (gold, *question.accepted) if question.accepted else ()
    return pick(
        Record,
        asdict(question),
        id=name,
        discipline=question.path[0],
        topic=question.path,
        answer=None if answers else gold == "true" if question.type == "TF" else gold,
        answers=answers,
        rationale=rationale,
    )


def approval_key(question: Collected, text: str) -> str:
    """Return a hash (32 hexadecimal digits) of what an approval covers: the question and a text of its rationale.

    Neither id nor row number is part of it, so that a sheet may be sorted.
    """
    return digest_of([question.asked, question.path, question.difficulty, question.source, text])


def slug(name: str) -> str:
    """Return `Operating Systems` → `operating-systems`, for ids; never empty, only a-z, 0-9 and hyphens."""
    bare = re.sub(r"[^a-z0-9]+", "-", name.casefold()).strip("-")[:60].strip("-")
    return bare if len(bare) > 1 else f"{bare}x{digest_of(name)[:8]}"


def as_type(text: str) -> Type | None:
    """Return the type for its letters or name in any spelling; None for anything else."""
    bare = re.sub(r"[^a-z]", "", text.casefold())
    return next((kind for kind in TYPES if bare in CELLS[kind]), None)


OFFERED = "ABCDEF"
"""Option columns of a new sheet; more may be added, up to Z."""
LEVELS = ("discipline", "topic", "subtopic")
COLUMNS = (
    "id", *LEVELS, "type", "question", *OFFERED, "answer", "also accepted", "rationale", "difficulty", "source",
    "exemplar",
)  # fmt: skip
NEEDED = ("discipline", "type", "question", "answer", "source")
_CONTENT = ("question", "answer", "also_accepted", "rationale", *LETTERS.lower())
_SINGLE = ("id", "type", "question", "rationale", "difficulty", "source")
_KNOWN = {*map(column_name, COLUMNS), *LETTERS.lower()}
Stub: TypeAlias = tuple[tuple[str, ...], Type]
"""A row to fill in: topic path, type."""


class Row(Struct, frozen=True):
    """A row of the sheet: the number that the spreadsheet shows, and column → text. `places` are column → position."""

    number: int
    cells: dict[str, str]
    places: dict[str, int]

    def where(self, column: str) -> str:
        """Return `row 5, column answer (M5)`; for JSONL without the cell."""
        title = column.replace("_", " ")
        if column not in self.places:
            return f"row {self.number}, column {title}"
        cell = cell_name(self.places[column], self.number)
        return f"row {self.number}, column {title.upper() if len(title) == 1 else title} ({cell})"

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    @property
    def filled(self) -> bool:
        """Whether any of the question's own cells is filled in."""
        return any(map(self.__getitem__, _CONTENT))

    def _up_to_last(self, columns: Iterable[str]) -> list[str]:
        """Return the cells of columns without the empty ones at their end."""
        texts = [self[column] for column in columns]
        while texts and not texts[-1]:
            texts.pop()
        return texts

    @property
    def path(self) -> tuple[str, ...]:
        """The topic path."""
        return tuple(map(tidy, self._up_to_last(LEVELS)))

    @property
    def options(self) -> tuple[str, ...]:
        """The options."""
        return tuple(self._up_to_last(LETTERS.lower()))

    @property
    def type(self) -> Type | None:
        """The type, None if it is none."""
        return as_type(self["type"])


class Sheet(Struct, frozen=True, kw_only=True):
    """A sheet as it was read; `merged` counts rows that repeated another one word for word."""

    name: str
    rows: list[Row]
    table: Table | None = None
    merged: int = 0

    @property
    def filled(self) -> list[Row]:
        """Rows in which a question was begun."""
        return [row for row in self.rows if row.filled]

    @property
    def stubs(self) -> Counter[tuple[tuple[str, ...], Type | None]]:
        """How many rows to fill in it has, by topic path and type."""
        return Counter((row.path, row.type) for row in self.rows if not row.filled)


def read_sheet(content: bytes, name: str) -> Sheet:
    """Read a CSV or JSONL sheet. Raises DataError if it is unreadable; `checks` reports other problems."""
    table = None if name.endswith(".jsonl") else read_table(content, name, _KNOWN)
    rows = list(_table_rows(table, name) if table else _json_rows(content, name))
    kept: list[Row] = []
    seen: set[frozenset[tuple[str, str]]] = set()
    for row in rows:  # repeated ones are what pasting two people's sheets together leaves; ids are not compared
        content_of_row = frozenset((column, text) for column, text in row.cells.items() if text and column != "id")
        if not row.filled or content_of_row not in seen:
            kept.append(row)
        seen.add(content_of_row)
    return Sheet(name=name, rows=kept, table=table, merged=len(rows) - len(kept))


def _table_rows(table: Table, name: str) -> Iterator[Row]:
    missing = [column for column in NEEDED if column not in table.columns]
    if missing:
        raise DataError(
            f"{name} has no column {missing[0]!r}; its first row must name the columns: {', '.join(COLUMNS)}"
            f" (`viva build clrbench sheet` writes such a file); it begins {', '.join(table.titles)[:120]!r}"
        )
    places = {column: place for place, column in enumerate(table.columns) if column in _KNOWN}
    if twice := [column for column in places if table.columns.count(column) > 1]:
        raise DataError(f"{name} has two columns {twice[0]!r}; rename one of them")
    for number, cells in table.rows:
        if any(cells[len(table.columns) :]):
            raise DataError(
                f"{name}, row {number} has {len(cells)} cells, the first row names {len(table.columns)}: a comma or "
                "semicolon inside a cell needs quotes around the cell"
            )
        for place, cell in enumerate(cells):
            if len(cell) > LONGEST_CELL:
                raise DataError(f"{name}, cell {cell_name(place, number)} has {len(cell):,} characters")
        named = dict(zip(table.columns, cells, strict=False))
        yield Row(number, {column: named[column] for column in places if column in named}, places)


def _json_rows(content: bytes, name: str) -> Iterator[Row]:
    text, _ = decoded(content, name)
    for number, row in json_lines(name, text.encode("utf-8", "replace"), dict[str, object]):
        yield Row(number, _cells(row, f"{name}, line {number}"), {})


def _cells(row: Mapping[str, object], where: str) -> dict[str, str]:
    """Convert a record of the schema to the cells of a row."""

    def text(column: str, value: object) -> str:
        if isinstance(value, bool):
            return "true" if value else "false"
        if not isinstance(value, (str, int, float, type(None))):
            raise DataError(f"{where}: {column} should be a text, it is {str(value)[:60]!r}")
        cell = clean("" if value is None else str(value))
        if len(cell) > LONGEST_CELL:
            raise DataError(f"{where}: {column} has {len(cell):,} characters")
        return cell

    def texts(column: str) -> list[str]:
        value = row.get(column)
        return [text(column, item) for item in (value if isinstance(value, list) else [value] if value else [])]

    path, discipline = texts("topic"), text("discipline", row.get("discipline"))
    if discipline and path and discipline != path[0]:
        raise DataError(f"{where}: discipline {discipline[:60]!r} is not the first of topic, {path[0][:60]!r}")
    if len(path) > len(LEVELS):
        raise DataError(f"{where}: topic has {len(path)} levels; there are at most {len(LEVELS)}")
    options = texts("options")
    if len(options) > len(LETTERS):
        raise DataError(f"{where}: {len(options)} options; there are letters for {len(LETTERS)}")
    answer, answers = text("answer", row.get("answer")), texts("answers")
    if as_type(str(row.get("type", ""))) == "MS":
        accepted = [", ".join(answers) or answer]
    else:
        accepted = [answer, *answers] if answer else answers
    return {
        **dict(zip(LEVELS, path or [discipline], strict=False)),
        **dict(zip(LETTERS.lower(), options, strict=False)),
        "answer": "".join(accepted[:1]),
        "also_accepted": "\n".join(accepted[1:]),
        **{column: text(column, row.get(column)) for column in _SINGLE},
        "exemplar": "x" if row.get("exemplar") else "",
    }


def new_sheet(stubs: Iterable[Stub]) -> bytes:
    """Return a sheet with one row to fill in per stub."""
    return written_table(COLUMNS, _stub_rows(stubs, map(column_name, COLUMNS)))


def _stub_rows(stubs: Iterable[Stub], columns: Iterable[str]) -> list[list[str]]:
    named = ({**dict(zip(LEVELS, path, strict=False)), "type": kind} for path, kind in stubs)
    titles = list(columns)
    return [[cells.get(column, "") for column in titles] for cells in named]


def refreshed(sheet: Sheet, stubs: Iterable[Stub]) -> bytes | None:
    """Return the sheet with ids for the questions that have none, and new rows to fill in at its end.

    Existing cells, columns and their order stay. None if there is nothing to add.
    """
    table = sheet.table
    if table is None:
        raise DataError(f"{sheet.name} is yours to write; only collection.csv is refreshed")
    before = [cells for _, cells in table.rows]
    rows = [*before, *_stub_rows(stubs, table.columns)]
    if "id" in table.columns:
        place, ids = table.columns.index("id"), given_ids(sheet)
        for index, (number, cells) in enumerate(table.rows):
            if number in ids and not any(cells[place : place + 1]):
                short = [""] * (place - len(cells))
                rows[index] = [*cells[:place], *short, ids[number], *cells[place + 1 :]]
    return None if rows == before else written_table(table.titles, rows, table.delimiter, table.encoding)


def given_ids(sheet: Sheet) -> dict[int, str]:
    """Return row number → id of filled rows with discipline and type: their own, or the next free slug/type/number."""
    taken = {row["id"] for row in sheet.rows}
    numbers: defaultdict[str, Iterator[int]] = defaultdict(partial(count, 1))
    ids: dict[int, str] = {}
    for row in sheet.filled:
        if row["id"]:
            ids[row.number] = row["id"]
        elif row.type and row["discipline"]:
            stem = f"{slug(row['discipline'])}/{row.type.lower()}"
            free = (name for number in numbers[stem] if (name := f"{stem}/{number}") not in taken)
            ids[row.number] = next(free)
    return ids
