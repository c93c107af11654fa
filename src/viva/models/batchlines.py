"""Result files of batch APIs, from servers that may be hostile: split into lines within bounds."""

from __future__ import annotations

from collections.abc import Iterator

LONGEST_LINE = 16 << 20
"""Bytes of one result that are read at most."""


def lost(batch: str) -> str:
    """Return what to do about a batch that a provider does not know. Without its name it is searched for once more."""
    return (
        "was it handed in with the key of another organisation or workspace? If it is lost, remove the line "
        f"`submitted` of {batch} from batches.jsonl, and its requests are asked anew"
    )


class Lines:
    """Splits what comes in pieces into lines, without their ends. Empty and too long ones are left out."""

    def __init__(self, longest: int = LONGEST_LINE) -> None:
        self._longest = longest
        self._parts: list[bytes] = []
        self._size = 0

    def take(self, piece: bytes) -> Iterator[bytes]:
        """Return the lines that end in this piece."""
        start = 0
        while (end := piece.find(b"\n", start)) >= 0:
            self._keep(piece[start:end])
            yield from self.rest()
            start = end + 1
        self._keep(piece[start:])

    def rest(self) -> Iterator[bytes]:
        """Return what stands behind the last line feed, if anything does."""
        line = b"".join(self._parts).strip()
        if line and self._size <= self._longest:
            yield line
        self._parts, self._size = [], 0

    def _keep(self, part: bytes) -> None:
        self._size += len(part)
        if self._size > self._longest:
            self._parts = []
        elif part:
            self._parts.append(part)
