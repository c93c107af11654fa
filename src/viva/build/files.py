"""Files that a user names, files of a project, sheets that people fill in, and folders that get a set whole or not at
all: everything is written in a folder inside first, and the manifest is moved last.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec

from viva.build.spreadsheet import decoded, read_table
from viva.errors import DataError, StorageError, VivaError, option
from viva.files import LockedError, lock, parse_toml, write_whole

_STAGE = ".partial"


@contextmanager
def staged(out: Path, files: Sequence[str], manifest: str, *, force: bool) -> Iterator[Path]:
    """A folder inside `out` to write into: its files are moved to `out` when the block ends well, dropped otherwise.

    `files` are the names that a set can have, `manifest` the one of them that makes it one. Raises VivaError where
    `out` holds a set already (unless `force`), StorageError where it cannot be written.
    """
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
            _move(stage, out, files, manifest)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(held)
            if new and out.is_dir() and not any(out.iterdir()):
                out.rmdir()
    except OSError as problem:
        raise StorageError(f"cannot write the set {out}: {problem.strerror or problem}") from None


def write_set(out: Path, contents: Mapping[str, bytes], files: Sequence[str], manifest: str, *, force: bool) -> None:
    """Write the files of a set to `out`, through to the disk, as `staged` does."""
    with staged(out, files, manifest, force=force) as stage:
        for name, content in contents.items():
            for folder in (stage, out):
                (folder / name).parent.mkdir(parents=True, exist_ok=True)
            with (stage / name).open("wb") as file:
                file.write(content)
                os.fsync(file.fileno())


def _move(stage: Path, out: Path, files: Sequence[str], manifest: str) -> None:
    """The old set ceases to be one, the new files come, and then they are one."""
    (out / manifest).unlink(missing_ok=True)
    for name in files:
        if name != manifest:
            (out / name).unlink(missing_ok=True)
            if (stage / name).exists():
                (stage / name).replace(out / name)
    (stage / manifest).replace(out / manifest)


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


def counted(values: Iterable[str]) -> dict[str, int]:
    """Return value → how many, in the order of the values: for a manifest."""
    return dict(sorted(Counter(values).items()))


def digest_of(content: object) -> str:
    """Return 32 hexadecimal digits over something that has a form in JSON."""
    return hashlib.blake2b(msgspec.json.encode(content), digest_size=16).hexdigest()


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
