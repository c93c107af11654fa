"""Near-duplicates: MinHash signatures, and locality-sensitive hashing to find which are worth comparing.

Broder 1997: of the shingles of two texts, the share in common (Jaccard) is how often the least of their hashes is the
same. A signature holds the least hash under each of many functions; it is cut into bands, and two texts that agree in
one band are compared exactly. So no pair below the threshold is ever reported, and what can be missed is a pair at or
above it that agrees in no band: `recall_at` says how often.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.overlap.gramhash import U64, Grams, mixed

SURE = 0.995
"""How likely a pair exactly at the threshold is found, at least."""
_CAPACITY = 1 << 21
"""Hashes computed at once."""


class Bands(Struct, frozen=True):
    """How a signature is cut: `bands` of `rows` hashes each."""

    bands: int
    rows: int

    def recall_at(self, jaccard: float) -> float:
        """How likely two texts that are so alike agree in at least one band."""
        return float(1 - (1 - jaccard**self.rows) ** self.bands)


def bands_for(threshold: float, permutations: int = 128) -> Bands:
    """The longest bands, so the fewest needless comparisons, that still find a pair at the threshold (`SURE`)."""
    fitting = [Bands(permutations // rows, rows) for rows in range(1, permutations + 1)]
    return max((one for one in fitting if one.recall_at(threshold) >= SURE), key=lambda one: one.rows,
               default=fitting[0])  # fmt: skip


class Signer:
    """Makes signatures: `permutations` functions drawn by a seed, x → high half of (a·x + b) modulo 2^64, a odd."""

    def __init__(self, bands: Bands, seed: int = 0) -> None:
        dice = random.Random(f"minhash {seed}")
        count = bands.bands * bands.rows
        self.bands = bands
        self._factors = np.array([dice.getrandbits(64) | 1 for _ in range(count)], dtype=np.uint64)
        self._added = np.array([dice.getrandbits(64) for _ in range(count)], dtype=np.uint64)

    def signatures(self, grams: Grams) -> NDArray[np.uint32]:
        """A row a text. A text without shingles has one of nothing but the largest value."""
        texts = len(grams.bounds) - 1
        found = np.full((texts, len(self._factors)), 0xFFFFFFFF, dtype=np.uint32)
        filled = np.flatnonzero(np.diff(grams.bounds))
        step = max(1, _CAPACITY // len(self._factors))
        at = 0
        while at < len(filled):
            # As many texts as fit, and never less than one.
            limit = int(grams.bounds[filled[at]]) + step
            until = max(at + 1, int(np.searchsorted(grams.bounds[filled + 1], limit, side="right")))
            some = filled[at:until]
            first, last = int(grams.bounds[some[0]]), int(grams.bounds[some[-1] + 1])
            self._least(grams.hashes[first:last], grams.bounds[some] - first, found, some)
            at = until
        return found

    def _least(self, hashes: U64, starts: NDArray[np.int64], found: NDArray[np.uint32], rows: NDArray[np.intp]) -> None:
        with np.errstate(over="ignore"):
            for at in range(0, len(self._factors), 16):  # blocks that stay in the processor's cache
                block = slice(at, at + 16)
                values = hashes[None, :] * self._factors[block, None]
                values += self._added[block, None]
                values >>= np.uint64(32)
                found[rows, block] = np.minimum.reduceat(values, starts, axis=1).T

    def keys(self, signatures: NDArray[np.uint32]) -> U64:
        """A hash of each band of each signature: texts × bands."""
        cut = signatures.reshape(len(signatures), self.bands.bands, self.bands.rows).astype(np.uint64)
        found = np.zeros(cut.shape[:2], dtype=np.uint64)
        with np.errstate(over="ignore"):
            for row in range(self.bands.rows):
                found = mixed(found * np.uint64(0x100000001B3) + cut[:, :, row])
        return found


def estimated(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> float:
    """The Jaccard index of two texts by their signatures."""
    return float(np.mean(first == second))


def jaccard(first: U64, second: U64) -> float:
    """The exact one, of the shingles themselves; 0 where both have none."""
    return jaccard_of_sets(np.unique(first), np.unique(second))


def jaccard_of_sets(one: U64, other: U64) -> float:
    """The same, of shingles that are sorted and there once."""
    if not len(one) or not len(other):
        return 0.0
    places = np.minimum(np.searchsorted(one, other), len(one) - 1)
    common = int(np.count_nonzero(one[places] == other))
    return common / (len(one) + len(other) - common)


class Index:
    """The bands of one set of texts, to look up those of others."""

    def __init__(self, keys: U64) -> None:
        self._order = [np.argsort(keys[:, band], kind="stable") for band in range(keys.shape[1])]
        self._sorted = [keys[order, band] for band, order in enumerate(self._order)]

    def candidates(self, keys: U64) -> Iterator[tuple[int, int]]:
        """Pairs that agree in a band: a row of `keys` and a row of the indexed ones, each once, in order.

        A row at a time: where all texts begin alike, all pairs together would not fit into memory.
        """
        low = np.array([np.searchsorted(one, keys[:, band], side="left") for band, one in enumerate(self._sorted)])
        high = np.array([np.searchsorted(one, keys[:, band], side="right") for band, one in enumerate(self._sorted)])
        for row in np.flatnonzero((high > low).any(axis=0)).tolist():
            agreeing = [self._order[band][low[band, row] : high[band, row]] for band in range(len(self._order))]
            for other in np.unique(np.concatenate(agreeing)).tolist():
                yield row, other
