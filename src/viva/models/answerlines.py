"""Answers in JSONL, read where they lie: of each a key and a place is kept, and no text.

So a million answers take some 40 MB, whatever they say. They are read in blocks, which costs little where the questions
are asked in the order of the file.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import zlib
from array import array
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import msgspec
from msgspec import Struct

from viva.errors import DataError
from viva.files import UNREADABLE, lines, reading, refuse_depth
from viva.keytable import KeyTable, text_key
from viva.models.reasoning import read_usage, stop_reason
from viva.types import Response, Usage

_QUESTION = ("question", "question_id", "id", "ID", "case", "filename")
_CASE = re.compile(r"(?:[^\n]*/)?eval_(\d+-\d+-\d+)(?:\.ya?ml)?")
"""How InfiBench's authors name a question's files."""
REPLIES = (
    "text", "reply", "replies", "response", "responses", "prediction", "predictions", "generation", "generations",
    "generated_text", "model_answer", "model_response", "model_output", "model_prediction", "output", "outputs",
    "actual_output", "completion", "completions", "pred", "result", "answer", "messages", "conversation",
    "conversations",
)  # fmt: skip
"""Columns of replies, the first that is there; `answer` comes last: next to another it holds the gold answer."""
_BLOCK = 1 << 16
"""Bytes that are read at once."""
_decode = msgspec.json.Decoder(dict[str, object]).decode


class AnswerRow(Struct):
    """A row of a table of answers: the column of the question, whose answer it is, and the answer; where there is none,
    why ("" where unsaid)."""

    column: str
    key: tuple[str, int]
    answer: Response | str


class Recorded(Struct):
    """What a file of answers holds; see `replay.Replay`."""

    answers: Mapping[tuple[str, int], Response]
    errors: dict[tuple[str, int], str]
    samples: set[int]
    """Numbers of samples that there are."""
    mended: list[int]
    question_column: str

    def take(self, row: AnswerRow) -> None:
        """Note a row; its answer is kept by the holder of `answers`."""
        self.question_column = self.question_column or row.column
        if row.answer == "":
            return
        self.samples.add(row.key[1])
        if isinstance(row.answer, str):
            self.errors[row.key] = row.answer


class JsonLines:
    """The rows of a file of JSONL, or of what would be its content."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        self.path = path
        self._content = content
        self._seen: tuple[int, int, int] | None = None

    def open(self) -> io.BufferedReader | io.BytesIO:
        """Return the file. Raises DataError for one that cannot be read, or is another than when it was opened
        first.
        """
        if self._content is not None:
            return io.BytesIO(self._content)
        with explained(self.path):
            file = reading(self.path, follow=True)
        stat = os.fstat(file.fileno())
        identity = (stat.st_ino, stat.st_size, stat.st_mtime_ns)
        if self._seen not in (None, identity):
            file.close()
            raise changed(self.path)
        self._seen = identity
        return file

    def digest(self) -> str:
        """SHA-256 of the file. Raises as `open`."""
        with explained(self.path), self.open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        """Return the lines that are not blank: their numbers from 1, where they begin, and their bytes."""
        number = place = 0
        with explained(self.path), self.open() as file:
            for chunk in lines(file, self.path):
                for line in chunk.splitlines(keepends=True):  # of a file whose lines end with \r, a chunk is all
                    number += 1
                    if line.strip():
                        yield number, place, line
                    place += len(line)

    def row(self, number: int, line: bytes, mended: list[int]) -> AnswerRow:
        """Return what a line says; its number joins those `mended` where its text cannot be written as it is.

        Raises DataError.
        """
        try:
            row: dict[str, object] | None = _decode(line)
        except UNREADABLE as problem:
            row = _mended(line)
            if row is None:
                raise DataError(f"{self.path}, line {number} is no JSON object: {problem}") from None
            mended.append(number)
        return answer_row(cast("dict[str, object]", row), f"{self.path}, line {number}")


class LineAnswers(Mapping[tuple[str, int], Response]):
    """The answers of a file by question and sample, in its order."""

    def __init__(self, source: JsonLines) -> None:
        self._source = source
        self._keys = KeyTable()
        self._numbers, self._places, self._lengths = array("Q"), array("Q"), array("I")
        """By a key's number: its line, where that begins, and its bytes."""
        self._answered = 0
        self._block, self._begin = b"", 0

    def read(self) -> Recorded:
        """Read every line, so that damage is found before anything is graded. Raises DataError."""
        recorded = Recorded(self, {}, set(), [], "")
        for number, place, line in self._source:
            row = self._source.row(number, line, recorded.mended)
            row_number = self._keys.add(_key(row.key))
            if row_number < len(self._places):
                raise second(f"{self._source.path}, line {number}", row.key)
            self._numbers.append(number)
            self._places.append(place)
            self._lengths.append(len(line))
            recorded.take(row)
            self._answered += isinstance(row.answer, Response)
        return recorded

    def __len__(self) -> int:
        return self._answered

    def __iter__(self) -> Iterator[tuple[str, int]]:
        for number, _, line in self._source:
            row = self._source.row(number, line, [])
            if isinstance(row.answer, Response):
                yield row.key

    def __getitem__(self, key: tuple[str, int]) -> Response:
        number = self._keys.find(_key(key))
        answer = None if number is None else self._source.row(self._numbers[number], self._line(number), []).answer
        if not isinstance(answer, Response):
            raise KeyError(key)
        return answer

    def _line(self, number: int) -> bytes:
        start, length = self._places[number] - self._begin, self._lengths[number]
        if start < 0 or start + length > len(self._block):
            with explained(self._source.path), self._source.open() as file:
                file.seek(self._places[number])
                self._block, self._begin, start = file.read(max(_BLOCK, length)), self._places[number], 0
        return self._block[start : start + length]


def _key(key: tuple[str, int]) -> bytes:
    return text_key(f"{key[1]} {key[0]}")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Return a file that cannot be read is a DataError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"there is no answer file {path}") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"cannot read the answer file {path}: {problem}") from None


def changed(path: Path) -> DataError:
    """Return what is said of a file that is not what it was."""
    return DataError(f"the answer file {path} was changed while it was in use; begin again")


def second(where: str, key: tuple[str, int]) -> DataError:
    """Return what is said of a row that answers what an earlier one answered."""
    return DataError(f"{where}: a second answer to question {key[0]}, sample {key[1]}; number the samples 0, 1, ...")


def question_id(name: str) -> str:
    """Return a question's id by what a file or a row names it: `cases/eval_0-0-1.yaml` is 0-0-1, others are what they
    are.
    """
    case = _CASE.fullmatch(name)
    return case[1] if case else name


def reply_column(row: Mapping[str, object]) -> str:
    """Return the column of a row's reply, "" where it has none: beside `outcome`, as in a run's scores, `answer` is
    what was read in one.
    """
    return next((name for name in REPLIES if name in row and (name != "answer" or "outcome" not in row)), "")


def answer_row(row: Mapping[str, object], where: str) -> AnswerRow:
    """Return the answer in a row. Raises DataError, which says `where`, for a row that is none."""
    question = _column(row, _QUESTION, where)
    text = _column(row, (reply_column(row) or REPLIES[0],), where)
    sample = row.get("sample") or 0
    if isinstance(sample, bool) or (not isinstance(sample, int) and not str(sample).isdecimal()):
        raise DataError(f"{where}: sample {sample!r} is no whole number from 0")
    key = (question_id(str(question)), int(str(sample)))
    if key[1] < 0:
        raise DataError(f"{where}: sample {sample!r} is no whole number from 0")
    column = next(name for name in _QUESTION if name in row)
    # null is how some tools write down a request that failed: no answer, not an empty one
    if isinstance(text, dict | list):
        raise DataError(f"{where}: the reply is no text")
    if text is None:
        error = row.get("error")
        return AnswerRow(column, key, error[:500] if isinstance(error, str) else "")
    ended = stop_reason(row.get("stop_reason") or None)
    return AnswerRow(column, key, Response(text=str(text), stop_reason=ended, usage=_usage(row.get("usage"))))


def _usage(given: object) -> Usage | None:
    """Return tokens, where a row says them as Viva does."""
    return read_usage(given, ["input"], ["output"])


def _mended(line: bytes) -> dict[str, object] | None:
    """Return a line whose texts cannot be written as they are: a token limit cut an emoji in two, say. None for no
    JSON.
    """
    try:
        refuse_depth(value := json.loads(line.decode()))
        text = json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
        return msgspec.json.decode(text, type=dict[str, object])
    except UNREADABLE:
        return None


def _column(row: Mapping[str, object], names: tuple[str, ...], where: str) -> object:
    for name in names:
        if name in row:
            return row[name]
    raise DataError(f"{where}: no column {names[0]!r}; it has: {', '.join(map(repr, row))}")
