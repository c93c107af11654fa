"""Reading tables of any origin, rows with line numbers: CSV, TSV, JSONL, JSON (all also gzipped), YAML, Parquet, Arrow;
and writing CSV with line feeds.

A file's form is found by its content (Parquet, Arrow, gzip, JSON), else by its name; separator and encoding of a CSV by
its first lines.
"""

from __future__ import annotations

import bz2
import codecs
import csv
import gzip
import hashlib
import io
import json
import lzma
import re
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import IO, Any, Final, TypeVar, cast

import msgspec

from viva.errors import DataError
from viva.files import UNREADABLE, reading
from viva.io import bounded, columnar

BROKEN: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""Exceptions of reading a packed file."""
_OPENERS: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": (b"\x1f\x8b", lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    ".bz2": (b"BZh", lambda file: cast("IO[bytes]", bz2.BZ2File(file))),
    ".xz": (b"\xfd7zXZ\x00", lambda file: cast("IO[bytes]", lzma.LZMAFile(file))),  # noqa: SIM115 - its reader closes it
}
PACKED = tuple(_OPENERS)


def opener(begins: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return the function that unpacks a file with this beginning; None where it is not packed."""
    return next((opened for magic, opened in _OPENERS.values() if begins.startswith(magic)), None)


def unpacking(file: IO[bytes], suffix: str) -> IO[bytes]:
    """Return an open file's unpacked content, by its suffix (`.gz`): the file itself if not packed."""
    return _OPENERS[suffix][1](file) if suffix in _OPENERS else file


def unpacked(path: Path, what: str) -> bytes:
    """Return the unpacked content of a file named by the user. Raises DataError, which calls it `what`."""
    try:
        # A table may also be a pipe of the shell: <(...)
        with reading(path, follow=True) if path.is_file() else path.open("rb") as file:
            return bounded.no_bomb(file, unpacking(file, path.suffix.lower())).read()
    except FileNotFoundError:
        raise DataError(f"there is no {what} {path}") from None
    except BROKEN as problem:
        raise DataError(f"cannot read the {what} {path}: {problem}") from None


T = TypeVar("T")
Row = tuple[int, dict[str, str]]
"""(number of the row's last line, column → cell)."""


def within(longest: int, reader: Iterator[T]) -> Iterator[T]:
    """Yield the rows of a csv reader with cells of at most `longest` characters; a longer cell raises csv's error. The
    limit is global in the process: it is set only while a row is read.
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
    """A CSV being written. Callers must escape untrusted cells (`visible.csv_safe`)."""

    def __init__(self, header: Iterable[object]) -> None:
        self._out = io.StringIO()
        self._writer = csv.writer(self._out, lineterminator="\n")
        self.add(header)

    def add(self, row: Iterable[object]) -> None:
        """Add a row."""
        self._writer.writerow(row)

    def add_all(self, rows: Iterable[Iterable[object]]) -> None:
        """Add several rows."""
        self._writer.writerows(rows)

    def text(self) -> str:
        """Return the whole CSV."""
        return self._out.getvalue()


def table_text(path: Path, what: str = "table") -> str:
    """Return the text of a table named by the user, packed or not. Raises DataError."""
    return utf8(unpacked(path, what), f"cannot read the {what}: {path} is no CSV in UTF-8")


def utf8(content: bytes, problem: str) -> str:
    """Return text of UTF-8, with or without a byte order mark. Raises DataError, which begins with `problem`."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as why:
        raise DataError(f"{problem} (byte {why.start:,})") from None


def read_csv(
    name: Path | str,
    text: str,
    *,
    longest: int = sys.maxsize,
    unnamed: bool = False,
    check: Callable[[list[str]], None] = lambda _: None,
) -> tuple[list[str], Iterator[Row]]:
    """Return a table's columns and an iterator of its rows; empty lines are skipped.

    `longest`: most characters of a cell; `unnamed`: allow several columns without a name; `check` may refuse the
    header. Raises DataError for repeated columns, rows of another length, invalid CSV.
    """
    rows = _records(name, text, longest)
    header = next(rows)[1]
    check(header)
    twice = [column for column in header if header.count(column) > 1 and (column or not unnamed)]
    if twice:
        raise DataError(f"{name}, line 1: column {twice[0][:60]!r} is there twice")
    return header, _rows(name, header, rows)


def _records(name: Path | str, text: str, longest: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the header, trimmed, [] without one; then the rows."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    rows = within(longest, reader)
    try:
        yield 1, [column.strip() for column in next(rows, [])]
        for row in rows:
            if row:
                yield reader.line_num, row
    except csv.Error as problem:
        raise DataError(f"{name}, line {reader.line_num}: it is no CSV: {problem}") from None


def _rows(name: Path | str, header: Sequence[str], rows: Iterator[tuple[int, list[str]]]) -> Iterator[Row]:
    for line, row in rows:
        if len(row) != len(header):
            hint = "; a decimal comma is written as a point" if len(row) > len(header) else ""
            raise DataError(f"{name}, line {line}: {len(row)} columns, where the header names {len(header)}{hint}")
        yield line, dict(zip(header, row, strict=True))


def json_lines(name: Path | str, content: bytes, kind: type[T], what: str = "JSON object") -> Iterator[tuple[int, T]]:
    """Yield (number, value) of the lines that are not blank. Raises DataError for one that is no `what`."""
    decode = msgspec.json.Decoder(kind).decode
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            try:
                yield number, decode(line)
            except UNREADABLE as problem:
                raise DataError(f"{name}, line {number} is no {what}: {problem}") from None


Record = dict[str, Any]
KEY, VALUE = "$key", "$value"
"""Columns of a document that is an object of rows or texts by key."""
_FEWEST_PAIRS = 10
"""Fewest texts of an object that is a table of keys and values; one with fewer is a single row."""


def listed(content: object, name: str) -> list[Record]:
    """Return the rows of a JSON document. Raises DataError for none, or several lists of them."""
    if isinstance(content, dict):
        content = _of_object(content, name)
    if not isinstance(content, list) or not _is_records(content):
        wrong = ' is no list of JSON objects: give every row the names of its columns, as in {"question": …}'
        raise DataError(f"{name}: there is no row in it" if content in ([], {}) else f"{name}{wrong}")
    return [row["row"] if set(row) >= {"row_idx", "row"} and isinstance(row["row"], dict) else row for row in content]


def _of_object(content: dict[str, Any], name: str) -> object:
    lists = {key: value for key, value in content.items() if _is_records(value)}
    if len(lists) == 1:
        return next(iter(lists.values()))
    if len(lists) > 1:
        raise DataError(f"{name} holds several lists ({', '.join(map(repr, list(lists)[:5]))}): save one as a file")
    if (columns := _columns(content)) is not None:
        return columns
    if content and all(isinstance(value, dict) for value in content.values()):
        return [{KEY: key, **value} for key, value in content.items()]
    if len(content) >= _FEWEST_PAIRS and all(isinstance(value, str) for value in content.values()):
        return [{KEY: key, VALUE: value} for key, value in content.items()]
    return [content] if content else []


def _columns(content: dict[str, Any]) -> list[Record] | None:
    """Return the rows of a document of columns: {column: [cell, …]}, {column: {number: cell}}, or {columns, data}."""
    names, cells, values = content.get("columns"), content.get("data"), list(content.values())
    if isinstance(names, list) and isinstance(cells, list):
        fits = all(isinstance(name, str) for name in names)
        fits = fits and all(isinstance(row, list) and len(row) == len(names) for row in cells)
        return [dict(zip(names, row, strict=True)) for row in cells] if fits else None
    if len(content) > 1 and all(isinstance(value, list) and len(value) == len(values[0]) > 0 for value in values):
        return [dict(zip(content, row, strict=True)) for row in zip(*values, strict=True)]
    numbered = (isinstance(value, dict) and value and all(map(str.isdecimal, value)) for value in values)
    if len(content) > 1 and all(numbered) and all(value.keys() == values[0].keys() for value in values):
        return [{column: content[column][key] for column in content} for key in values[0]]
    return None


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def unnested(row: Record) -> Iterator[Record]:
    """Yield the questions of a row that holds several: SQuAD's articles with their `paragraphs`, and the `qas` of
    those.

    Other fields (title, context) are copied into each question.
    """
    for inner in ("paragraphs", "qas"):
        parts = row.get(inner)
        if _is_records(parts) and (inner == "qas" or any("qas" in part for part in parts or ())):
            beside: Mapping[str, Any] = {key: value for key, value in row.items() if key != inner}
            for part in parts or ():
                yield from unnested({**beside, **part})
            return
    yield row


SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json", ".parquet", ".arrow", ".feather")
"""Suffixes of tables in a folder; those of text forms may be followed by .gz."""
DOCUMENTS = (".json", ".yaml", ".yml")
"""Suffixes of files that are one document; YAML files in a folder are no tables, since cards lie there, too."""
SPLITS = ("train", "training", "validation", "valid", "val", "dev", "test", "auxiliary_train")
_LONGEST_CELL = 16 << 20
"""Most characters of a cell of CSV."""
_SAMPLE = 1 << 16
"""Characters of a CSV from which its form is found."""
_MOST_FILES, _MOST_ENTRIES = 10_000, 50_000
_SPLIT = re.compile(rf"(?:\A|[-_./])({'|'.join(SPLITS)})(?=\Z|[-_.])", re.IGNORECASE)


def split_of(path: Path, root: Path) -> str:
    """Return the split named by a file's name or folder, in lower case; "" for none."""
    below = path.relative_to(root) if path.is_relative_to(root) else Path(path.name)
    for part in (plain_stem(path), *reversed(below.parts[:-1])):
        if match := _SPLIT.search(part):
            return match[1].lower()
    return ""


def suffix_of(path: Path) -> str:
    """Return a file's suffix in lower case, before any `.gz`."""
    return Path(path.name.removesuffix(".gz")).suffix.lower()


def plain_stem(path: Path) -> str:
    """Return a file's name without suffix and `.gz`."""
    name = path.name.removesuffix(".gz")
    return Path(name).stem if suffix_of(path) in (*SUFFIXES, *DOCUMENTS) else name


def files_of(given: Path, split: str = "") -> list[Path]:
    """Return the tables of a path: a file, a pattern (`test/*.csv`), or a folder (one `split` if it has several).

    Raises DataError without any, and for a folder with several splits if `split` is "".
    """
    if given.is_file():
        return [given]
    if given.is_dir():
        tables = [file for file in _entries(given, "**/*") if _is_table(file)]
    elif any(sign in str(given) for sign in "*?["):
        first_pattern = next(index for index, part in enumerate(given.parts) if any(sign in part for sign in "*?["))
        root = Path(*given.parts[:first_pattern])
        tables = [file for file in _entries(root, str(Path(*given.parts[first_pattern:]))) if file.is_file()]
        given = root
    else:
        raise DataError(f"there is no file or folder {given}")
    if len(tables) > _MOST_FILES:
        raise DataError(f"{given} holds {len(tables):,} tables; {_MOST_FILES:,} are the most: name them by a pattern")
    splits = {file: split_of(file, given) for file in tables}
    named = sorted({name for name in splits.values() if name})
    if split:
        tables = [file for file in tables if splits[file] == split.lower()]
        if not tables:
            there = f"; it has {', '.join(named)}" if named else ""
            raise DataError(f"{given} has no table of the split {split!r}{there}")
    elif len(named) > 1:
        raise DataError(f"{given} has several splits ({', '.join(named)}): say which, as in `split: {named[-1]}`")
    if not tables:
        raise DataError(f"{given} holds no table ({', '.join(SUFFIXES)})")
    return tables


def _entries(folder: Path, pattern: str) -> list[Path]:
    """Return the files of a pattern below a folder. Raises DataError for more than any set has, by a slip such
    as `/`.
    """
    entries = list(islice(folder.glob(pattern), _MOST_ENTRIES + 1))
    if len(entries) > _MOST_ENTRIES:
        raise DataError(f"{folder} holds more than {_MOST_ENTRIES:,} files and folders: name the set's own folder")
    return sorted(entries)


def _is_table(file: Path) -> bool:
    if file.name.startswith((".", "cache-", "dataset_info", "state.json", "dataset_dict")) or not file.is_file():
        return False
    return suffix_of(file) in SUFFIXES


def fingerprint_of(files: Sequence[Path]) -> bytes:
    """Return a digest of the files' contents, in their order. Raises DataError for one that cannot be read."""
    digest = hashlib.sha256()
    for path in files:
        try:
            with reading(path, follow=True) as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as problem:
            raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None
    return digest.digest()


def records(path: Path, columns: Sequence[str] = (), encoding: str = "") -> Iterator[tuple[int, Record]]:
    """Yield (number from 0, row) of a table; `columns`: names for a CSV without a header; `encoding`: of a text that is
    not UTF-8.

    Raises DataError, naming file and line, for an invalid table.
    """
    start = bounded.head(path, 8)
    if start.startswith((b"PAR1", b"ARROW1")) or path.suffix.lower() in (".arrow", ".feather"):
        yield from columnar.rows(path)
        return
    if start.startswith(b"PK\x03\x04"):
        raise DataError(f"{path} is a zip file or a spreadsheet: unpack it, or save it as CSV")
    form = suffix_of(path)
    first = bounded.unpacked_head(path, 1 << 16)
    encoding = _encoding_of(path, first, encoding)
    content = first.decode(encoding or "utf-8-sig", "ignore").encode().lstrip()
    try:
        if form in (".jsonl", ".ndjson") or (content[:1] == b"{" and _is_lines(content)):
            rows: Iterator[Record] = (row for _, row in bounded.rows(path, encoding))
        elif form in DOCUMENTS[1:]:
            rows = iter(listed(bounded.yaml_document(path), str(path)))
        elif form == ".json" or content[:1] in (b"{", b"["):
            rows = iter(listed(bounded.document(path, encoding), str(path)))
        elif form in (".csv", ".tsv", ".txt") or not form:
            yield from _delimited(path, encoding, form, columns)
            return
        else:
            raise DataError(f"{path} is none of the tables that can be read: {', '.join(SUFFIXES)} (also .gz)")
        yield from enumerate(part for row in rows for part in unnested(row))
    except (bounded.EncodingError, UnicodeDecodeError):
        foreign = b"".join(islice((line for _, line in bounded.lines(path) if not line.isascii()), 2_000))
        raise bounded.EncodingError(str(path), foreign, ", or name it in the card: `encoding`") from None


def _encoding_of(path: Path, first: bytes, other: str) -> str:
    """Return UTF-16 or UTF-32 by the first bytes; the `other` encoding if given and the file is not UTF-8; else "".

    Raises DataError for an unknown encoding.
    """
    told = json.detect_encoding(first)  # by its mark, or by the zeros between ASCII characters
    if not other or not told.startswith("utf-8"):
        return "" if told.startswith("utf-8") else told
    try:
        bounded.opened(path, "utf-8").close()
    except bounded.EncodingError:
        try:
            return codecs.lookup(other).name
        except LookupError:
            raise DataError(f"{path}: there is no encoding {other[:40]!r}") from None
    return ""


def _is_lines(content: bytes) -> bool:
    """Return whether the first line is a whole object and another follows: JSONL, whatever the file's name."""
    line, _, rest = content.partition(b"\n")
    try:
        return isinstance(msgspec.json.decode(line), dict) and rest.lstrip()[:1] == b"{"
    except UNREADABLE:
        return False


def _delimited(path: Path, encoding: str, form: str, columns: Sequence[str]) -> Iterator[tuple[int, Record]]:
    try:
        delimiter, preface = _dialect(path, encoding, form, headless=bool(columns))
        with bounded.opened(path, encoding) as packed, io.TextIOWrapper(packed, "utf-8-sig", newline="") as text:
            reader = csv.reader(_lines(text), delimiter=delimiter, strict=True)
            rows = within(_LONGEST_CELL, reader)
            for _ in range(preface):
                next(rows)
            header = list(columns) or [name.strip() for name in next(rows, [])]
            twice = [name for name in header if name and header.count(name) > 1]
            if twice:
                raise DataError(f"{path}, line 1: column {twice[0][:60]!r} is there twice")
            number = 0
            for row in rows:
                if not any(row):
                    continue
                del row[len(header) : len(row) if not any(row[len(header) :]) else len(header)]
                if len(row) != len(header):
                    raise DataError(
                        f"{path}, line {reader.line_num}: {len(row)} cells, and there are {len(header)} columns; is a "
                        f"cell with {delimiter!r} in it not quoted?"
                    )
                yield number, dict(zip(header, row, strict=True))
                number += 1
    except csv.Error as problem:
        raise DataError(f"{path} is no CSV: {problem}") from None
    except (OSError, EOFError) as problem:
        raise DataError(f"cannot read {path}: {problem}") from None


def _lines(text: IO[str]) -> Iterator[str]:
    while line := text.readline(bounded.LONGEST_LINE):
        if len(line) == bounded.LONGEST_LINE:
            raise csv.Error(f"a line is longer than {bounded.LONGEST_LINE >> 20} MiB")
        yield line


def _dialect(path: Path, encoding: str, form: str, *, headless: bool) -> tuple[str, int]:
    """Return the separator of cells, and the number of rows before the header: titles and empty rows of a
    spreadsheet.
    """
    with bounded.opened(path, encoding) as packed, io.TextIOWrapper(packed, "utf-8-sig", newline="") as text:
        sample = text.read(_SAMPLE)
    if told := re.match(r"sep=(.)\r?\n", sample):  # a spreadsheet's own statement
        return told[1], 1
    usual = "\t" if form == ".tsv" else ","
    widths = {}
    for delimiter in (usual, *(sign for sign in ",;\t|" if sign != usual)):
        try:
            reader = csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter)
            rows = list(islice(within(_LONGEST_CELL, reader), 30))
        except csv.Error:
            continue
        widths[delimiter] = rows
    best = usual
    if len(next(filter(None, widths.get(usual, [])), [])) < 2:
        even = [sign for sign, rows in widths.items() if len(rows) > 1 and len(rows[0]) == len(rows[1]) > 1]
        best = max(even, key=lambda sign: len(widths[sign][0]), default=usual)
    rows = widths.get(best, [])
    filled = [sum(map(bool, map(str.strip, row))) for row in rows]
    most = max(filled, default=0)
    preface = next((index for index, count in enumerate(filled) if count > 1), 0)
    if headless or most < 3 or not all(len(row) == len(rows[preface]) for row in rows[:preface] if row):
        preface = 0
    return best, preface
