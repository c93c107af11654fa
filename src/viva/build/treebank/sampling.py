"""Draw a set from all questions: the published scheme and a clean one. Neither keeps the questions in memory.

A draw takes the ids with the k smallest keyed hashes: it depends on seed and candidates, not on order or processes, and
draws from parts of a treebank can be merged. The authors' random draws cannot be repeated; candidates and numbers are
the same.

published (arXiv 2311.08287, section 4)
    A stratum is a knowledge point, a format and one tag; a question with three tags is in three. Strata below
    `min_stratum` (50) are dropped, `per_stratum` (5) are drawn of each, and the set is their concatenation: a question
    that was drawn twice is asked twice. Exemplars: at most `exemplars` (50) of each stratum, less those that are asked;
    of these, `exemplars` for each knowledge point and format.
clean
    The same number (`per_stratum`, 120) of each knowledge point and format, if the treebank has so many, spread evenly
    over the answers' categories; categories with few questions are merged. No question twice, no sentence twice while
    there are others, and never with the same answer letter or truth value; as many true as false statements, and as
    many golds A as B, C, D if possible. Up to a quarter of the sentences are first set aside for exemplars, so that no
    exemplar shares its sentence with a question.
"""

from __future__ import annotations

import hashlib
import heapq
import itertools
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple

from msgspec import Struct

from viva.benchmarks.syneval.facts import FORMATS, KNOWLEDGE_POINTS, Item

Scheme = Literal["clean", "published"]
_WORD = (1 << 64) - 1
DEFAULTS: dict[Scheme, tuple[int, int]] = {"clean": (120, 20), "published": (5, 50)}
"""Scheme → defaults of `per_stratum` and `min_stratum`."""
RESERVE = 100
"""Most sentences set aside for clean exemplars."""
SHOTS = 5
"""Sentences per knowledge point and format that are set aside first, for five-shot prompts."""
EACH = 4
"""Candidates for clean exemplars per sentence, knowledge point and format."""
OTHER = "other"
"""The stratum of categories with too few questions."""


class SamplingSettings(Struct, frozen=True, kw_only=True):
    """Settings of a draw."""

    scheme: Scheme = "clean"
    per_stratum: int = 120
    """Questions drawn of each stratum (published), or of each knowledge point and format (clean)."""
    min_stratum: int = 20
    """Questions. Smaller strata are dropped (published) or merged per knowledge point and format (clean)."""
    exemplars: int = 50
    seed: int = 42


class Place(NamedTuple):
    """A question's chunk, and its position there in bytes. Places sort in the order of the treebank."""

    chunk: int
    offset: int
    length: int


class Drawn(NamedTuple):
    """A set: questions, each with the stratum that it was drawn for, in the order of the file."""

    test: list[tuple[str, Place]]
    exemplars: list[tuple[str, Place]]
    strata: int
    """Number of strata."""
    eligible: int
    """Number of strata drawn from."""
    short: dict[str, int] = {}  # noqa: RUF012 - never changed
    """Knowledge point and format → number drawn, if the treebank has too few (clean)."""


Stratum = tuple[str, str, str]
"""Knowledge point, format, and a tag (published) or a category (clean)."""
Candidates = dict[str, list[tuple[object, Place]]]
"""Answer letter or truth value → sentences and places of their questions, in the order of the draw."""


@lru_cache(maxsize=64)  # a sentence's questions are consecutive
def _hash(*parts: str) -> int:
    return int.from_bytes(hashlib.blake2b("\0".join(parts).encode("utf-8"), digest_size=8).digest(), "little")


@cache
def _keyed(seed: int) -> hashlib.blake2b:
    """Return a keyed hash to copy, which costs half of creating one."""
    return hashlib.blake2b(digest_size=8, key=str(seed).encode())


def _number(seed: int, identity: str) -> int:
    digest = _keyed(seed).copy()
    digest.update(identity.encode())
    return int.from_bytes(digest.digest(), "little")


class Smallest:
    """The `size` labels with the smallest keys offered so far, with up to `each` smallest entries per label."""

    __slots__ = ("each", "entries", "limit", "size")

    def __init__(self, size: int, each: int = 1) -> None:
        self.size, self.each = size, each
        self.entries: dict[object, list[tuple[int, Any]]] = {}
        self.limit = _WORD + 1
        """Keys from this value on are not kept."""

    def offer(self, key: int, label: object, entry: object) -> None:
        """Offer an entry."""
        if key >= self.limit:
            return
        held = self.entries.get(label)
        if held is None:
            self.entries[label] = [(key, entry)]
            if len(self.entries) > self.size + self.size // 2 + 16:
                kept = heapq.nsmallest(self.size, self.entries.items(), key=lambda labelled: labelled[1])
                self.entries = dict(kept)
                self.limit = kept[-1][1][0][0] + 1 if kept else 0
        elif len(held) < self.each or (key, entry) < held[-1]:
            self.entries[label] = sorted([*held, (key, entry)])[: self.each]

    def merge(self, other: Smallest) -> None:
        """Offer all entries of another collection."""
        for label, held in other.entries.items():
            for key, entry in held:
                self.offer(key, label, entry)

    def labels(self) -> list[object]:
        """Return the labels, smallest key first."""
        return sorted(self.entries, key=self.entries.__getitem__)[: self.size]

    def ranked(self) -> list[tuple[int, object, Any]]:
        """Return the entries in the order of their labels."""
        return [(key, label, entry) for label in self.labels() for key, entry in self.entries[label]]


def sampler(settings: SamplingSettings) -> Sampler:
    """Return a new sampler for the scheme."""
    return PublishedSampler(settings) if settings.scheme == "published" else CleanSampler(settings)


class Sampler(ABC):
    """Collects candidates from questions, each seen once; samplers of parts of a treebank can be merged."""

    def __init__(self, settings: SamplingSettings) -> None:
        self.settings = settings
        self._counts: Counter[Stratum] = Counter()
        self._pools: dict[tuple[str, ...], Smallest] = {}
        """Candidates by use ("test", "exemplars", "sentences") and stratum."""

    @abstractmethod
    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""

    @abstractmethod
    def draw(self) -> Drawn:
        """Return the set."""

    def merge(self, other: Sampler) -> None:
        """Add everything that another sampler of the same settings saw."""
        self._counts.update(other._counts)
        for name, pool in other._pools.items():
            self._pool(name, pool.size, pool.each).merge(pool)

    def _pool(self, name: tuple[str, ...], size: int, each: int = 1) -> Smallest:
        pool = self._pools.get(name)
        if pool is None:
            pool = self._pools[name] = Smallest(size, each)
        return pool

    def _of(self, use: str) -> dict[tuple[str, ...], Smallest]:
        """Return the pools for one use, ordered by knowledge point, format and the rest of the name."""
        pools = {name[1:]: pool for name, pool in self._pools.items() if name[0] == use}
        return {name: pools[name] for name in sorted(pools, key=_order)}


def _order(name: tuple[str, ...]) -> tuple[object, ...]:
    return KNOWLEDGE_POINTS.index(name[0]), FORMATS.index(name[1]), *name[2:]


@cache
def _strata_of(point: str, form: str, tags: tuple[str, ...]) -> tuple[Stratum, ...]:
    return tuple(dict.fromkeys((point, form, tag.replace("(non-restrictive)", "")) for tag in tags))


@cache
def _keys(seed: int, name: str) -> tuple[int, int]:
    """Return two numbers specific to a published stratum."""
    # The question's hash times the stratum's odd number replaces a hash per stratum, and is much faster.
    # XOR with the other number makes the draw of exemplars independent.
    return _hash(str(seed), "test", name) | 1, _hash(str(seed), "exemplar", name)


class PublishedSampler(Sampler):
    """Sampler of the paper's scheme."""

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question, in each of its strata."""
        wanted = self.settings
        number = _number(wanted.seed, item.id)
        for name in _strata_of(item.knowledge_point, item.format, item.tags):
            self._counts[name] += 1
            own, other = _keys(wanted.seed, " ".join(name))
            key = number * own & _WORD
            self._pool(("test", *name), wanted.per_stratum).offer(key, item.id, place)
            self._pool(("exemplars", *name), wanted.exemplars).offer(key ^ other, item.id, place)

    def draw(self) -> Drawn:
        """Return the set, stratum by stratum in the order of knowledge points, formats and tags."""
        eligible = {name for name, count in self._counts.items() if count >= self.settings.min_stratum}
        test: list[tuple[str, Place]] = []
        for name, pool in self._of("test").items():
            if name in eligible:
                test += [(" ".join(name), place) for _, _, place in pool.ranked()]
        asked = {place for _, place in test}
        spare: defaultdict[tuple[str, ...], dict[tuple[int, Place], None]] = defaultdict(dict)
        for name, pool in self._of("exemplars").items():
            for _, label, place in pool.ranked() if name in eligible else ():
                if place not in asked:
                    spare[name[:2]][_hash(str(self.settings.seed), "pool", str(label)), place] = None
        exemplars = [
            (" ".join(name), place)
            for name, some in spare.items()
            for _, place in sorted(some)[: self.settings.exemplars]
        ]
        return Drawn(test, exemplars, len(self._counts), len(eligible))


class CleanSampler(Sampler):
    """Sampler of the clean scheme, without repetitions and overlaps."""

    def see(self, item: Item, place: Place) -> None:
        """Take note of a question."""
        seed = self.settings.seed
        number, sentence = _number(seed, item.id), _hash(str(seed), "sentence", item.sentence)
        answer = "" if item.format == "FITB" else item.answer
        stratum = (item.knowledge_point, item.format, item.category)
        self._counts[stratum] += 1
        # Enough are left whichever sentences are set aside.
        cell = self._pool(("test", *stratum, answer), self.settings.per_stratum + RESERVE)
        cell.offer(number, sentence, place)
        # Enough sentences that a quarter of them reaches RESERVE. All pools rank them alike, so that they often share
        # their first few.
        sentences = self._pool(("sentences", *stratum[:2]), 4 * RESERVE, EACH)
        sentences.offer(sentence, sentence, (number, place, answer))

    def draw(self) -> Drawn:
        """Return the set, by knowledge point, format and category."""
        shown = self._of("sentences")
        aside = self._set_aside({name: pool.labels() for name, pool in shown.items()})
        strata = self._strata(aside)
        used: Counter[str] = Counter()
        test: list[tuple[str, Place]] = []
        short: dict[str, int] = {}
        for pool in shown:
            names = {name: answers for name, answers in strata.items() if name[:2] == pool}
            chosen = _spread(names, self.settings.per_stratum, used)
            test += [(" ".join(name), place) for name in names for place in chosen[name]]
            count = sum(map(len, chosen.values()))
            if count < self.settings.per_stratum - (self.settings.per_stratum % 2 if pool[1] == "TF" else 0):
                short[" ".join(pool)] = count
        exemplars = [(" ".join(name), place) for name, pool in shown.items() for place in self._exemplars(pool, aside)]
        return Drawn(test, exemplars, len(self._counts), len(strata), short)

    def _set_aside(self, shown: dict[tuple[str, ...], list[object]]) -> set[object]:
        """Return the sentences for exemplars: rank by rank from each pool, at most a quarter of all."""
        most = min(RESERVE, len({sentence for sentences in shown.values() for sentence in sentences}) // 4)
        aside: set[object] = set()
        for rank in range(self.settings.exemplars):
            for sentences in sorted(shown.values(), key=len):
                # Half of a rare pool's sentences are for exemplars, a quarter of a common one's.
                share = len(sentences) // (2 if rank < SHOTS else 4)
                if rank < share and len(aside) < most:
                    aside.add(sentences[rank])
        return aside

    def _strata(self, aside: set[object]) -> dict[Stratum, Candidates]:
        """Return the candidates of each stratum, without the sentences set aside; merges small strata."""
        strata: defaultdict[Stratum, defaultdict[str, list[tuple[int, Place, object]]]]
        strata = defaultdict(lambda: defaultdict(list))
        for (point, form, category, answer), cell in self._of("test").items():
            small = self._counts[point, form, category] < self.settings.min_stratum
            strata[point, form, OTHER if small else category][answer] += [
                (number, place, sentence) for number, sentence, place in cell.ranked()
            ]
        return {
            name: {answer: _one_each(candidates, aside) for answer, candidates in strata[name].items()}
            for name in sorted(strata, key=_order)
        }

    def _exemplars(self, pool: Smallest, aside: set[object]) -> list[Place]:
        """Return exemplars from the sentences set aside: one question of each, then second ones; answers balanced."""
        first = [pool.entries[sentence] for sentence in pool.labels()[:RESERVE] if sentence in aside]
        rounds = itertools.zip_longest(*first)
        waiting: defaultdict[str, list[Place]] = defaultdict(list)
        for _, (_, place, answer) in filter(None, itertools.chain.from_iterable(rounds)):
            waiting[answer].append(place)
        turns = itertools.zip_longest(*(waiting[answer] for answer in sorted(waiting)))
        return [place for turn in turns for place in turn if place is not None][: self.settings.exemplars]


def _one_each(candidates: list[tuple[int, Place, object]], aside: set[object]) -> list[tuple[object, Place]]:
    """Return the first candidate of every sentence that is not set aside."""
    first: dict[object, Place] = {}
    for _, place, sentence in sorted(candidates):
        if sentence not in aside:
            first.setdefault(sentence, place)
    return list(first.items())


def _spread(strata: dict[Stratum, Candidates], wanted: int, used: Counter[str]) -> dict[Stratum, list[Place]]:
    """Draw up to `wanted` places, in turn from every stratum; statements in pairs of true and false."""
    chosen: dict[Stratum, list[Place]] = {name: [] for name in strata}
    taken: dict[Stratum, Counter[str]] = {name: Counter() for name in strata}
    seen: set[tuple[str, object]] = set()
    left = wanted
    for again in (False, True):  # a sentence is used twice only if there are too few
        waiting = {
            name: {answer: iter(candidates) for answer, candidates in answers.items()}
            for name, answers in strata.items()
        }
        while waiting and left > 0:
            for name in list(waiting):
                drawn = _next(waiting[name], taken[name], used, seen, name[1] == "TF", again)
                if not drawn:
                    del waiting[name]
                elif len(drawn) <= left:
                    left -= len(drawn)
                    chosen[name] += [place for _, _, place in drawn]
                    for answer, sentence, _ in drawn:
                        taken[name][answer] += 1
                        used[answer] += 1
                        seen |= {("", sentence), (answer, sentence)}
    return chosen


def _next(
    waiting: dict[str, Iterator[tuple[object, Place]]],
    taken: Counter[str],
    used: Counter[str],
    seen: set[tuple[str, object]],
    pairs: bool,
    again: bool,
) -> list[tuple[str, object, Place]]:
    """Return the next place of a stratum, for the answer taken least; with `pairs` one per truth value, or none."""
    pair: list[tuple[str, object, Place]] = []
    own: object = None
    for answer in sorted(waiting, key=lambda answer: (taken[answer], used[answer], answer)):
        place = next(
            ((s, p) for s, p in waiting[answer] if (answer if again else "", s) not in seen and (again or s != own)),
            None,
        )
        if place is not None:
            pair.append((answer, *place))
            own = place[0]
            if not pairs:
                break
    return pair if not pairs or len(pair) == 2 else []
