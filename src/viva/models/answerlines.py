"""Answers in JSONL, read from the file: only a key and a place of each are kept in memory.

So a million answers take some 40 MB, whatever their length. They are read in blocks, which is quick if questions come
in the order of the file.
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
"""Names of a question's files by InfiBench's authors."""
REPLIES = (
    "text", "reply", "replies", "response", "responses", "prediction", "predictions", "generation", "generations",
    "generated_text", "model_answer", "model_response", "model_output", "model_prediction", "output", "outputs",
    "actual_output", "completion", "completions", "pred", "result", "answer", "messages", "conversation",
    "conversations",
)  # fmt: skip
"""Columns of replies; the first one present counts. `answer` is last: next to another it holds the gold answer."""
_BLOCK = 1 << 16
"""Bytes that are read at once."""
_decode = msgspec.json.Decoder(dict[str, object]).decode


class AnswerRow(Struct):
    """A row of a table of answers: the column of the question, the key, and the answer, or why there is none ("" if
    unstated)."""

    column: str
    key: tuple[str, int]
    answer: Response | str


class Recorded(Struct):
    """The content of a file of answers; see `replay.Replay`."""

    answers: Mapping[tuple[str, int], Response]
    errors: dict[tuple[str, int], str]
    samples: set[int]
    """All sample numbers."""
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
    """The rows of a JSONL file, or of its content in memory."""

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        self.path = path
        self._content = content
        self._seen: tuple[int, int, int] | None = None

    def open(self) -> io.BufferedReader | io.BytesIO:
        """Open the file. Raises DataError where it cannot be read, or has changed since it was first opened."""
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
        """Return the SHA-256 of the file. Raises as `open`."""
        with explained(self.path), self.open() as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def __iter__(self) -> Iterator[tuple[int, int, bytes]]:
        """Yield (number from 1, offset, bytes) of the lines that are not blank."""
        number = place = 0
        with explained(self.path), self.open() as file:
            for chunk in lines(file, self.path):
                for line in chunk.splitlines(keepends=True):  # if lines end with \r, a chunk is the whole file
                    number += 1
                    if line.strip():
                        yield number, place, line
                    place += len(line)

    def row(self, number: int, line: bytes, mended: list[int]) -> AnswerRow:
        """Return a line's row; its number is added to `mended` where its text cannot be encoded as it is.

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
        """By a key's number: number, offset and length of its line."""
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
    """Turn an error of reading a file into a DataError that names it."""
    try:
        yield
    except FileNotFoundError:
        raise DataError(f"there is no answer file {path}") from None
    except (OSError, EOFError, zlib.error) as problem:
        raise DataError(f"cannot read the answer file {path}: {problem}") from None


def changed(path: Path) -> DataError:
    """Return the error for a file that has changed."""
    return DataError(f"the answer file {path} was changed while it was in use; begin again")


def second(where: str, key: tuple[str, int]) -> DataError:
    """Return the error for a row with the question and sample of an earlier one."""
    return DataError(f"{where}: a second answer to question {key[0]}, sample {key[1]}; number the samples 0, 1, ...")


def question_id(name: str) -> str:
    """Return a question's id from its name in a file or row: 0-0-1 for `cases/eval_0-0-1.yaml`, others unchanged."""
    case = _CASE.fullmatch(name)
    return case[1] if case else name


def reply_column(row: Mapping[str, object]) -> str:
    """Return the column of a row's reply, "" without one. With `outcome`, as in a run's scores, `answer` is no reply
    but the answer read from it.
    """
    return next((name for name in REPLIES if name in row and (name != "answer" or "outcome" not in row)), "")


def answer_row(row: Mapping[str, object], where: str) -> AnswerRow:
    """Return the answer in a row. Raises DataError, naming `where`, for an invalid row."""
    question = _column(row, _QUESTION, where)
    reply = reply_column(row)
    text = _column(row, (reply or REPLIES[0],), where) if reply or not row.get("error") else None
    sample = row.get("sample") or 0
    if isinstance(sample, bool) or not (str(sample).isdecimal() if not isinstance(sample, int) else sample >= 0):
        raise DataError(f"{where}: sample {sample!r} is no whole number from 0")
    key = (question_id(str(question)), int(str(sample)))
    column = next(name for name in _QUESTION if name in row)
    # some tools write null for a failed request: no answer, not an empty one
    if isinstance(text, dict | list):
        raise DataError(f"{where}: the reply is no text")
    if text is None:
        error = row.get("error")
        return AnswerRow(column, key, error[:500] if isinstance(error, str) else "")
    ended = stop_reason(row.get("stop_reason") or None)
    return AnswerRow(column, key, Response(text=str(text), stop_reason=ended, usage=_usage(row.get("usage"))))


def _usage(given: object) -> Usage | None:
    """Return the tokens of a row in Viva's form, else None."""
    return read_usage(given, ["input"], ["output"])


def _mended(line: bytes) -> dict[str, object] | None:
    """Return a line whose texts cannot be encoded as they are (a token limit may cut an emoji in two). None if
    no JSON.
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
