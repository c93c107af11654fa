"""The collection sheet: one question per row, filled in by people with any spreadsheet program.

collection.csv has the columns of `COLUMNS`; further columns are kept as they are. collection.jsonl has one object per
line in the schema of the set. A row without question and answer is a place to fill in.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

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

TYPES: Final[tuple[Type, ...]] = ("MC", "MS", "TF", "FB", "OE")
NAMES: Final[dict[Type, str]] = {
    "MC": "multiple choice",
    "MS": "multi-select",
    "TF": "true or false",
    "FB": "fill in the blank",
    "OE": "open-ended",
}
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
        return [f"{letter}. {text}" for letter, text in zip(LETTERS, self.options, strict=False)]

    @property
    def gold_text(self) -> str:
        """The right answer in words."""
        if self.type in ("MC", "MS"):
            return "\n".join(self.lettered[LETTERS.index(letter)] for letter in self.gold)
        return " / ".join((self.gold, *self.accepted)) if self.type == "FB" else self.gold

    @property
    def asked(self) -> str:
        """Key of drafts: hash of question and right answer (32 hexadecimal digits)."""
        return digest_of([self.type, self.question, self.options, self.gold, self.accepted])


def as_item(question: Collected, rationale: str, name: str) -> Record:
    """Return a question with its approved rationale as a record of the set."""
    gold = question.gold == "true" if question.type == "TF" else question.gold
    answers = tuple(question.gold) if question.type == "MS" else ()
    if question.accepted:
        answers = (question.gold, *question.accepted)
    return pick(
        Record,
        msgspec.structs.asdict(question),
        id=name,
        discipline=question.path[0],
        topic=question.path,
        answer=None if answers else gold,
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
COLUMNS = (
    "id", "discipline", "topic", "subtopic", "type", "question", *OFFERED, "answer", "also accepted", "rationale",
    "difficulty", "source", "exemplar",
)  # fmt: skip
NEEDED = ("discipline", "type", "question", "answer", "source")
_CONTENT = ("question", "answer", "also_accepted", "rationale", *LETTERS.lower())
_KNOWN = {*map(column_name, COLUMNS), *LETTERS.lower()}


class Row(Struct, frozen=True):
    """A row of the sheet: the number that the spreadsheet shows, and column → text. `places` are column → position."""

    number: int
    cells: dict[str, str]
    places: dict[str, int]

    def where(self, column: str) -> str:
        """Return `row 5, column answer (M5)`; for JSONL without the cell."""
        if column not in self.places:
            return f"row {self.number}, column {column.replace('_', ' ')}"
        title = column.upper() if len(column) == 1 else column.replace("_", " ")
        return f"row {self.number}, column {title} ({cell_name(self.places[column], self.number)})"

    def __getitem__(self, column: str) -> str:
        return self.cells.get(column, "")

    @property
    def filled(self) -> bool:
        """Whether any of the question's own cells is filled in."""
        return any(self[column] for column in _CONTENT)

    @property
    def path(self) -> tuple[str, ...]:
        """The topic path without empty levels at its end."""
        path = [self["discipline"], self["topic"], self["subtopic"]]
        while path and not path[-1]:
            path.pop()
        return tuple(map(tidy, path))


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


def read_sheet(content: bytes, name: str) -> Sheet:
    """Read a CSV or JSONL sheet. Raises DataError if it is unreadable; `checks` reports other problems."""
    if name.endswith(".jsonl"):
        return _without_repeats(Sheet(name=name, rows=list(_json_rows(content, name))))
    table = read_table(content, name, _KNOWN)
    missing = [column for column in NEEDED if column not in table.columns]
    if missing:
        raise DataError(
            f"{name} has no column {missing[0]!r}; its first row must name the columns: {', '.join(COLUMNS)}"
            f" (`viva build clrbench sheet` writes such a file); it begins {', '.join(table.titles)[:120]!r}"
        )
    twice = [column for column, times in Counter(table.columns).items() if times > 1 and column in _KNOWN]
    if twice:
        raise DataError(f"{name} has two columns {twice[0]!r}; rename one of them")
    places = {column: index for index, column in enumerate(table.columns) if column in _KNOWN}
    rows: list[Row] = []
    for number, cells in table.rows:
        if any(cells[len(table.columns) :]):
            raise DataError(
                f"{name}, row {number} has {len(cells)} cells, the first row names {len(table.columns)}: a comma or "
                "semicolon inside a cell needs quotes around the cell"
            )
        long = next((index for index, cell in enumerate(cells) if len(cell) > LONGEST_CELL), None)
        if long is not None:
            raise DataError(f"{name}, cell {cell_name(long, number)} has {len(cells[long]):,} characters")
        rows.append(
            Row(number, {column: cells[index] for column, index in places.items() if index < len(cells)}, places)
        )
    return _without_repeats(Sheet(name=name, rows=rows, table=table))


def _without_repeats(sheet: Sheet) -> Sheet:
    """Drop repeated rows, which pasting two people's sheets together leaves; ids are not compared."""
    seen: dict[tuple[tuple[str, str], ...], int] = {}
    kept: list[Row] = []
    for row in sheet.rows:
        content = tuple(sorted((column, text) for column, text in row.cells.items() if text and column != "id"))
        if row.filled and content in seen:
            continue
        seen[content] = row.number
        kept.append(row)
    return msgspec.structs.replace(sheet, rows=kept, merged=len(sheet.rows) - len(kept))


def _json_rows(content: bytes, name: str) -> Iterable[Row]:
    text, _ = decoded(content, name)
    for number, row in json_lines(name, text.encode("utf-8", "replace"), dict[str, object]):
        yield Row(number, _cells(row, f"{name}, line {number}"), {})


def _cells(row: Mapping[str, object], where: str) -> dict[str, str]:
    """Convert a record of the schema to the cells of a row."""

    def texts(column: str) -> list[str]:
        value = row.get(column)
        values = value if isinstance(value, list) else [value] if value else []
        return [_text(item, where, column) for item in values]

    path = texts("topic") or texts("discipline")
    discipline = _text(row.get("discipline"), where, "discipline")
    if discipline and path and discipline != path[0]:
        raise DataError(f"{where}: discipline {discipline[:60]!r} is not the first of topic, {path[0][:60]!r}")
    if len(path) > 3:
        raise DataError(f"{where}: topic has {len(path)} levels; there are at most 3")
    options = texts("options")
    if len(options) > len(LETTERS):
        raise DataError(f"{where}: {len(options)} options; there are letters for {len(LETTERS)}")
    single = ("id", "type", "question", "rationale", "difficulty", "source")
    answer = _text(row.get("answer"), where, "answer")
    answers = texts("answers")
    if as_type(str(row.get("type", ""))) == "MS":
        answer, answers = ", ".join(answers) or answer, []
    elif not answer and answers:
        answer, *answers = answers
    return {
        **dict(zip(("discipline", "topic", "subtopic"), path, strict=False)),
        **dict(zip(LETTERS.lower(), options, strict=False)),
        "answer": answer,
        "also_accepted": "\n".join(answers),
        **{column: _text(row.get(column), where, column) for column in single},
        "exemplar": "x" if row.get("exemplar") else "",
    }


def _text(value: object, where: str, column: str) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None or isinstance(value, (str, int, float)):
        text = clean("" if value is None else str(value))
        if len(text) > LONGEST_CELL:
            raise DataError(f"{where}: {column} has {len(text):,} characters")
        return text
    raise DataError(f"{where}: {column} should be a text, it is {str(value)[:60]!r}")


def new_sheet(stubs: Iterable[tuple[tuple[str, ...], Type]]) -> bytes:
    """Return a sheet with one row to fill in per stub (topic path, type)."""
    return written_table(COLUMNS, [[_stub(column_name(title), *stub) for title in COLUMNS] for stub in stubs])


def refreshed(sheet: Sheet, stubs: Iterable[tuple[tuple[str, ...], Type]]) -> bytes | None:
    """Return the sheet with ids for the questions that have none, and new rows to fill in at its end.

    Existing cells, columns and their order stay. None if there is nothing to add.
    """
    table = sheet.table
    if table is None:
        raise DataError(f"{sheet.name} is yours to write; only collection.csv is refreshed")
    added = [[_stub(column, *stub) for column in table.columns] for stub in stubs]
    rows = [list(cells) for _, cells in table.rows]
    ids = given_ids(sheet)
    named = False
    if "id" in table.columns:
        place = table.columns.index("id")
        for (number, _), cells in zip(table.rows, rows, strict=True):
            if number in ids and not (cells[place] if place < len(cells) else ""):
                cells.extend([""] * (place + 1 - len(cells)))
                cells[place], named = ids[number], True
    if not added and not named:
        return None
    return written_table(table.titles, [*rows, *added], table.delimiter, table.encoding)


def _stub(column: str, path: tuple[str, ...], kind: Type) -> str:
    named = dict(zip(("discipline", "topic", "subtopic"), path, strict=False))
    return {**named, "type": kind}.get(column, "")


def stub_places(sheet: Sheet | None, path: tuple[str, ...], kind: Type) -> int:
    """Count the sheet's rows to fill in for a concept and a type."""
    rows = sheet.rows if sheet else []
    return sum(not row.filled and row.path == path and as_type(row["type"]) == kind for row in rows)


def given_ids(sheet: Sheet) -> dict[int, str]:
    """Return row number → id of filled rows with discipline and type: their own, or the next free slug/type/number."""
    taken = {row["id"] for row in sheet.rows if row["id"]}
    following: Counter[str] = Counter()
    ids: dict[int, str] = {}
    for row in sheet.filled:
        kind = as_type(row["type"])
        if row["id"]:
            ids[row.number] = row["id"]
        elif kind and row["discipline"]:
            stem = f"{slug(row['discipline'])}/{kind.lower()}"
            following[stem] += 1
            while f"{stem}/{following[stem]}" in taken:
                following[stem] += 1
            ids[row.number] = f"{stem}/{following[stem]}"
    return ids
