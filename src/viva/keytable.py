"""Keys of requests, kept in some 30 bytes each: a set of bytes objects takes 100, and a run may ask a million times."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import blake2b

SIZE = 16
"""Bytes of a key."""
_LEAST = 64


def read_key(written: str) -> bytes:
    """Return a key from hexadecimal digits. Raises ValueError for any other text."""
    key = bytes.fromhex(written)
    if len(key) != SIZE:
        raise ValueError(f"a key has {SIZE} bytes, and this has {len(key)}")
    return key


def text_key(text: str) -> bytes:
    """Return the key of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


class KeyTable:
    """A set of keys, numbered from 0 in the order in which they were added.

    A hash table of key numbers with linear probing, at most half full, and an array of the keys. Python's hash of bytes
    is salted in each process, so that chosen keys do not all collide.
    """

    def __init__(self) -> None:
        self._keys = bytearray()
        self._slots = array("I", bytes(4 * _LEAST))  # number + 1 of a key; 0 for a free slot

    def __len__(self) -> int:
        return len(self._keys) // SIZE

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self)):
            yield bytes(self._keys[SIZE * number : SIZE * number + SIZE])

    def __contains__(self, key: bytes) -> bool:
        return self.find(key) is not None

    def find(self, key: bytes) -> int | None:
        """Return the number of a key; None if missing."""
        number = self._slots[self._place(key)]
        return number - 1 if number else None

    def add(self, key: bytes) -> int:
        """Add a key if missing; return its number."""
        place = self._place(key)
        if not self._slots[place]:
            if 2 * len(self) >= len(self._slots):
                self._grow()
                place = self._place(key)
            self._keys += key
            self._slots[place] = len(self)
        return self._slots[place] - 1

    def _place(self, key: bytes) -> int:
        """Return the slot of a key, or the free one for it."""
        slots, keys = self._slots, self._keys
        last = len(slots) - 1
        place = hash(key) & last
        while end := SIZE * slots[place]:
            if keys[end - SIZE : end] == key:
                break
            place = (place + 1) & last
        return place

    def _grow(self) -> None:
        self._slots = array("I", bytes(8 * len(self._slots)))
        last = len(self._slots) - 1
        for number, key in enumerate(self, 1):
            place = hash(key) & last
            while self._slots[place]:
                place = (place + 1) & last
            self._slots[place] = number
