"""Two ways of rows of tokens through a model: whole, or behind a prefix that is computed once and kept.

Both give logits of asked positions only. The plain way is right for every causal model: rows in a batch, padded on the
right (what is before a token is all that it sees, so nothing is masked and any token will do as padding), no cache.
The shared way packs rows behind a kept prefix (sharing.py, attention.py).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

from msgspec import Struct

from viva.models.local.attention import Packed, Past
from viva.models.local.head import LOGITS, Head
from viva.models.local.sharing import OVERHEAD, Group, batches, common, groups, tree

TOKENS = {"cpu": 1024, "cuda": 16384}
"""Tokens that go through the layers at once, unless one row has more."""
PIECE = 1024
"""Tokens of a prefix that go through at once: what sees each other within a unit costs the square."""
CAPACITY = 1 << 28
"""Bytes of kept prefixes beside the one in use."""

Row = tuple[int, ...]


class Ask(Struct, frozen=True):
    """How probable each of `tokens` is behind the first `behind` (one or more) tokens of row number `row`.

    `prompt` is the number of what was asked for; several rows may be one prompt with different continuations.
    """

    prompt: int
    row: int
    behind: int
    tokens: Sequence[int]


class Logits(Struct, frozen=True):
    """Logits [some, vocabulary] in float32, and which line of them answers which ask: pairs (ask, line)."""

    answers: list[tuple[int, int]]
    values: Any


class Way(Protocol):
    """A way through a model.

    `computed`: tokens that went through the layers so far, padding included. `most`: that go through at once.
    """

    computed: int
    most: int

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """Return logits of all asks, by and by, in any order."""

    def clear(self) -> None:
        """Let go of what is kept."""


class Plain:
    """Rows whole, padded on the right."""

    def __init__(self, model: Any, device: Any, capacity: int = LOGITS) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._head, self._device = Head(model, capacity), device
        self.most = TOKENS.get(str(device).split(":")[0], TOKENS["cuda"])
        self.computed = 0

    def clear(self) -> None:
        """Nothing is kept."""

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """See `Way`. Equal rows go through once."""
        different = list(dict.fromkeys(rows[ask.row] for ask in asks))
        asked: dict[Row, list[int]] = {}
        for number, ask in enumerate(asks):
            asked.setdefault(rows[ask.row], []).append(number)
        for batch in batches([len(row) for row in different], self.most):
            yield from self._batch([different[index] for index in batch], asked, asks)

    def _batch(self, batch: list[Row], asked: dict[Row, list[int]], asks: Sequence[Ask]) -> Iterator[Logits]:
        longest = max(len(row) for row in batch)
        ids = self._torch.tensor([[*row, *[0] * (longest - len(row))] for row in batch], device=self._device)
        self.computed += ids.numel()
        where = [
            (number, line * longest + asks[number].behind - 1)
            for line, row in enumerate(batch)
            for number in asked[row]
        ]
        yield from _answered(self._torch, self._head, {"input_ids": ids, "use_cache": False}, where)


class Shared:
    """Rows packed behind prefixes, of which the last used are kept.

    `called` counts layers that attended, `windows` has the sliding windows that they were told (0: none).
    """

    def __init__(self, model: Any, device: Any, capacity: int = LOGITS) -> None:
        self._torch: Any = importlib.import_module("torch")
        self._model, self._device, self._head = model, device, Head(model, capacity)
        self.most = TOKENS.get(str(device).split(":")[0], TOKENS["cuda"])
        self._kept: list[tuple[Row, Past]] = []
        self.computed = 0
        self.overhead = OVERHEAD
        self.windows: set[int] = set()
        self.called = 0
        self.spares = True

    @property
    def spares(self) -> bool:
        """Whether the last layer's network sees only what is asked for."""
        return self._head.spares

    @spares.setter
    def spares(self, spares: bool) -> None:
        self._head.spares = spares

    def clear(self) -> None:
        """Let go of kept prefixes."""
        self._kept.clear()

    def logits(self, rows: Sequence[Row], asks: Sequence[Ask]) -> Iterator[Logits]:
        """See `Way`."""
        asked: dict[int, list[int]] = {}
        for number, ask in enumerate(asks):
            asked.setdefault(ask.row, []).append(number)
        used = list(asked)
        chosen = [rows[row] for row in used]
        own = [min(asks[number].behind for number in asked[row]) - 1 for row in used]
        for group in groups(chosen, own, [asks[asked[row][0]].prompt for row in used], self.overhead):
            yield from self._group(group, chosen, own, [asked[row] for row in used], asks)

    def _group(
        self, group: Group, rows: Sequence[Row], own: Sequence[int], asked: Sequence[list[int]], asks: Sequence[Ask]
    ) -> Iterator[Logits]:
        members = group.rows
        first, last = rows[group.units[0][0]], rows[group.units[-1][-1]]
        shared = min(common(first, last) if len(members) > 1 else len(first), *(own[row] for row in members))
        prefix, past = self._prefix(first[:shared], group.prefix, len(members))
        units = [tree(rows, unit, prefix) for unit in group.units]
        for batch in batches([len(unit.tokens) for unit in units], self.most):
            laid = [units[index] for index in batch]
            alone = len(members) == 1
            through = Packed(laid, prefix, past, self._device, keep=alone)
            where: list[tuple[int, int]] = []
            start = 0
            for index, unit in zip(batch, laid, strict=True):
                for row, path in zip(group.units[index], unit.paths, strict=True):
                    where += [(number, start + path[asks[number].behind - 1 - prefix]) for number in asked[row]]
                start += len(unit.tokens)
            yield from self._run(through, where)
            if alone:  # it cost nothing, and the next call may continue from here
                self._keep(first, prefix, past, through.seen)

    def _prefix(self, shared: Row, wanted: int, rows: int) -> tuple[int, Past]:
        """Return keys and values of the first tokens of `shared`: `wanted` of them, more or fewer where that is
        cheaper.
        """
        tokens, past = max(self._kept, key=lambda kept: common(kept[0], shared), default=((), {}))
        length = common(tokens, shared)
        if wanted > length and (wanted - length) * (rows - 1) > self.overhead:
            past = _cropped(past, length)
            for low in range(length, wanted, PIECE):
                piece = shared[low : min(wanted, low + PIECE)]
                through = Packed([tree([piece], [0], 0)], low, past, self._device, keep=True)
                for _ in self._run(through, []):
                    pass
                past = self._keep(shared[: low + len(piece)], low, past, through.seen)
            length = wanted
        elif length:
            self._kept.sort(key=lambda kept: kept[0] is tokens)  # the last is the last to go
        return length, _cropped(past, length)

    def _run(self, through: Packed, where: list[tuple[int, int]]) -> Iterator[Logits]:
        self.computed += len(through.tokens)
        inputs = {
            "input_ids": through.tokens[None],
            "position_ids": through.positions[None],
            "attention_mask": None,
            "use_cache": False,
        }
        yield from _answered(self._torch, self._head, inputs, where, through)
        self.called += through.called
        self.windows |= through.windows

    def _keep(self, tokens: Row, prefix: int, past: Past, seen: Past) -> Past:
        """Keep a prefix that is now as long as `tokens`, instead of those that it begins with, and few others."""
        longer: Past = {}
        for module, new in seen.items():
            parts = [*zip(past[module], new, strict=True)] if prefix else [(states,) for states in new]
            key, value = (self._torch.cat(part, 1) for part in parts)
            longer[module] = key, value
        kept = [(have, states) for have, states in self._kept if have != tokens[: len(have)]][-1:]
        if sum(key.nbytes + value.nbytes for _, states in kept for key, value in states.values()) > CAPACITY:
            kept = []
        self._kept = [*kept, (tokens, longer)]
        return longer


def _cropped(past: Past, length: int) -> Past:
    return {module: (key[:, :length], value[:, :length]) for module, (key, value) in past.items()} if length else {}


def _answered(
    torch: Any, head: Head, inputs: dict[str, Any], where: list[tuple[int, int]], through: Packed | None = None
) -> Iterator[Logits]:
    """Run it; `where` are pairs (ask, position among rows x tokens), and a position asked twice is computed once."""
    lines = {position: line for line, position in enumerate(dict.fromkeys(position for _, position in where))}
    asks: list[list[int]] = [[] for _ in lines]
    for ask, position in where:
        asks[lines[position]].append(ask)
    wanted = torch.tensor(list(lines), dtype=torch.long)
    for part, values in head.logits(inputs, wanted, through):
        yield Logits([(ask, line) for line, several in enumerate(asks[part]) for ask in several], values)
