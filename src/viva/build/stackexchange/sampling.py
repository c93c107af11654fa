"""The draw: uniform among a language's questions, decided by seed and id alone.

Every question has a number made of the seed and its id, and the lowest are drawn. So the same seed draws the same
questions whatever the order of the dump, the number of processes and the other languages; a question more in a later
dump moves one at most.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable
from hashlib import blake2b

from msgspec import Struct


class Drawn(Struct, frozen=True):
    """A question of the pool: its place in its language's sample, and whether it is beyond the quota."""

    id: int
    place: int
    rank: int
    reserve: bool


def draw(ids: Iterable[int], *, place: int, quota: int, times: float, seed: int) -> list[Drawn]:
    """`times` as many as the quota, rounded, or as many as there are; the first `quota` are no reserve."""
    size = max(quota, round(quota * times))
    lowest = heapq.nsmallest(size, ids, key=lambda one: (_number(seed, one), one))
    return [Drawn(one, place, rank, rank > quota) for rank, one in enumerate(lowest, start=1)]


def _number(seed: int, question: int) -> bytes:
    return blake2b(f"{seed}:{question}".encode(), digest_size=16).digest()
