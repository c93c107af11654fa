"""Corpora of any size, read in pieces, for `viva overlap` to compare a set with.

    corpus.jsonl, .jsonl.gz     an object a line: the column that --text names
    table.csv, table.parquet    a row a text, the same
    notes.txt, book.md          a text a line, a paragraph, or a file (--unit)
    folder/                     every such file in it and below, in the order of their paths

A file is read as a stream: a piece is about half a megabyte, a text longer than a million characters is cut where a
blank is, each cut overlapping the one before. Compressed files (.gz, .bz2, .xz) are unpacked as they are read, so one
that unpacks to terabytes costs time and no memory.
"""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, Literal, cast

import msgspec
from msgspec import Struct

from viva.analysis.overlap.leakage import Document, OverlapConfig, Search, TextMatch
from viva.errors import DataError, option
from viva.io.bounded import decoded
from viva.io.tables import BROKEN, PACKED, unpacking, within
from viva.lab.text_sets import cell_text, json_rows, listed
from viva.visible import one_line

Unit = Literal["line", "paragraph", "file"]
TEXT_COLUMNS = ("text", "content", "question", "Question", "body", "prompt", "instruction", "document")
"""Default columns of the text: the first that a row has."""
OPTION_COLUMNS = ("A", "B", "C", "D", "E", "F")
PIECE = 1 << 19
"""Characters (or bytes) in a piece."""
LONGEST_LINE = 256 << 20
"""The most bytes of a line; with longer ones a file is not one text a line."""
CUT = 1_000_000
"""Characters beyond which a text is cut."""
OVERLAP = 4_000
_KINDS = (".jsonl", ".ndjson", ".csv", ".parquet", ".txt", ".md", ".json")


class Piece(Struct, frozen=True):
    """Some texts, or lines of JSON with texts. `source`: number of the corpus; `done`: bytes read up to the piece's
    end.
    """

    source: int
    documents: tuple[tuple[str, str, int], ...] = ()
    lines: tuple[bytes, ...] = ()
    place: str = ""
    first: int = 0
    """The number of the first line."""
    column: str = ""
    done: int = 0


def corpus_files(path: Path) -> list[Path]:
    """Return a file, or all readable files of a folder, in the order of their paths. Raises DataError for none."""
    if path.is_dir():
        files = sorted(file for file in path.rglob("*") if _kind(file) in _KINDS and file.is_file())
        if not files:
            raise DataError(f"{path} holds no texts: there are {', '.join(_KINDS)} (the first ones also as .gz)")
        return files
    if not path.exists():
        raise DataError(f"there is no file or folder {str(path)!r}; name a benchmark, a question file, a run or texts")
    if _kind(path) not in _KINDS:
        raise DataError(f"{path}: texts are read from {', '.join(_KINDS)}, folders of them, and packed ones (.gz)")
    return [path]


def _kind(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    return suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in PACKED else suffixes[-1] if suffixes else ""


def pieces_of(files: Sequence[Path], source: int, column: str, unit: Unit) -> Iterator[Piece]:
    """Yield the texts of files. Raises DataError for a file that cannot be read."""
    done = 0
    for file in files:
        kind = _kind(file)
        try:
            if kind == ".parquet":
                for piece in document_pieces(_parquet(file, column), source):
                    yield msgspec.structs.replace(piece, done=done)
            else:
                with file.open("rb") as raw:
                    opened = unpacking(raw, file.suffix.lower())
                    for piece in _streamed(opened, file, kind, source, column, unit):
                        yield msgspec.structs.replace(piece, done=done + raw.tell())
        except BROKEN as problem:
            raise DataError(f"cannot read {file}: {one_line(str(problem), 200)}") from None
        done += file.stat().st_size


def _streamed(opened: IO[bytes], file: Path, kind: str, source: int, column: str, unit: Unit) -> Iterator[Piece]:
    if kind in (".jsonl", ".ndjson"):
        yield from _line_pieces(opened, file, source, column)
    elif kind == ".csv":
        yield from document_pieces(_csv(opened, file, column), source)
    elif kind == ".json":
        yield from document_pieces(_json(opened, file, column), source)
    else:
        yield from document_pieces(_plain(opened, file, unit), source)


def _lines(opened: IO[bytes], file: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    while line := opened.readline(LONGEST_LINE + 1):
        number += 1
        if len(line) > LONGEST_LINE:
            raise DataError(f"{file}, line {number} is longer than {LONGEST_LINE >> 20} MB: is it a text a line?")
        yield number, line


def _line_pieces(opened: IO[bytes], file: Path, source: int, column: str) -> Iterator[Piece]:
    held: list[bytes] = []
    size, first = 0, 1
    for number, line in _lines(opened, file):
        held.append(line)
        size += len(line)
        if size >= PIECE:
            yield Piece(source, lines=tuple(held), place=str(file), first=first, column=column)
            held, size, first = [], 0, number + 1
    if held:
        yield Piece(source, lines=tuple(held), place=str(file), first=first, column=column)


def document_pieces(documents: Iterable[tuple[str, str]], source: int, *, itself: bool = False) -> Iterator[Piece]:
    """Yield pieces of texts with their places; `itself`: the texts are the set's questions, in order."""
    held: list[tuple[str, str, int]] = []
    size = done = 0
    for number, (place, text) in enumerate(documents):
        for start, part in cuts(text):
            held.append((f"{place}, from character {start + 1:,}" if start else place, part, number if itself else -1))
            size += len(part)
            if size >= PIECE:
                done += size
                yield Piece(source, documents=tuple(held), done=done)
                held, size = [], 0
    if held:
        yield Piece(source, documents=tuple(held), done=done + size)


def cuts(text: str) -> Iterator[tuple[int, str]]:
    """Yield a long text in parts, each with its start; a part ends at a blank if there is one near."""
    start = 0
    while len(text) - start > CUT:
        end = text.rfind(" ", start + CUT - OVERLAP, start + CUT)
        end = end if end > 0 else start + CUT
        yield start, text[start:end]
        start = end - OVERLAP
    yield start, text[start:] if start else text


def _csv(opened: IO[bytes], file: Path, column: str) -> Iterator[tuple[str, str]]:
    text = io.TextIOWrapper(cast("Any", opened), encoding="utf-8-sig", errors="replace", newline="")
    try:
        reader = csv.DictReader(text)
        for row in within(sys.maxsize, reader):
            content = text_of(
                {str(name): value for name, value in row.items()}, column, f"{file}, line {reader.line_num}"
            )
            yield f"{file}:{reader.line_num}", content
    except csv.Error as problem:
        raise DataError(f"{file} is no CSV: {problem}") from None
    finally:
        text.detach()  # the opener of the file closes it


def _json(opened: IO[bytes], file: Path, column: str) -> Iterator[tuple[str, str]]:
    content = opened.read(LONGEST_LINE + 1)
    if len(content) > LONGEST_LINE:
        raise DataError(f"{file} has more than {LONGEST_LINE >> 20} MB: write it as .jsonl, an object a line")
    readable = content.decode("utf-8-sig", "replace").encode()
    for number, row in enumerate(json_rows(decoded(readable, str(file)), str(file)), 1):
        identity = row.get("ID", row.get("id"))
        called = str(identity) if isinstance(identity, (int, str)) else f"{number}"
        yield f"{file}:{one_line(called, 80)}", text_of(row, column, f"{file}, item {number}")


def _loaded(content: bytes) -> object:
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    try:  # files may contain lone surrogates, which msgspec refuses
        return json.loads(content.decode("utf-8-sig", "replace"))
    except (ValueError, RecursionError):
        return None


def _plain(opened: IO[bytes], file: Path, unit: Unit) -> Iterator[tuple[str, str]]:
    if unit == "line":
        for number, line in _lines(opened, file):
            if text := line.decode("utf-8", "replace").strip("\r\n\ufeff "):
                yield f"{file}:{number}", text
        return
    held: list[str] = []
    size, first = 0, 1
    for number, line in _lines(opened, file):
        text = line.decode("utf-8", "replace")
        ends = unit == "paragraph" and not text.strip()
        if held and (ends or size > CUT):
            yield f"{file}:{first}", "".join(held)
            # The next part of a text that is too long begins with the last lines of this one.
            held = held[-3:] if not ends and len("".join(held[-3:])) < OVERLAP else []
            first = number - len(held)
            size = sum(map(len, held))
        if text.strip() or held:
            if not held:
                first = number
            held.append(text)
            size += len(text)
    if held:
        yield f"{file}:{first}", "".join(held)


def _parquet(file: Path, column: str) -> Iterator[tuple[str, str]]:
    import polars

    try:
        frame = polars.scan_parquet(file)
        names = frame.collect_schema().names()
        total = int(frame.select(polars.len()).collect().item())
        chosen = [column] if column else [name for name in TEXT_COLUMNS if name in names][:1]
        if not chosen or chosen[0] not in names:
            lacking = repr(column) if column else "of texts"
            raise DataError(f"{file} has no column {lacking}; it has: {listed(names)}; {option('text')} names one")
        for start in range(0, total, 2_000):
            values = frame.select(chosen[0]).slice(start, 2_000).collect().to_series().to_list()
            for number, value in enumerate(values, start + 1):
                yield f"{file}:{number}", cell_text(value, chosen[0], f"{file}, row {number}") or ""
    except polars.exceptions.PolarsError as problem:
        raise DataError(f"cannot read {file}: {one_line(str(problem), 200)}") from None


def text_of(row: Mapping[str, Any], column: str, where: str) -> str:
    """Return the text of a row; of a question with options, those too. Raises DataError where there is no such
    column.
    """
    if column:
        if column not in row:
            raise DataError(f"{where}: no column {column!r}; it has: {listed(row)}; {option('text')} names the column")
        return cell_text(row[column], column, where) or ""
    name = next((name for name in TEXT_COLUMNS if name in row), None)
    if name is None:
        raise DataError(f"{where}: which column holds the text? it has: {listed(row)}; {option('text')} names it")
    options = row.get("options", [row[letter] for letter in OPTION_COLUMNS if letter in row])
    parts = [cell_text(row[name], name, where) or ""]
    if isinstance(options, list):
        parts += [str(option) for option in options if isinstance(option, (str, int, float))]
    return "\n".join(parts)


def searcher(
    questions: tuple[str, ...], overlap_config: OverlapConfig
) -> Callable[[Piece], tuple[int, TextMatch, int]]:
    """Return a recipe for workers: a function that searches a piece for the set's questions."""
    return partial(_searched, Search(questions, overlap_config))


def _searched(search: Search, piece: Piece) -> tuple[int, TextMatch, int]:
    documents = [Document(*document) for document in piece.documents]
    unread: list[str] = []
    for number, line in enumerate(piece.lines, piece.first):
        if not line.strip():
            continue
        place = f"{piece.place}:{number}"
        row = _loaded(line)
        if not isinstance(row, dict):
            unread.append(place)
            continue
        for start, part in cuts(text_of(row, piece.column, f"{piece.place}, line {number}")):
            documents.append(Document(f"{place}, from character {start + 1:,}" if start else place, part))
    matches = search.batch(documents)
    return piece.source, msgspec.structs.replace(matches, unread=tuple(unread)), piece.done
