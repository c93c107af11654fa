"""Scores, answers and questions as Parquet tables: their columns, and the rows of each.

Every column is a `Column`, with what it means: the docs, the card and the Croissant metadata say the same. Columns of
tags, parts, deciders and verdicts differ from set to set; they are named after what they hold (`tag_domain`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import polars as pl
from msgspec import Struct

from viva.engine.answerrecord import Answer
from viva.interop.writing.runrecords import utc
from viva.interop.writing.safetext import clean, cleaned, encoded
from viva.types import Question, ScoreRow
from viva.visible import one_line

MOST_ROWS = 20_000
MOST_CHARACTERS = 1 << 25
"""Most rows, and characters of their texts, in memory at once and in one shard."""
_MOST_NAMES = 200
"""Most columns of one family, such as tags; further names are left out, since a hostile file can have any number."""

Kind = Literal["text", "integer", "number", "moment", "texts", "numbers", "turns", "said"]
_TYPES: dict[Kind, Any] = {
    "text": pl.String,
    "integer": pl.Int64,
    "number": pl.Float64,
    "moment": pl.Datetime("ms", "UTC"),
    "texts": pl.List(pl.String),
    "numbers": pl.List(pl.Float64),
    "turns": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "said": pl.List(pl.Struct({"who": pl.String, "said": pl.String})),
}


_NESTED: frozenset[Kind] = frozenset({"turns", "said"})


class Column(Struct, frozen=True):
    """One column of a table."""

    name: str
    kind: Kind
    about: str
    tells: bool = False
    """Whether it reveals the gold answer."""


_EXAM = Column("exam", "text", "benchmark and language, or the question file")
_WHOSE = (
    Column("run", "text", "name of the run"),
    _EXAM,
    Column("model", "text", "the model that answered"),
    Column("question", "text", "id of the question; with `exam` the key to the questions"),
    Column("sample", "integer", "number of the answer to that question, from 0"),
)
SCORE = (
    Column("benchmark", "text", "name of the benchmark"),
    Column("repeat", "integer", "number of the repetition that the answer belongs to, from 0"),
    Column(
        "outcome",
        "text",
        "right, partly, wrong; unparsed, empty, truncated, refused; error, not asked, ungraded, unsound",
    ),
    Column("value", "number", "score from 0 to 1; null where nothing could be scored"),
    Column("points", "number", "what it counts for in a mean: 0 for a reply that cannot be read; null: left out"),
    Column("answer", "text", "what was read in the reply"),
    Column("explanation", "text", "how it was read, and why it earned what it did", tells=True),
    Column("weight", "integer", "how often the set lists the question"),
)
_OPTIONS = Column("options", "texts", "texts of the options, in the order of their letters")
REPLY = (
    _OPTIONS,
    Column("prompt", "turns", "what the model was sent; one turn of the role `text` for a base model"),
    Column("reply", "text", "what came back"),
    Column("reasoning", "text", "what the model thought before it; null where nothing of it is kept"),
    Column("stop_reason", "text", "stop, length (cut off in the answer), thinking (before it), filter, other"),
    Column("input_tokens", "integer", "as the server counted them"),
    Column("output_tokens", "integer", "as the server counted them"),
    Column("reasoning_tokens", "integer", "those of the output that the server says went into thinking"),
    Column("seconds", "number", "latency of the last attempt"),
    Column("at", "moment", "when it came, UTC"),
    Column("failure", "text", "why there is no reply; null where there is one"),
    Column("said", "said", "what sandbox, encoder, judges and experts said of it", tells=True),
)
QUESTION = (
    _EXAM,
    Column("question", "text", "id of the question"),
    Column("kind", "text", "choice, choices, truth, blank, term, open, free, span"),
    Column("language", "text", "en, zh, de, fr"),
    Column("text", "text", "the question itself, without instructions"),
    _OPTIONS,
    Column(
        "answer", "text", "the gold answer: a letter, letters, true or false, a text; null where unusable", tells=True
    ),
    Column("accepted", "texts", "other wordings of it that count as much", tells=True),
    Column("explanation", "text", "the gold rationale", tells=True),
    Column("weight", "integer", "how often the set lists it"),
)
_FAMILIES: dict[str, tuple[str, Kind, str]] = {
    "tags": ("tag", "text", "tag of the question: {}"),
    "parts": ("part", "number", "part of the score: {}"),
    "decided": ("decided", "text", "who decided the {}: rule, similarity, judge, expert"),
    "cell": ("cell", "text", "what the {} was in this answer, of a run that varies it"),
    "verdicts": ("verdicts", "numbers", "what the judges gave the {}, each a share of the full mark"),
}


class Names(Struct):
    """Names of tags, parts and aspects that occur in rows, each with its column."""

    known: dict[str, dict[str, Column]] = {}

    @classmethod
    def of(cls, rows: Iterable[ScoreRow | Question]) -> Names:
        """Collect the names in rows, in order of appearance."""
        families: dict[str, dict[str, Column]] = {family: {} for family in _FAMILIES}
        taken: set[str] = set()
        for row in rows:
            for family, known in families.items():
                for name in getattr(row, family, ()):
                    if name not in known and len(known) < _MOST_NAMES:
                        known[name] = _named(family, name, taken)
        return cls(families)

    def columns(self) -> Iterator[Column]:
        """Yield all columns, family by family."""
        for known in self.known.values():
            yield from known.values()

    def cells(self, row: ScoreRow | Question) -> Iterator[tuple[str, Any]]:
        """Yield (column, cell) for each name that a row has."""
        for family, known in self.known.items():
            values: Mapping[str, Any] = getattr(row, family, {})
            for name, value in values.items():
                if name in known:
                    yield known[name].name, value


def _named(family: str, name: str, taken: set[str]) -> Column:
    prefix, kind, about = _FAMILIES[family]
    plain = re.sub(r"\W+", "_", clean(name)[:60]).strip("_")  # must be safe in an IRI, too
    column = f"{prefix}_{plain}"
    for number in itertools.count(2):
        if column.lower() not in taken:
            break
        column = f"{prefix}_{plain}_{number}"
    taken.add(column.lower())
    return Column(column, kind, about.replace("{}", one_line(clean(name), 60)))


def score_columns(names: Names) -> tuple[Column, ...]:
    """Return the columns of the table of scores: one row for each answer, without the texts."""
    return (*_WHOSE, *SCORE, *names.columns())


def answer_columns() -> tuple[Column, ...]:
    """Return the columns of the table of answers: one row for each answer, with the texts."""
    return (*_WHOSE, *REPLY)


def whole_columns(names: Names) -> tuple[Column, ...]:
    """Return the columns of scores and answers in one table."""
    return (*_WHOSE, *REPLY, *SCORE, *names.columns())


def question_columns(names: Names) -> tuple[Column, ...]:
    """Return the columns of the table of questions."""
    return (*QUESTION, *names.columns())


def without_gold(columns: Iterable[Column]) -> tuple[Column, ...]:
    """Return the columns that do not reveal the gold answer."""
    return tuple(column for column in columns if not column.tells)


def answer_row(run: str, answer: Answer, names: Names) -> dict[str, Any]:
    """Return all cells of one answer; a table takes those it has columns for."""
    row, response, prompt = answer.row, answer.response, answer.prompt
    usage, error = response.usage, response.error
    turns = [("text", prompt)] if isinstance(prompt, str) else [(turn.role, turn.content) for turn in prompt]
    return {
        "run": run,
        **_attributes(row, (*_WHOSE[1:], *SCORE)),
        "options": list(answer.question.options) if answer.question else None,
        "prompt": [{"role": role, "content": content} for role, content in turns] if answer.request else None,
        "reply": answer.reply if error is None else None,
        "reasoning": response.reasoning or None,
        "stop_reason": response.stop_reason if error is None else None,
        "input_tokens": usage.input if usage else None,
        "output_tokens": usage.output if usage else None,
        "reasoning_tokens": (usage.reasoning or None) if usage else None,
        "seconds": answer.seconds or None,
        "at": utc(answer.at),
        "failure": answer.failure or None,
        "said": [{"who": who, "said": text} for who, text in answer.said],
        **dict(names.cells(row)),
    }


def _attributes(row: ScoreRow | Question, columns: Iterable[Column]) -> dict[str, Any]:
    """Return the cells of columns that are named like attributes of the row."""
    return {column.name: getattr(row, column.name) for column in columns}


def question_row(exam: str, question: Question, names: Names) -> dict[str, Any]:
    """Return all cells of one question."""
    return {
        "exam": exam,
        "question": question.id,
        **_attributes(question, QUESTION[2:]),
        **dict(names.cells(question)),
    }


class Writer:
    """Writer of a table in pieces that fit into memory: `add` its rows, then `close` it."""

    def __init__(self, columns: Sequence[Column], place: Path) -> None:
        self._columns = columns
        self._place = place
        self._cells: dict[str, list[Any]] = {column.name: [] for column in columns}
        self._nested = {column.name for column in columns if column.kind in _NESTED}
        self._size = self._held = 0
        self.count = 0
        """Rows so far."""
        self.parts: list[Path] = []
        """The pieces that are on the disk."""

    def add(self, row: Mapping[str, Any]) -> None:
        """Add a row; cells that the table has no column for are left out."""
        for name, cells in self._cells.items():
            value = row.get(name)
            if name in self._nested and value is not None:
                value = encoded(value).decode()  # Polars takes lists of records from JSON ten times as fast
            cells.append(value)
            if isinstance(value, str):
                self._size += len(value)
        self._held += 1
        if self._held >= MOST_ROWS or self._size >= MOST_CHARACTERS:
            self._flush()

    def close(self) -> list[Path]:
        """Write the rest, and return the paths of the pieces: at least one, which may be empty."""
        if self._held or not self.parts:
            self._flush()
        return self.parts

    def _flush(self) -> None:
        self.parts.append(self._place.with_name(f".{self._place.name}.{len(self.parts)}"))
        pl.DataFrame([self._series(column) for column in self._columns]).write_parquet(self.parts[-1])
        self.count += self._held
        for cells in self._cells.values():
            cells.clear()
        self._size = self._held = 0

    def _series(self, column: Column) -> pl.Series:
        cells, kind = self._cells[column.name], _TYPES[column.kind]
        if column.kind in _NESTED:
            return pl.Series(column.name, cells, dtype=pl.String).str.json_decode(kind)
        try:
            return pl.Series(column.name, cells, dtype=kind)
        except UnicodeEncodeError:
            return pl.Series(column.name, cleaned(cells), dtype=kind)


def write_tables(tables: Mapping[Path, Sequence[Column]], rows: Iterable[Mapping[str, Any]]) -> int:
    """Write the same rows to Parquet files with different columns, in one pass; return the number of rows."""
    writers = {path: Writer(columns, path) for path, columns in tables.items()}
    count = 0
    for count, row in enumerate(rows, 1):  # noqa: B007 - how many
        for writer in writers.values():
            writer.add(row)
    for path, writer in writers.items():
        parts = writer.close()
        if len(parts) == 1:
            parts[0].replace(path)
            continue
        pl.scan_parquet(parts, glob=False).sink_parquet(path)  # streamed: a piece at a time, in order
        for part in parts:
            part.unlink()
    return count


def write_shards(folder: Path, columns: Sequence[Column], rows: Iterable[Mapping[str, Any]]) -> tuple[int, list[Path]]:
    """Write a table as Parquet shards, named as on the Hub (test-00000-of-00003.parquet); return rows and paths."""
    folder.mkdir(parents=True)
    writer = Writer(columns, folder / "shard")
    for row in rows:
        writer.add(row)
    parts = writer.close()
    named = [folder / f"test-{number:05}-of-{len(parts):05}.parquet" for number in range(len(parts))]
    for part, name in zip(parts, named, strict=True):
        part.replace(name)
    return writer.count, named
