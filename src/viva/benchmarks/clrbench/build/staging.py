"""A folder that gets a set whole or not at all: everything is written beside it first, build.json is moved last."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from viva.benchmarks.clrbench.build.export import FILES, MANIFEST
from viva.errors import StorageError, VivaError

_STAGE = ".partial"


def write_set(out: Path, contents: Mapping[str, bytes], *, force: bool) -> None:
    """Write the files of a set to `out`.

    Raises VivaError where `out` holds a set already (unless `force`), StorageError where it cannot be written.
    """
    there = [name for name in FILES if (out / name).exists()]
    if there and not force:
        raise VivaError(f"{out} holds a set already ({there[0]}): choose another --out, or replace it with --force")
    if out.exists() and not out.is_dir():
        raise VivaError(f"--out {out} is a file; name a folder")
    stage = out / _STAGE
    try:
        stage.mkdir(parents=True, exist_ok=True)
        lock = _locked(out, stage)
        try:
            for name, content in contents.items():
                with (stage / name).open("wb") as file:
                    file.write(content)
                    os.fsync(file.fileno())
            (out / MANIFEST).unlink(missing_ok=True)  # the old set ceases to be one
            for name in (*(name for name in FILES if name != MANIFEST), MANIFEST):
                (stage / name).replace(out / name)
        finally:
            shutil.rmtree(stage, ignore_errors=True)
            os.close(lock)
    except OSError as problem:
        raise StorageError(f"cannot write the set {out}: {problem.strerror or problem}") from None


def _locked(out: Path, stage: Path) -> int:
    lock = os.open(stage / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise StorageError(f"another process is writing {out}; wait for it, or choose another --out") from None
    return lock
