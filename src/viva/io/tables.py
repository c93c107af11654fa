"""CSV and JSONL: read as any tool writes them, each row with its line; CSV written with line feeds."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Final, TypeVar, cast

import msgspec

from viva.errors import DataError
from viva.files import UNREADABLE

BROKEN: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a packed file may raise."""
_OPENERS: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": (b"\x1f\x8b", lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    ".bz2": (b"BZh", lambda file: cast("IO[bytes]", bz2.BZ2File(file))),
    ".xz": (b"\xfd7zXZ\x00", lambda file: cast("IO[bytes]", lzma.LZMAFile(file))),  # noqa: SIM115 - its reader closes it
}
SUFFIXES = tuple(_OPENERS)


def opener(begins: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return what unpacks a file that begins so; None where it is not packed."""
    return next((opened for magic, opened in _OPENERS.values() if begins.startswith(magic)), None)


def unpacking(file: IO[bytes], suffix: str) -> IO[bytes]:
    """Return what an open file of this suffix (`.gz`) holds: itself where it is not packed."""
    return _OPENERS[suffix][1](file) if suffix in _OPENERS else file


def unpacked(path: Path, what: str) -> bytes:
    """Return all that a file holds which a user named. Raises DataError, which calls it `what`."""
    try:
        with path.open("rb") as file, unpacking(file, path.suffix.lower()) as content:
            return content.read()
    except FileNotFoundError:
        raise DataError(f"there is no {what} {path}") from None
    except BROKEN as problem:
        raise DataError(f"cannot read the {what} {path}: {problem}") from None


T = TypeVar("T")
Row = tuple[int, dict[str, str]]
"""The number of the line that a row ends in, and its cells by column."""


def within(longest: int, reader: Iterator[T]) -> Iterator[T]:
    """Yield the rows of one of csv's readers with cells of at most so many characters. That limit is the process's: it
    is set while a row is read, not while others read theirs, and a longer cell is an error of csv's.
    """
    while True:
        usual = csv.field_size_limit(longest)
        try:
            row = next(reader)
        except StopIteration:
            return
        finally:
            csv.field_size_limit(usual)
        yield row


class CsvText:
    """A table in the making. Cells that others wrote are made harmless (`visible.csv_safe`) by who adds them."""

    def __init__(self, header: Iterable[object]) -> None:
        self._out = io.StringIO()
        self._writer = csv.writer(self._out, lineterminator="\n")
        self.add(header)

    def add(self, row: Iterable[object]) -> None:
        """One more row."""
        self._writer.writerow(row)

    def add_all(self, rows: Iterable[Iterable[object]]) -> None:
        """Some more rows."""
        self._writer.writerows(rows)

    def text(self) -> str:
        """Return all of it."""
        return self._out.getvalue()


def table_text(path: Path, what: str = "table") -> str:
    """Return the text of a table that a user named, packed or not. Raises DataError."""
    return utf8(unpacked(path, what), f"cannot read the {what}: {path} is no CSV in UTF-8")


def utf8(content: bytes, problem: str) -> str:
    """Return text of UTF-8, with or without a byte order mark. Raises DataError, which begins with `problem`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        raise DataError(f"{problem}: {why}") from None


def read_csv(
    name: Path | str,
    text: str,
    *,
    longest: int = sys.maxsize,
    unnamed: bool = False,
    check: Callable[[list[str]], None] = lambda _: None,
) -> tuple[list[str], Iterator[Row]]:
    """Return the columns of a table, and its rows; empty lines are none.

    `longest`: characters of a cell; `unnamed`: several columns may be without a name; `check` may refuse the header.
    Raises DataError for columns of one name, rows of another length, what is no CSV.
    """
    rows = _records(name, text, longest)
    header = next(rows)[1]
    check(header)
    twice = [column for column in header if header.count(column) > 1 and (column or not unnamed)]
    if twice:
        raise DataError(f"{name}, line 1: column {twice[0][:60]!r} is there twice")
    return header, _rows(name, header, rows)


def _records(name: Path | str, text: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Return the header, trimmed, [] where there is none; then the rows."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = within(longest, reader)
    try:
        yield 1, [column.strip() for column in next(rows, [])]
        for row in rows:
            if row:
                yield reader.line_num, row
    except csv.Error as problem:
        raise DataError(f"{name} is no CSV: {problem}") from None


def _rows(name: Path | str, header: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for line, row in rows:
        if len(row) != len(header):
            hint = "; a decimal comma is written as a point" if len(row) > len(header) else ""
            raise DataError(f"{name}, line {line}: {len(row)} columns, where the header names {len(header)}{hint}")
        yield line, dict(zip(header, row, strict=True))


def json_lines(name: Path | str, content: bytes, kind: type[T], what: str = "JSON object") -> Iterator[tuple[int, T]]:
    """Return the lines that are not blank, with their numbers. Raises DataError for one that is no `what`."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, decode(line)
            except UNREADABLE as problem:
                raise DataError(f"{name}, line {number} is no {what}: {problem}") from None
