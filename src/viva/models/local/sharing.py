"""Sharing of common beginnings: a layout of rows of tokens in which no token is computed twice. Pure; no torch.

A causal language model computes the same for a token wherever the tokens before it are the same. Rows therefore form a
tree: tokens from the root down to a leaf are a row, and a node is computed once. Two means:

- a **prefix** of many rows (the exemplars of a subject) is computed alone, and what the layers made of it is kept for
  this batch and the next ones;
- a **unit** is a small tree below the prefix (a question and its four options) that is computed in one piece, every
  token seeing only its own ancestors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

OVERHEAD = 48
"""Cost, in tokens, of a separate pass for a prefix: weights are read once more, and small products are slow."""
UNIT = 1024
"""Most tokens in a unit, unless one row has more: attention within a unit costs their square."""
_SEEN = 1000
"""Useless pairs of tokens in attention that cost about as much as one token through all weights."""
_DEEPEST = 64
"""Most branchings that are followed: deeper trees are chains of rows, each continuing the one before."""


class Group(Struct, frozen=True):
    """Rows that have their first `prefix` tokens in common, in units of rows that go through the model as one tree.

    `units` hold indices of rows, sorted by their tokens, so that neighbours share most.
    """

    prefix: int
    units: tuple[tuple[int, ...], ...]

    @property
    def rows(self) -> tuple[int, ...]:
        """All the rows' indices."""
        return tuple(row for unit in self.units for row in unit)


class Tree(Struct, frozen=True):
    """A unit, laid out: its tokens in an order in which parents come first.

    `parents` and `depths` are a token's; -1 is the prefix, depth 0 is the first token behind it. `paths` has for every
    row which tokens it consists of.
    """

    tokens: list[int]
    parents: list[int]
    depths: list[int]
    paths: list[list[int]]

    @property
    def chain(self) -> bool:
        """Whether every token continues the one before: a single row."""
        return all(depth == index for index, depth in enumerate(self.depths))


def common(row: Sequence[int], other: Sequence[int]) -> int:
    """Return the length of the common beginning of two rows."""
    length = min(len(row), len(other))
    if row[:length] == other[:length]:  # the usual case, and a quick one
        return length
    return next((index for index in range(length) if row[index] != other[index]), length)


def groups(
    rows: Sequence[Sequence[int]],
    own: Sequence[int] | None = None,
    prompts: Sequence[int] | None = None,
    overhead: int = OVERHEAD,
) -> list[Group]:
    """Divide rows into groups with common prefixes, so that few tokens are computed (`cost`) in few passes.

    `own` says from which index on a row's tokens may not be in the prefix, because something is asked about them;
    without it every row keeps its last token. `prompts` has the same number for rows that are one prompt with different
    continuations, which will not be met again; without it all are different. Every row has at least one token. Never
    costs more than no sharing.
    """
    if not rows:
        return []
    return _Parting(rows, own or [len(row) - 1 for row in rows], prompts or range(len(rows)), overhead).best()


def cost(rows: Sequence[Sequence[int]], groups: Sequence[Group], overhead: int = OVERHEAD) -> int:
    """Return the tokens that go through the model, plus `overhead` for each separate pass of a prefix."""
    total = 0
    for group in groups:
        total += group.prefix + (overhead if group.prefix else 0)
        total += sum(len(tree(rows, unit, group.prefix).tokens) for unit in group.units)
    return total


def tree(rows: Sequence[Sequence[int]], unit: Sequence[int], prefix: int) -> Tree:
    """Lay out the rows of a unit, in their order, without the first `prefix` tokens that all of them begin with."""
    made = Tree([], [], [], [])
    path: list[int] = []
    before: Sequence[int] = ()
    for row in unit:
        tokens = rows[row]
        shared = max(0, common(before, tokens) - prefix)
        path = path[:shared]
        for depth in range(shared, len(tokens) - prefix):
            made.parents.append(path[-1] if path else -1)
            path.append(len(made.tokens))
            made.tokens.append(tokens[prefix + depth])
            made.depths.append(depth)
        made.paths.append(path)
        before = tokens
    return made


def batches(sizes: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield indices of units, those of like size together, so that units x the largest of a batch is `most` or less."""
    batch: list[int] = []
    for index in sorted(range(len(sizes)), key=lambda index: (-sizes[index], index)):
        if batch and (len(batch) + 1) * sizes[batch[0]] > most:
            yield batch
            batch = []
        batch.append(index)
    if batch:
        yield batch


class _Parting:
    """Rows in the order of their tokens; a stretch of them, [low, high), is a node of the tree that they form."""

    def __init__(
        self, rows: Sequence[Sequence[int]], own: Sequence[int], prompts: Sequence[int], overhead: int
    ) -> None:
        self.order = sorted(range(len(rows)), key=lambda index: tuple(rows[index]))
        self.prompts = [prompts[index] for index in self.order]
        self.lengths = [len(rows[index]) for index in self.order]
        self.own = [min(own[index], len(rows[index]) - 1) for index in self.order]
        self.shared = [common(rows[row], rows[other]) for row, other in pairwise(self.order)]
        self.overhead = overhead

    def best(self) -> list[Group]:
        chosen = self._best(0, len(self.order), 0)[1]
        without = [unit for group in chosen if not group.prefix for unit in group.units]
        shared = [group for group in chosen if group.prefix]
        return [*shared, Group(0, tuple(without))] if without else shared

    def _best(self, low: int, high: int, depth: int) -> tuple[float, list[Group]]:
        """Return the lowest cost of a stretch, and its groups."""
        prefix = min(self.own[low:high] + self.shared[low : high - 1])
        cheapest = self._priced(low, high, 0)
        if prefix * (high - low - 1) > self.overhead:
            cheapest = min(cheapest, self._priced(low, high, prefix), key=lambda priced: priced[0])
        if high - low == 1 or depth >= _DEEPEST:
            return cheapest
        split = [self._best(*part, depth + 1) for part in self._parts(low, high)]
        price = sum(part[0] for part in split)
        return cheapest if cheapest[0] <= price else (price, [group for part in split for group in part[1]])

    def _priced(self, low: int, high: int, prefix: int) -> tuple[float, list[Group]]:
        """Return cost and group of a stretch as one group. A prefix of several prompts is kept and recurs: it counts
        half.
        """
        units = list(self._units(low, high, prefix, 0))
        price: float = sum(self._size(*unit, prefix) for unit in units)
        if prefix:
            again = len(set(self.prompts[low:high])) > 1
            price += (prefix + self.overhead) / (2 if again else 1)
        return price, [Group(prefix, tuple(tuple(self.order[first:other]) for first, other in units))]

    def _parts(self, low: int, high: int) -> list[tuple[int, int]]:
        """Return the stretches below a node, split where neighbours share no more than all rows do."""
        if high - low == 1:
            return [(low, high)]
        least = min(self.shared[low : high - 1])
        cuts = [low, *(index + 1 for index in range(low, high - 1) if self.shared[index] == least), high]
        return list(pairwise(cuts))

    def _size(self, low: int, high: int, prefix: int) -> int:
        """Return the number of tokens of a stretch's tree, without the prefix."""
        return sum(self.lengths[low:high]) - sum(self.shared[low : high - 1]) - prefix

    def _units(self, low: int, high: int, prefix: int, depth: int) -> Iterator[tuple[int, int]]:
        if high - low == 1 or self._together(low, high, prefix):
            yield low, high
        elif depth >= _DEEPEST:
            yield from ((index, index + 1) for index in range(low, high))
        else:
            for part in self._parts(low, high):
                yield from self._units(*part, prefix, depth + 1)

    def _together(self, low: int, high: int, prefix: int) -> bool:
        """Tell whether a common unit saves more than its useless attention costs."""
        shared = min(self.shared[low : high - 1]) - prefix
        size, longest = self._size(low, high, prefix), max(self.lengths[low:high]) - prefix
        if shared <= 0 or size > max(UNIT, longest):
            return False
        saved = sum(self.lengths[low:high]) - prefix * (high - low) - size
        return saved * _SEEN >= size * (size - longest)
