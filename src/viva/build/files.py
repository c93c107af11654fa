"""Files that a user names, files of a project, and counts in words."""

from __future__ import annotations

from pathlib import Path

import msgspec

from viva.build.spreadsheet import decoded
from viva.errors import DataError, StorageError, VivaError
from viva.files import parse_toml, write_whole


def content_of(path: Path) -> bytes:
    """A file that the user named. Raises DataError."""
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
