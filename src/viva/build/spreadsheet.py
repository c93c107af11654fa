"""Cells and tables of people's spreadsheets: read whatever they save, written so that nothing in a cell runs."""

from __future__ import annotations

import csv
import io
import unicodedata
from collections.abc import Iterable, Sequence

from msgspec import Struct

from viva.errors import DataError

LARGEST = 64 << 20
"""Bytes of a table; a larger one is no sheet that people filled in."""
LONGEST_CELL = 100_000
"""Characters."""
_RISKY = frozenset("=+-@＝＋－＠|%")
"""What a spreadsheet may take for a formula or a command when a cell begins with it."""
_PADDING = "' \t\r\n\ufeff\xa0"


class Table(Struct, frozen=True, kw_only=True):
    """A table as it was read: `titles` as people wrote them, `columns` the same in lower case with underscores.

    `rows` have the number that a spreadsheet shows (the titles are row 1, unless blank rows or `sep=;` precede them).
    """

    titles: tuple[str, ...]
    columns: tuple[str, ...]
    rows: list[tuple[int, list[str]]]
    delimiter: str = ","
    encoding: str = "utf-8"


def column_name(title: str) -> str:
    """Return what a column is known by, however people write its title: `Also accepted` is also_accepted."""
    return "_".join(title.casefold().split())


def guarded(text: str) -> str:
    """Return a text for a CSV cell: an apostrophe keeps a spreadsheet from running what begins like a formula."""
    return f"'{text}" if _runs(text) else text


def unguarded(text: str) -> str:
    """Return what was written: `guarded` taken back."""
    return text[1:] if text.startswith("'") and _runs(text) else text


def _runs(text: str) -> bool:
    return text.lstrip(_PADDING)[:1] in _RISKY


def clean(text: str) -> str:
    """Return text without control characters and lone surrogates, line ends as line feeds, trimmed, in one Unicode
    form.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\u2028", "\n").replace("\u2029", "\n")
    if not text.isascii() or not text.isprintable():
        text = "".join(c for c in text if c in "\n\t" or unicodedata.category(c) not in ("Cc", "Cs"))
        text = unicodedata.normalize("NFC", text)
    return text.strip()


def tidy(text: str, limit: int = 200) -> str:
    """Return the same in one line, for names; format characters (bidi, zero width) gone too."""
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
        line = content[: problem.start].count(b"\n") + 1
        raise DataError(
            f"{name}, line {line}: byte 0x{content[problem.start]:02X} is not UTF-8; save the file as `CSV UTF-8` "
            "(spreadsheet) or in UTF-8 (editor)"
        ) from None
    if "\0" in text:
        raise DataError(f"{name}, line {text[: text.index(chr(0))].count(chr(10)) + 1}: a NUL character; is it text?")
    return text, encoding


def read_table(content: bytes, name: str, known: Iterable[str]) -> Table:
    """Return a CSV as any spreadsheet saves it: commas, semicolons or tabs; `known` names columns to tell which.

    Raises DataError with line and remedy for what is no table; rows that repeat the titles are left out.
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
    """Return the one that finds the most known columns in the first row, else the most columns."""

    def found(delimiter: str) -> tuple[int, int]:
        reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        try:
            titles = next((record for record in reader if any(map(str.strip, record))), [])
        except csv.Error:
            return 0, 0
        return len(known.intersection(map(column_name, titles))), len(titles)

    return max((",", ";", "\t"), key=found)


def written_table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",", encoding: str = "utf-8"
) -> bytes:
    """Return a table as bytes, every cell guarded."""
    out = io.StringIO()
    table = csv.writer(out, delimiter=delimiter, lineterminator="\r\n" if encoding != "utf-8" else "\n")
    table.writerow([guarded(title) for title in titles])
    table.writerows([guarded(cell) for cell in row] for row in rows)
    return out.getvalue().encode(encoding, "replace")


def cell_name(column: int, row: int) -> str:
    """Return a cell as spreadsheets call it: column 0 of row 2 is A2."""
    letters = ""
    column += 1
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return f"{letters}{row}"
