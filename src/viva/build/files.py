"""Files that a user names, files of a project, and counts in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from viva.build.spreadsheet import decoded, read_table
from viva.errors import DataError, StorageError, VivaError
from viva.files import parse_toml, write_whole


def content_of(path: Path) -> bytes:
    """Return a file that the user named. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None


def toml_of(content: bytes, name: str) -> dict[str, object]:
    """Return a TOML file of people's. Raises DataError."""
    try:
        return parse_toml(decoded(content, name)[0])
    except ValueError as problem:
        raise DataError(f"{name} is not valid TOML: {problem}") from None


def readable_json(content: object) -> bytes:
    """Return a manifest or settings as JSON that people can read."""
    return msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n"


def replace_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all, through to the disk; its folder is made, its rights stay.

    Raises StorageError.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, content, sync=True, mode=path.stat().st_mode & 0o777 if path.exists() else 0o644)
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror or problem}") from None


def append_line(path: Path, line: bytes) -> None:
    """Write one more line. Raises StorageError."""
    try:
        with path.open("ab") as file:
            file.write(line + b"\n")
    except OSError as problem:
        raise StorageError(f"cannot write {path}: {problem.strerror or problem}") from None


def new_sheet(path: Path, content: bytes) -> None:
    """Write a file that people fill in, and never over one. Raises VivaError, StorageError."""
    if path.exists():
        raise VivaError(f"{path} is there already; name another file")
    replace_file(path, content)


def filled_rows(
    path: Path, columns: Sequence[str], needed: Iterable[str], filled: str, missing: Callable[[str], str]
) -> Iterator[tuple[str, dict[str, str]]]:
    """Return the rows of a sheet in which people filled in a column, each with where it is; "" for cells without text.

    `columns`: those that a row has in any case. Raises DataError where one is missing that is `needed`, in the words of
    `missing` about it.
    """
    table = read_table(content_of(path), str(path), columns)
    for column in needed:
        if column not in table.columns:
            raise DataError(f"{path} has no column {missing(column)}")
    for number, cells in table.rows:
        row = dict.fromkeys(columns, "") | dict(zip(table.columns, cells, strict=False))
        if row[filled]:
            yield f"{path}, row {number}", row
