"""Files packed with gzip, bzip2 or xz, told by their first bytes or by their names."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Final, cast

from viva.errors import DataError

BROKEN: Final = (OSError, EOFError, zlib.error, lzma.LZMAError)
"""What reading a packed file may raise."""
_OPENERS: dict[str, tuple[bytes, Callable[[IO[bytes]], IO[bytes]]]] = {
    ".gz": (b"\x1f\x8b", lambda file: cast("IO[bytes]", gzip.GzipFile(fileobj=file))),
    ".bz2": (b"BZh", lambda file: cast("IO[bytes]", bz2.BZ2File(file))),
    ".xz": (b"\xfd7zXZ\x00", lambda file: cast("IO[bytes]", lzma.LZMAFile(file))),  # noqa: SIM115 - its reader closes it
}
SUFFIXES = tuple(_OPENERS)


def opener(begins: bytes) -> Callable[[IO[bytes]], IO[bytes]] | None:
    """Return what unpacks a file that begins so; None where it is not packed."""
    return next((opened for magic, opened in _OPENERS.values() if begins.startswith(magic)), None)


def unpacking(file: IO[bytes], suffix: str) -> IO[bytes]:
    """Return what an open file of this suffix (`.gz`) holds: itself where it is not packed."""
    return _OPENERS[suffix][1](file) if suffix in _OPENERS else file


def unpacked(path: Path, what: str) -> bytes:
    """Return all that a file holds which a user named. Raises DataError, which calls it `what`."""
    try:
        with path.open("rb") as file, unpacking(file, path.suffix.lower()) as content:
            return content.read()
    except FileNotFoundError:
        raise DataError(f"there is no {what} {path}") from None
    except BROKEN as problem:
        raise DataError(f"cannot read the {what} {path}: {problem}") from None
