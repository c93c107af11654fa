"""A folder that gets a set whole or not at all: everything is written beside it first, its manifest is moved last."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from viva.errors import StorageError, VivaError, option
from viva.files import LockedError, lock

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
