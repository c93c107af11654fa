"""A folder that gets a set whole or not at all: everything is written beside it first, its manifest is moved last."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from viva.errors import StorageError, VivaError

_STAGE = ".partial"


@contextmanager
def staged(out: Path, files: Sequence[str], manifest: str, *, force: bool) -> Iterator[Path]:
    """A folder inside `out` to write into: its files are moved to `out` when the block ends well, dropped otherwise.

    `files` are the names that a set can have, `manifest` the one of them that makes it one. Raises VivaError where
    `out` holds a set already (unless `force`), StorageError where it cannot be written.
    """
    there = [name for name in files if (out / name).exists()]
    if there and not force:
        raise VivaError(f"{out} holds a set already ({there[0]}): choose another --out, or replace it with --force")
    if out.exists() and not out.is_dir():
        raise VivaError(f"--out {out} is a file; name a folder")
    new = not out.exists()
    stage = out / _STAGE
    try:
        stage.mkdir(parents=True, exist_ok=True)
        lock = _locked(out, stage)
        try:
            for name in files:  # what a killed build left
                (stage / name).unlink(missing_ok=True)
            yield stage
            _move(stage, out, files, manifest)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(lock)
            if new and out.is_dir() and not any(out.iterdir()):
                out.rmdir()
    except OSError as problem:
        raise StorageError(f"cannot write the set {out}: {problem.strerror or problem}") from None


def _locked(out: Path, stage: Path) -> int:
    lock = os.open(stage / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StorageError(f"another process is building {out}; wait for it, or choose another --out") from None
    return lock


def _move(stage: Path, out: Path, files: Sequence[str], manifest: str) -> None:
    """The old set ceases to be one, the new files come, and then they are one."""
    (out / manifest).unlink(missing_ok=True)
    for name in files:
        if name != manifest:
            (out / name).unlink(missing_ok=True)
            if (stage / name).exists():
                (stage / name).replace(out / name)
    (stage / manifest).replace(out / manifest)
