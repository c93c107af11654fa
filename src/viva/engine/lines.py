"""What append-only files of lines have in common: a line is whole, or it is not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from viva.errors import StorageError
from viva.files import lines, open_regular


def whole_lines(file: int, name: Path) -> Iterator[tuple[int, bytes]]:
    """The whole lines of an open file with their numbers from 1; what a crash tore at its end is left out.

    Raises StorageError where it cannot be read, or a line is too long.
    """
    try:
        with os.fdopen(os.dup(file), "rb") as content:
            content.seek(0)
            for number, line in enumerate(lines(content, name), 1):
                if not line.endswith(b"\n"):
                    break
                yield number, line
    except OSError as problem:
        raise StorageError(f"cannot read {name}: {problem.strerror}") from None


def set_torn_tail_aside(file: int, end: int, aside: Path) -> None:
    """Move what follows the last complete line, which ends at `end`, to the file `aside`."""
    size = os.fstat(file).st_size
    if size > end:
        torn = os.pread(file, size - end, end)
        with os.fdopen(open_regular(aside, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "ab") as kept:
            kept.write(torn + b"\n")
        os.ftruncate(file, end)
