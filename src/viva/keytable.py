"""Keys of requests, kept in some 30 bytes each: a set of bytes objects takes 100, and a run may ask a million times."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from hashlib import blake2b

SIZE = 16
"""Bytes of a key."""
_LEAST = 64


def read_key(written: str) -> bytes:
    """Return a key from hexadecimal digits. Raises ValueError for what is none."""
    key = bytes.fromhex(written)
    if len(key) != SIZE:
        raise ValueError(f"a key has {SIZE} bytes, and this has {len(key)}")
    return key


def text_key(text: str) -> bytes:
    """Return the key of a text."""
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=SIZE).digest()


class KeyTable:
    """Different keys, numbered from 0 in the order in which they came.

    A hash table of numbers with linear probing, at most half full, beside the keys one after the other. Python's hash
    of bytes has a secret of the process in it: keys that somebody chose do not all collide.
    """

    def __init__(self) -> None:
        self._keys = bytearray()
        self._slots = array("I", bytes(4 * _LEAST))  # a number and one, 0 where there is none

    def __len__(self) -> int:
        return len(self._keys) // SIZE

    def __iter__(self) -> Iterator[bytes]:
        for number in range(len(self)):
            yield bytes(self._keys[SIZE * number : SIZE * number + SIZE])

    def __contains__(self, key: bytes) -> bool:
        return self.find(key) is not None

    def find(self, key: bytes) -> int | None:
        """Return the number of a key; None where it is not there."""
        number = self._slots[self._place(key)]
        return number - 1 if number else None

    def add(self, key: bytes) -> int:
        """Return the number of a key, which is put in where it was not there."""
        place = self._place(key)
        if not self._slots[place]:
            if 2 * len(self) >= len(self._slots):
                self._grow()
                place = self._place(key)
            self._keys += key
            self._slots[place] = len(self)
        return self._slots[place] - 1

    def _place(self, key: bytes) -> int:
        """Return where the key's number is, or would be."""
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
