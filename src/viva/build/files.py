"""Read and write spreadsheets (CSV), TOML and project files, and write a set's folder atomically.

A set is written to a subfolder first, and its manifest is moved last. Tables are read in any dialect that a
spreadsheet saves, and written so that no cell runs as a formula.
"""

from __future__ import annotations

import csv
import hashlib
import io
import os
import shutil
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from msgspec import Struct

from viva.errors import DataError, StorageError, VivaError, option
from viva.files import LockedError, lock, parse_toml, write_whole
from viva.version import __version__

LARGEST = 64 << 20
"""Bytes; larger tables are refused, since nobody filled them in by hand."""
LONGEST_CELL = 100_000
"""Characters."""
_RISKY = frozenset("=+-@＝＋－＠|%")
"""First characters of a cell that spreadsheets may take for a formula or command."""
_PADDING = "' \t\r\n\ufeff\xa0"


class Table(Struct, frozen=True, kw_only=True):
    """A table that was read: `titles` as written, `columns` the same in lower case with underscores.

    `rows` have the row number shown by a spreadsheet (titles are row 1, unless blank rows or `sep=;` precede them).
    """

    titles: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[tuple[int, list[str]]]
    delimiter: str = ","
    encoding: str = "utf-8"


def column_name(title: str) -> str:
    """Return the normalised name of a column's title: `Also accepted` is also_accepted."""
    return "_".join(title.casefold().split())


def guarded(text: str) -> str:
    """Return a text for a CSV cell, with an apostrophe before what a spreadsheet might run as a formula."""
    return f"'{text}" if _runs(text) else text


def unguarded(text: str) -> str:
    """Remove the apostrophe that `guarded` added."""
    return text[1:] if text.startswith("'") and _runs(text) else text


def _runs(text: str) -> bool:
    return text.lstrip(_PADDING)[:1] in _RISKY


def unix_lines(text: str) -> str:
    """Return text with line feeds at the ends of lines."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def clean(text: str) -> str:
    """Return text without control characters and lone surrogates, line ends as line feeds, trimmed, in one Unicode
    form.
    """
    text = unix_lines(text).replace("\u2028", "\n").replace("\u2029", "\n")
    if not text.isascii() or not text.isprintable():
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def tidy(text: str, limit: int = 200) -> str:
    """Return a cleaned name in one line, also without format characters (bidi, zero width)."""
    kept = "".join(c for c in clean(text) if c in "\n\t" or unicodedata.category(c) != "Cf")
    return " ".join(kept.split())[:limit].strip()


def decoded(content: bytes, name: str) -> tuple[str, str]:
    """Return a text file's text and encoding: UTF-8, with or without a byte order mark, or UTF-16 with one."""
    if len(content) > LARGEST:
        raise DataError(f"{name} has {len(content):,} bytes; at most {LARGEST:,} are read")
    encoding = "utf-8-sig" if content.startswith(b"\xef\xbb\xbf") else "utf-8"
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        encoding = "utf-16"
    try:
        text = content.decode(encoding)
    except UnicodeDecodeError as problem:
        read, start = problem.object, problem.start  # without the byte order mark
        line = read[:start].count(b"\n") + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{read[start]:02X} is not UTF-8; save the file as `CSV UTF-8` "
            "(spreadsheet) or in UTF-8 (editor)"
        ) from None
    if "\0" in text:
        raise DataError(f"{name}, line {text[: text.index(chr(0))].count(chr(10)) + 1}: a NUL character; is it text?")
    return text, encoding


def read_table(content: bytes, name: str, known: Iterable[str]) -> Table:
    """Read a CSV with commas, semicolons or tabs; the delimiter is guessed from the names of `known` columns.

    Rows that repeat the titles are left out. Raises DataError with line and remedy if it is no table.
    """
    text, encoding = decoded(content, name)
    head, _, rest = text.partition("\n")
    told, skipped = "", 0
    if head.strip().strip('"').lower().startswith("sep=") and len(head.strip().strip('"')) <= 5:
        told, text, skipped = head.strip().strip('"')[4:] or "\t", rest, 1  # a tab, which strip took away
    delimiter = told or _delimiter(text, set(known))
    rows: list[tuple[int, list[str]]] = []
    titles: list[str] = []
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for number, record in enumerate(reader, 1 + skipped):
            cells = [unguarded(clean(cell)) for cell in record]
            if not any(cells):
                continue
            if not titles:
                titles = cells
            elif [cell.casefold() for cell in cells] != [title.casefold() for title in titles]:
                rows.append((number, cells))
    except csv.Error as problem:
        raise DataError(
            f"{name}, line {reader.line_num + skipped}: {problem}; a quote inside a quoted cell is written twice, and "
            "every opened quote is closed"
        ) from None
    while titles and not titles[-1]:
        titles.pop()
    if not titles:
        raise DataError(f"{name} is empty: its first row must name the columns")
    columns = tuple(map(column_name, titles))
    return Table(titles=tuple(titles), columns=columns, rows=rows, delimiter=delimiter, encoding=encoding)


def _delimiter(text: str, known: set[str]) -> str:
    """Return the delimiter that finds the most known columns in the first row, or the most columns."""

    def widths(delimiter: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            titles = next((record for record in reader if any(map(str.strip, record))), [])
        except csv.Error:
            return 0, 0
        return len(known.intersection(map(column_name, titles))), len(titles)

    return max((",", ";", "\t"), key=widths)


def written_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",", encoding: str = "utf-8"
) -> bytes:
    """Return a table as CSV, every cell guarded."""
    out = io.StringIO()
    table = csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if encoding != "utf-8" else "\n")
    table.writerow([guarded(title) for title in titles])
    table.writerows([guarded(cell) for cell in row] for row in rows)
    return out.getvalue().encode(encoding, "replace")


def cell_name(column: int, row: int) -> str:
    """Return a cell's name in spreadsheets: column 0 of row 2 is A2."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"


class Made(Struct, kw_only=True):
    """The fields that every build.json begins with."""

    format: int = 1
    """The folder's layout."""
    viva: str = __version__


MANIFEST, AUDIT = "build.json", "audit.jsonl"
"""The manifest, which makes a folder a set, and the audit trail."""
_STAGE = ".partial"


@contextmanager
def staged(out: Path, files: Sequence[str], *, force: bool) -> Iterator[Path]:
    """Give a folder inside `out` to write into; its files are moved to `out` if the block succeeds, deleted otherwise.

    `files` are all names that a set can have besides its manifest. Raises VivaError if `out` holds a set already
    (unless `force`), StorageError if it cannot be written.
    """
    files = (MANIFEST, *files)
    there = [name for name in files if (out / name).exists()]
    if there and not force:
        raise VivaError(
            f"{out} holds a set already ({there[0]}): choose another {option('out')}, or replace it with "
            f"{option('force')}"
        )
    if out.exists() and not out.is_dir():
        raise VivaError(f"{out} is a file; name a folder", field="out")
    new = not out.exists()
    stage = out / _STAGE
    try:
        stage.mkdir(parents=True, exist_ok=True)
        try:
            held = lock(stage / "lock")
        except LockedError:
            raise StorageError(
                f"another process is building {out}; wait for it, or choose another {option('out')}"
            ) from None
        try:
            for name in files:  # what a killed build left
                (stage / name).unlink(missing_ok=True)
            yield stage
            _move(stage, out, files)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(held)
            if new and out.is_dir() and not any(out.iterdir()):
                out.rmdir()
    except OSError as problem:
        raise StorageError(f"cannot write the set {out}: {problem.strerror or problem}") from None


def write_set(
    out: Path, contents: Mapping[str, bytes], manifest: object, *, force: bool, files: Iterable[str] = ()
) -> None:
    """Write a set to `out` by `staged`, synced to disk; `files` are further names that such a set can have."""
    with staged(out, [*contents, *files], force=force) as stage:
        for name, content in {**contents, MANIFEST: readable_json(manifest)}.items():
            for folder in (stage, out):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())


def _move(stage: Path, out: Path, files: Sequence[str]) -> None:
    """Delete the old set, its manifest first, then move the new files, the manifest last."""
    for name in files:
        (out / name).unlink(missing_ok=True)
    for name in (*files[1:], MANIFEST):
        if (stage / name).exists():
            (stage / name).replace(out / name)


def content_of(path: Path) -> bytes:
    """Return the bytes of a file that the user named. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None


def toml_of(content: bytes, name: str, hint: str = "") -> dict[str, object]:
    """Parse a TOML file. Raises DataError, which ends with the `hint`."""
    try:
        return parse_toml(decoded(content, name)[0])
    except ValueError as problem:
        raise DataError(f"{name} is not valid TOML: {problem}{hint}") from None


def readable_json(content: object) -> bytes:
    """Return a manifest or settings as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def counted(values: Iterable[str]) -> dict[str, int]:
    """Return value → count, sorted by value, for a manifest."""
    return dict(sorted(Counter(values).items()))


def digest_of(content: object) -> str:
    """Return a digest (32 hexadecimal digits) of anything that JSON can hold."""
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


def replace_file(path: Path, content: bytes) -> None:
    """Write a file atomically, synced to disk; creates its folder and keeps its permissions.

    Raises StorageError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, sync=True, mode=path.stat().st_mode & 0o777 if path.exists() else 0o644)
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror or problem}") from None


def append_line(path: Path, line: bytes) -> None:
    """Append a line to a file. Raises StorageError."""
    try:
        with path.open("ab") as file:
            file.write(line + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror or problem}") from None


def new_sheet(path: Path, content: bytes) -> None:
    """Write a file to be filled in. Raises VivaError if it exists, StorageError."""
    if path.exists():
        raise VivaError(f"{path} is there already; name another file")
    replace_file(path, content)


def filled_rows(
    path: Path, columns: Sequence[str], needed: Iterable[str], filled: str, missing: Callable[[str], str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the rows in which the column `filled` is not empty, each with its location; empty cells are "".

    Every row has at least the `columns`. Raises DataError if the file lacks a `needed` column, with the text that
    `missing` gives for it.
    """
    table = read_table(content_of(path), str(path), columns)
    for column in needed:
        if column not in table.columns:
            raise DataError(f"{path} has no column {missing(column)}")
    for number, cells in table.rows:
        row = dict.fromkeys(columns, "") | dict(zip(table.columns, cells, strict=False))
        if row[filled]:
            yield f"{path}, row {number}", row
