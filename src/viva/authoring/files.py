"""Files that a user names, and counts in words."""

from __future__ import annotations

from pathlib import Path

from viva.errors import DataError


def content_of(path: Path) -> bytes:
    """A file that the user named. Raises DataError."""
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise DataError(f"there is no file {path}") from None
    except OSError as problem:
        raise DataError(f"cannot read {path}: {problem.strerror or problem}") from None


def counted(number: int, one: str, many: str = "") -> str:
    """`1 row`, `2,000 rows`."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"
