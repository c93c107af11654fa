"""Questions of a set that occur elsewhere: near-duplicates (MinHash), and shared passages (runs of n tokens).

The other texts come in batches, in a fixed order; each batch's result is independent of the others, so several
processes may share the work. `Search` does one batch, `Leaks` sums up.

Runs of 13 tokens (`--n 13`) are used for GPT-3 and by its successors (Brown et al. 2020, appendix C); a shorter
question is searched as a whole if it has at least 8 tokens. In Chinese a token is a character.

Near-duplicates: MinHash signatures, and locality-sensitive hashing to find which are worth comparing.

Broder 1997: of the shingles of two texts, the share in common (Jaccard) is how often the least of their hashes is the
same. A signature holds the least hash under each of many functions; it is cut into bands, and two texts that agree in
one band are compared exactly. So no pair below the threshold is ever reported; a pair at or above it is missed if it
agrees in no band: `recall_at` returns how likely it is found.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from viva.analysis.overlap.gramhash import I64, U64, Grams, Tokens, character_grams, mixed, spans, tokens_of, word_grams

SURE = 0.995
"""The least probability of finding a pair exactly at the threshold."""
_CAPACITY = 1 << 21
"""Hashes computed at once."""


class Bands(Struct, frozen=True):
    """The division of a signature: `bands` of `rows` hashes each."""

    bands: int
    rows: int

    def recall_at(self, jaccard: float) -> float:
        """Return the probability that two texts with this Jaccard index agree in at least one band."""
        return float(1 - (1 - jaccard**self.rows) ** self.bands)


def bands_for(threshold: float, permutations: int = 128) -> Bands:
    """Return the longest bands, so the fewest needless comparisons, that still find a pair at the threshold
    (`SURE`).
    """
    fitting = [Bands(permutations // rows, rows) for rows in range(1, permutations + 1)]
    return max((bands for bands in fitting if bands.recall_at(threshold) >= SURE), key=lambda bands: bands.rows,
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
        """Return a row a text. A text without shingles has a row of the largest value."""
        least = np.full((len(grams.bounds) - 1, len(self._factors)), 0xFFFFFFFF, dtype=np.uint32)
        filled = np.flatnonzero(np.diff(grams.bounds))
        edges = np.append(grams.bounds[filled], grams.bounds[-1])
        for start, until in _batches(edges, max(1, _CAPACITY // len(self._factors))):
            hashes = grams.hashes[edges[start] : edges[until]]
            self._least(hashes, edges[start:until] - edges[start], least, filled[start:until])
        return least

    def _least(self, hashes: U64, starts: NDArray[np.int64], least: NDArray[np.uint32], rows: NDArray[np.intp]) -> None:
        with np.errstate(over="ignore"):
            for start in range(0, len(self._factors), 16):  # blocks that stay in the processor's cache
                block = slice(start, start + 16)
                values = hashes[None, :] * self._factors[block, None]
                values += self._added[block, None]
                values >>= np.uint64(32)
                least[rows, block] = np.minimum.reduceat(values, starts, axis=1).T

    def keys(self, signatures: NDArray[np.uint32]) -> U64:
        """Return a hash of each band of each signature: texts × bands. Different bands never have equal hashes."""
        cut = signatures.reshape(len(signatures), self.bands.bands, self.bands.rows).astype(np.uint64)
        hashed = np.tile(np.arange(self.bands.bands, dtype=np.uint64), (len(cut), 1))
        with np.errstate(over="ignore"):
            for row in range(self.bands.rows):
                hashed = mixed(hashed * np.uint64(0x100000001B3) + cut[:, :, row])
        return hashed


def estimated(first: NDArray[np.uint32], second: NDArray[np.uint32]) -> float:
    """Return the Jaccard index of two texts as estimated from their signatures."""
    return float(np.mean(first == second))


def jaccard_of_sets(left: U64, other: U64) -> float:
    """Return the exact Jaccard index of shingles that are sorted and unique."""
    if not len(left) or not len(other):
        return 0.0
    places = np.minimum(np.searchsorted(left, other), len(left) - 1)
    common = int(np.count_nonzero(left[places] == other))
    return common / (len(left) + len(other) - common)


def _batches(edges: NDArray[Any], most: int) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of batches of the stretches between `edges`: each at most `most` long, or a single stretch."""
    start = 0
    while start < len(edges) - 1:
        until = max(start + 1, int(np.searchsorted(edges, edges[start] + most, side="right")) - 1)
        yield start, until
        start = until


class _Lookup:
    """A sorted table of hashes for looking up others."""

    def __init__(self, hashes: U64) -> None:
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """Return for each hash its first place in the sorted table, and how often it occurs."""
        low = np.searchsorted(self._sorted, hashes)
        return low, np.searchsorted(self._sorted, hashes, side="right") - low

    def pairs(self, low: I64, counts: I64) -> tuple[I64, I64]:
        """Return all pairs of equal hashes: the places among those looked up, and among the known ones."""
        return np.repeat(np.arange(len(counts)), counts), self._order[spans(low, counts)]


class Index:
    """An index of one set's bands, for looking up those of others."""

    def __init__(self, keys: U64) -> None:
        self._texts, self._bands = keys.shape
        self._lookup = _Lookup(keys.ravel())

    def candidates(self, keys: U64) -> Iterator[tuple[int, int]]:
        """Yield pairs that agree in a band: a row of `keys` and a row of the indexed ones, each once, in order.

        In batches of rows: where all texts begin alike, all pairs together would not fit into memory.
        """
        low, counts = self._lookup.find(keys.ravel())
        of_rows = counts.reshape(keys.shape).sum(axis=1)
        for start, until in _batches(np.append(0, np.cumsum(of_rows)), _AT_ONCE):
            part = slice(start * self._bands, until * self._bands)
            here, there = (places // self._bands for places in self._lookup.pairs(low[part], counts[part]))
            for row, other in map(
                divmod, np.unique(here * self._texts + there).tolist(), itertools.repeat(self._texts)
            ):
                yield start + row, other


KEPT = 10
"""The most similar near-duplicates kept for a question."""
_BITS = 22
_AT_ONCE = 1 << 20
"""Shared runs processed at once, unless a single text and question have more."""
LONGEST_SHOWN = 2_000
"""Characters of a text that are kept for display."""


class OverlapConfig(Struct, frozen=True, kw_only=True):
    """How texts are compared."""

    threshold: float = 0.7
    """The lowest Jaccard index of near-duplicates."""
    shingle: int = 3
    characters: bool = False
    """Shingles of characters, not of tokens."""
    permutations: int = 128
    seed: int = 0
    n: int = 13
    least: int = 8
    """The fewest tokens of a question shorter than `n` that is searched as a whole."""

    @property
    def bands(self) -> Bands:
        """The division of signatures."""
        return bands_for(self.threshold, self.permutations)

    def shingles(self, tokens: Tokens) -> Grams:
        """Return the shingles of texts."""
        return character_grams(tokens, self.shingle) if self.characters else word_grams(tokens, self.shingle)


class Document(NamedTuple):
    """A text to compare with a set. `own`: the question that it is itself (-1: none), which is left out."""

    place: str
    text: str
    own: int = -1


class Near(Struct, frozen=True):
    """A question that is nearly the same as a text: places, exact and estimated Jaccard index, the text."""

    question: int
    place: str
    jaccard: float
    estimate: float
    numbers_differ: bool
    """The two differ in a number: perhaps an exercise and its variant."""
    text: str


class Passage(Struct, frozen=True):
    """The longest passage that a question shares with a text: tokens, where, and from which character on."""

    tokens: int
    place: str
    offset: int
    text: str


class Shared(Struct, frozen=True):
    """What a question shares with the texts of one batch: which of its runs, and the longest passage."""

    question: int
    runs: tuple[int, ...]
    longest: Passage


class TextMatch(Struct, frozen=True):
    """The overlap of one batch with the set."""

    near: tuple[Near, ...]
    shared: tuple[Shared, ...]
    texts: int
    characters: int
    unread: tuple[str, ...] = ()
    """Places of unreadable texts."""


class Search:
    """A set prepared for searching other texts for its questions."""

    def __init__(self, questions: Sequence[str], overlap_config: OverlapConfig) -> None:
        self.overlap_config = overlap_config
        self._tokens = tokens_of(questions)
        self._counts = np.diff(self._tokens.bounds)
        self._shingles = overlap_config.shingles(self._tokens)
        self._signer = Signer(overlap_config.bands, overlap_config.seed)
        self._signatures = self._signer.signatures(self._shingles)
        keys = self._signer.keys(self._signatures)
        # A text without tokens matches none: each gets a key that no text has.
        keys[self._counts == 0] = np.uint64(0)
        self._index = Index(keys)
        distinct = np.diff(self._shingles.bounds)
        self._most = int(distinct.max(initial=0) / overlap_config.threshold) + 1
        self._looked_at: dict[int, tuple[U64, list[str]]] = {}
        self._runs = dict(self._by_length())

    def _by_length(self) -> Iterator[tuple[int, _Runs]]:
        n, least = self.overlap_config.n, min(self.overlap_config.least, self.overlap_config.n)
        for length in range(least, n + 1):
            wanted = (self._counts >= n) if length == n else (self._counts == length)
            if wanted.any():
                yield length, _Runs(self._tokens, length, np.flatnonzero(wanted))

    @property
    def totals(self) -> list[int]:
        """The number of runs of each question; 0 for a question too short to be searched."""
        runs_of = np.zeros(len(self._tokens), dtype=np.int64)
        for length, runs in self._runs.items():
            runs_of[runs.questions] = self._counts[runs.questions] - length + 1
        return [int(count) for count in runs_of]

    def batch(self, documents: Sequence[Document]) -> TextMatch:
        """Return the overlap of a batch of texts with the set."""
        tokens = tokens_of([document.text for document in documents])
        return TextMatch(
            near=tuple(self._near(documents, tokens)),
            shared=tuple(self._shared(documents, tokens)),
            texts=len(documents),
            characters=sum(len(document.text) for document in documents),
        )

    def _near(self, documents: Sequence[Document], tokens: Tokens) -> Iterator[Near]:
        # A text with many times as many shingles as any question cannot be nearly the same as one. Repeated shingles
        # count once, so only long texts are ruled out by their length.
        counts = np.diff(tokens.bounds)
        fitting = np.flatnonzero((counts > 0) & (counts <= self._longest_fitting()))
        if not len(fitting):
            return
        few = len(fitting) < len(documents)
        some = tokens_of([documents[int(place)].text for place in fitting]) if few else tokens
        shingles = self.overlap_config.shingles(some)
        signatures = self._signer.signatures(shingles)
        last, here, figures = -1, shingles.of(0), [""]
        for row, question in self._index.candidates(self._signer.keys(signatures)):
            document = documents[int(fitting[row])]
            if document.own >= 0 and question >= document.own:
                continue  # itself, or a pair reported the other way round
            if row != last:
                last, here, figures = row, np.unique(shingles.of(row)), _numbers(some, row)
            there, theirs = self._known(question)
            alike = jaccard_of_sets(here, there)
            if alike >= self.overlap_config.threshold:
                estimate = estimated(signatures[row], self._signatures[question])
                yield Near(question, document.place, alike, estimate, figures != theirs, document.text[:LONGEST_SHOWN])

    def _known(self, question: int) -> tuple[U64, list[str]]:
        """Return a question's unique shingles, sorted, and its numbers."""
        known = self._looked_at.get(question)
        if known is None:
            known = np.unique(self._shingles.of(question)), _numbers(self._tokens, question)
            self._looked_at[question] = known
        return known

    def _longest_fitting(self) -> int:
        """Return the most tokens of a text that is compared, with a factor of four for repeated shingles."""
        return 4 * (self._most + self.overlap_config.shingle) + 64

    def _shared(self, documents: Sequence[Document], tokens: Tokens) -> Iterator[Shared]:
        for length, runs in self._runs.items():
            for hits in runs.hits(word_grams(tokens, length, short=False)):
                owners = np.searchsorted(tokens.bounds, hits.first, side="right") - 1
                own = np.array([document.own for document in documents], dtype=np.int64)[owners]
                keep = own != hits.question
                yield from self._summed(documents, tokens, length, hits.only(keep), owners[keep])

    def _summed(
        self, documents: Sequence[Document], tokens: Tokens, length: int, hits: _Hits, owners: NDArray[np.intp]
    ) -> Iterator[Shared]:
        order = np.lexsort((hits.first, hits.first - hits.run, owners, hits.question))
        hits, owners = hits.only(order), owners[order]
        apart = [np.diff(hits.question) != 0, np.diff(owners) != 0, np.diff(hits.first) != 1, np.diff(hits.run) != 1]
        edges = np.unique(np.concatenate(([0], np.flatnonzero(np.any(apart, axis=0)) + 1, [len(owners)])))
        by_question: dict[int, tuple[set[int], Passage]] = {}
        for start, end in itertools.pairwise(edges.tolist()):
            question, first, run = int(hits.question[start]), int(hits.first[start]), int(hits.run[start])
            count = end - start + length - 1
            held = by_question.get(question)
            if held and count <= held[1].tokens and held[0].issuperset(range(run, run + end - start)):
                continue  # neither a longer passage nor a new run
            if not _same(tokens, first, self._tokens, int(self._tokens.bounds[question]) + run, count):
                continue  # a hash collision
            runs = held[0] if held else set()
            runs.update(range(run, run + end - start))
            if held is None or count > held[1].tokens:
                owner = int(owners[start])
                offset = int(tokens.starts[first] - tokens.origins[owner])
                text = tokens.passage(first, count)[:LONGEST_SHOWN]
                by_question[question] = (runs, Passage(count, documents[owner].place, offset, text))
        for question, (runs, longest) in by_question.items():
            yield Shared(question, tuple(sorted(runs)), longest)


class _Hits(NamedTuple):
    """Runs in common: the token each begins with, the question, and which of its runs it is."""

    first: I64
    question: I64
    run: I64

    def only(self, which: NDArray[np.bool_] | NDArray[np.intp]) -> _Hits:
        return _Hits(self.first[which], self.question[which], self.run[which])


class _Runs:
    """The runs of one length of some questions, for looking up those of texts."""

    def __init__(self, tokens: Tokens, length: int, questions: NDArray[np.intp]) -> None:
        grams = word_grams(tokens, length, short=False)
        counts = np.diff(grams.bounds)
        owners = np.repeat(np.arange(len(counts)), counts)
        wanted = np.isin(owners, questions)
        self.questions = questions
        self._hashes, self._owners = grams.hashes[wanted], owners[wanted]
        self._run = grams.first[wanted] - tokens.bounds[self._owners]
        self._lookup = _Lookup(self._hashes)
        self._filter = np.zeros(1 << _BITS, dtype=bool)
        self._filter[self._hashes >> np.uint64(64 - _BITS)] = True

    def hits(self, grams: Grams) -> Iterator[_Hits]:
        """Yield which runs of texts are runs of these questions; hits of one text and question come together.

        At most `_AT_ONCE` at a time: where many questions begin alike, all pairs of runs would not fit into memory.
        """
        likely = np.flatnonzero(self._filter[grams.hashes >> np.uint64(64 - _BITS)])
        low, counts = self._lookup.find(grams.hashes[likely])
        likely, low, counts = likely[counts > 0], low[counts > 0], counts[counts > 0]
        texts = np.searchsorted(grams.bounds, likely, side="right")
        bounds = np.append(np.flatnonzero(np.diff(texts, prepend=-1)), len(likely))  # where each text begins
        edges = np.append(0, np.cumsum(counts))[bounds]
        for start, until in _batches(edges, _AT_ONCE):
            span = slice(int(bounds[start]), int(bounds[until]))
            first, parts = grams.first[likely[span]], -(-int(edges[until] - edges[start]) // _AT_ONCE)
            if parts <= 1:
                here, there = self._lookup.pairs(low[span], counts[span])
                yield _Hits(first[here], self._owners[there], self._run[there])
                continue
            for some in np.array_split(self.questions, min(parts, len(self.questions))):
                mine = np.flatnonzero(np.isin(self._owners, some))
                lookup = _Lookup(self._hashes[mine])
                here, there = lookup.pairs(*lookup.find(grams.hashes[likely[span]]))
                yield _Hits(first[here], self._owners[mine[there]], self._run[mine[there]])


def _same(left: Tokens, place: int, other: Tokens, there: int, count: int) -> bool:
    """Return whether two passages have the same tokens, character by character."""
    passages = [(each, slice(start, start + count)) for each, start in ((left, place), (other, there))]
    sizes, sizes_there = (each.ends[span] - each.starts[span] for each, span in passages)
    if not np.array_equal(sizes, sizes_there):
        return False
    here, beyond = (each.folded[spans(each.starts[span], sizes)] for each, span in passages)
    return np.array_equal(here, beyond)


def _numbers(tokens: Tokens, index: int) -> list[str]:
    """Return the tokens of a text that begin with a digit, sorted."""
    span = range(int(tokens.bounds[index]), int(tokens.bounds[index + 1]))
    numerals = (tokens.text[tokens.starts[place] : tokens.ends[place]] for place in span)
    return sorted(token.casefold() for token in numerals if token[:1].isdigit())


class Leak(Struct, frozen=True, kw_only=True):
    """The overlap of one question. `share`: of its runs; None where it is too short for one."""

    question: int
    runs: int
    share: float | None
    longest: Passage | None
    near: tuple[Near, ...]
    near_total: int


class Leaks:
    """Sums up the overlap of batches, in their order, with a set."""

    def __init__(self, totals: Sequence[int]) -> None:
        self._totals = totals
        self._runs: dict[int, set[int]] = {}
        self._longest: dict[int, Passage] = {}
        self._near: dict[int, list[Near]] = {}
        self._near_totals: dict[int, int] = {}
        self.texts = self.characters = self.unread = 0
        self.unread_first = ""

    def add(self, match: TextMatch) -> None:
        """Add one batch."""
        self.texts += match.texts
        self.characters += match.characters
        self.unread += len(match.unread)
        self.unread_first = self.unread_first or (match.unread[0] if match.unread else "")
        for near in match.near:
            kept = self._near.setdefault(near.question, [])
            kept.append(near)
            kept.sort(key=lambda leak: -leak.jaccard)  # stable: the earlier of equals comes first
            del kept[KEPT:]
            self._near_totals[near.question] = self._near_totals.get(near.question, 0) + 1
        for shared in match.shared:
            self._runs.setdefault(shared.question, set()).update(shared.runs)
            longest = self._longest.get(shared.question)
            if longest is None or shared.longest.tokens > longest.tokens:
                self._longest[shared.question] = shared.longest

    def leaks(self) -> list[Leak]:
        """Return every question with some overlap, in the order of the set."""
        return [
            Leak(
                question=question,
                runs=total,
                share=len(self._runs.get(question, ())) / total if total else None,
                longest=self._longest.get(question),
                near=tuple(self._near.get(question, ())),
                near_total=self._near_totals.get(question, 0),
            )
            for question, total in enumerate(self._totals)
            if question in self._runs or question in self._near
        ]
