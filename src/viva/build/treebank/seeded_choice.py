"""Random choices that depend on nothing but a name, so that a set is the same whatever the order and the machine."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import TypeVar

T = TypeVar("T")
_MASK = (1 << 64) - 1


class Dice:
    """A small generator (PCG's multiplier and increment) seeded with a name: a million are made in seconds, which the
    standard library's, with its state of 2.5 kB, does not allow. Nothing secret depends on it."""

    __slots__ = ("_state",)

    def __init__(self, name: str) -> None:
        self._state = int.from_bytes(blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")

    def below(self, limit: int) -> int:
        """Return a whole number from 0 up to `limit`, which it does not reach."""
        self._state = (self._state * 6364136223846793005 + 1442695040888963407) & _MASK
        return (self._state >> 33) * limit >> 31

    def shuffled(self, things: Sequence[T]) -> list[T]:
        """Return the things in random order (Fisher and Yates)."""
        mixed = list(things)
        for index in range(len(mixed) - 1, 0, -1):
            other = self.below(index + 1)
            mixed[index], mixed[other] = mixed[other], mixed[index]
        return mixed
